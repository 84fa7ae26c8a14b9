"""The meaning of git's messages about a fetch or a push."""

import pytest

from gitworker.repo.remote.rules_transfer import (
    CODES,
    HINTS,
    WORDS,
    TransferCause,
    explain,
    out_of_time,
    plain_text,
    read_trouble,
)

# Messages of git 2.39 to 2.55, its transports and the large hosts.
MESSAGES = [
    (TransferCause.MOVED, "!\tx:refs/heads/main\t[rejected] (stale info)"),
    (TransferCause.MOVED, "!\tx:refs/heads/main\t[rejected] (fetch first)"),
    (TransferCause.MOVED, "!\tx:refs/heads/main\t[rejected] (non-fast-forward)"),
    (
        TransferCause.MOVED,
        "remote: error: cannot lock ref 'refs/heads/main': is at aaa but expected bbb\n"
        "!\tx:refs/heads/main\t[remote rejected] (failed to update ref)",
    ),
    (TransferCause.MOVED, "[remote rejected] (incorrect old value provided)"),
    (
        TransferCause.PROTECTED,
        "remote: error: GH006: Protected branch update failed for refs/heads/main",
    ),
    (TransferCause.PROTECTED, "! [remote rejected] main -> main (protected branch hook declined)"),
    (
        TransferCause.CHECKED_OUT,
        "! [remote rejected] main -> main (branch is currently checked out)",
    ),
    (TransferCause.HOOK, "! [remote rejected] main -> main (pre-receive hook declined)"),
    (TransferCause.HOOK, "!\tx:refs/heads/main\t[remote rejected] (hook declined)"),
    (
        TransferCause.HOOK,
        "!\tx:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n"
        "remote: a non-fast-forward push is never allowed",
    ),
    (
        TransferCause.DISK,
        "remote: fatal: write error: No space left on device\nerror: remote unpack",
    ),
    (TransferCause.AUTHENTICATION, "fatal: Authentication failed for 'http://x/'"),
    (
        TransferCause.AUTHENTICATION,
        "fatal: could not read Username for 'http://x': terminal prompts disabled",
    ),
    (
        TransferCause.AUTHENTICATION,
        "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
    ),
    (
        TransferCause.AUTHENTICATION,
        "Host key verification failed.\nfatal: Could not read from remote",
    ),
    (
        TransferCause.PERMISSION,
        "fatal: unable to access 'x': The requested URL returned error: 403",
    ),
    (TransferCause.PERMISSION, "remote: Permission to a/b denied to c."),
    (
        TransferCause.PERMISSION,
        "remote: error: insufficient permission for adding an object to repository database",
    ),
    (
        TransferCause.PERMISSION,
        "error: remote unpack failed: unable to create temporary object directory",
    ),
    (TransferCause.NO_BRANCH, "fatal: couldn't find remote ref refs/heads/main"),
    (TransferCause.NO_REPOSITORY, "fatal: '/gone' does not appear to be a git repository"),
    (TransferCause.NO_REPOSITORY, "remote: Repository not found."),
    (TransferCause.NETWORK, "fatal: unable to access 'x': Could not resolve host: nowhere"),
    (TransferCause.NETWORK, "fatal: the remote end hung up unexpectedly"),
    (TransferCause.NETWORK, "ssh: connect to host x port 22: Connection refused"),
    (TransferCause.LOCAL_HOOK, "tests fail\nerror: failed to push some refs to 'x'"),
    (TransferCause.OTHER, "fatal: something new"),
    (
        TransferCause.OTHER,
        "!\tx:refs/heads/main\t[remote rejected] (odd)\nerror: failed to push some refs to 'x'",
    ),
    (
        TransferCause.MOVED,
        "!\tx:refs/heads/main\t[remote rejected] (failed to update ref)\nerror: failed to push",
    ),
]


@pytest.mark.parametrize(("trouble", "text"), MESSAGES)
def test_words(trouble: TransferCause, text: str) -> None:
    """Each message of git is recognised."""
    assert read_trouble(text) is trouble


@pytest.mark.parametrize("trouble", sorted(set(TransferCause) - {TransferCause.MOVED}, key=str))
def test_every_trouble_is_explained(trouble: TransferCause) -> None:
    """Each has a code, a sentence and a hint, without an unfilled field."""
    error = explain(trouble, verb="push", remote="up", branch="main", text="\x1b[31mno\x1b[0m")
    assert {trouble} <= CODES.keys() & WORDS.keys() & HINTS.keys()
    assert "{" not in error.message + str(error.hint)
    assert error.detail == "no"


def test_out_of_time() -> None:
    """A timeout names its seconds and its setting."""
    error = out_of_time(verb="push", remote="up", branch="main", limit_s=9)
    assert error.code == "remote_timeout"
    assert "9 s" in error.message
    assert "remote-timeout-s" in str(error.hint)


def test_nothing_steers_the_terminal() -> None:
    """Escape sequences, control characters and progress that overwrites itself are removed."""
    text = (
        "remote: \x1b[1;31mno\x1b[0m entry\x1b[K\r\n\x1b]0;title\x07\x9b2Jx\x07\n \n  10%\r 100%   "
    )
    assert plain_text(text) == "remote: no entry\n?2Jx?\n  10%\n 100%"


def test_only_the_end_is_shown() -> None:
    """Of very many lines the last ones are kept."""
    text = plain_text("\n".join(f"line {number}" for number in range(100)))
    assert text.splitlines()[0] == "line 60"
