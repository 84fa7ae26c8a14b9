"""Classify git's messages about a failed fetch or push, and map them to errors with hints. Pure.

git has no exit statuses for these cases, so its untranslated messages are matched (LC_ALL=C).
"""

import re
from enum import Enum

from gitworker.errors import Unavailable
from gitworker.rules_text import is_shown


class TransferFailed(Unavailable):
    """A fetch or push that failed because of the remote, the connection to it, or a hook.

    `detail` holds the messages of git and the remote, without terminal control sequences.
    """

    code = "transfer_failed"


class TransferCause(Enum):
    """The reason of a failed fetch or push, with the words that show it, the clearest first."""

    MOVED = (
        "stale info", "fetch first", "non-fast-forward", "needs force", "but expected ",
        "incorrect old value provided", "remote ref updated since checkout", "reference already",
        "failed to update ref", "cannot lock ref", ".lock': File exists",
    )  # fmt: skip
    CHECKED_OUT = ("branch is currently checked out",)
    PROTECTED = ("protected branch", "GH006", "hidden ref")
    HOOK = ("hook declined", "hook failed")
    DISK = ("No space left on device", "Disk quota exceeded", "Read-only file system")
    AUTHENTICATION = (
        "Authentication failed", "could not read Username", "could not read Password",
        "Permission denied (", "Host key verification failed", "error: 401",
        "terminal prompts disabled", "Invalid username or password", "unable to read askpass",
    )  # fmt: skip
    PERMISSION = (
        "error: 403", "insufficient permission", "Permission denied", "denied to",
        "unable to create temporary", "service not enabled", "not allowed to push",
        "Write access to repository not granted", "access denied",
    )  # fmt: skip
    NO_BRANCH = ("couldn't find remote ref",)
    NO_REPOSITORY = (
        "does not appear to be a git repository", "epository not found", "not found", "error: 404",
        "No such file or directory",
    )  # fmt: skip
    NETWORK = (
        "Could not resolve host", "Connection refused", "Connection timed out", "Couldn't connect",
        "Could not connect", "unable to connect", "Network is unreachable", "Connection reset",
        "No route to host", "hung up unexpectedly", "early EOF", "unexpected disconnect",
        "unable to access", "Could not read from remote repository", "RPC failed",
    )  # fmt: skip
    LOCAL_HOOK = ("failed to push some refs",)  # without a message of the remote
    OTHER = ()


CODES = {
    TransferCause.CHECKED_OUT: "remote_protected",
    TransferCause.PROTECTED: "remote_protected",
    TransferCause.HOOK: "remote_hook_declined",
    TransferCause.DISK: "remote_disk",
    TransferCause.AUTHENTICATION: "remote_authentication",
    TransferCause.PERMISSION: "remote_permission",
    TransferCause.NO_BRANCH: "remote_no_branch",
    TransferCause.NO_REPOSITORY: "remote_not_found",
    TransferCause.NETWORK: "remote_unreachable",
    TransferCause.LOCAL_HOOK: "pre_push_declined",
    TransferCause.OTHER: "transfer_failed",
}
WORDS = {
    TransferCause.CHECKED_OUT: "{remote} has branch {branch} checked out: it takes no push to it",
    TransferCause.PROTECTED: (
        "branch {branch} is protected on {remote}: pushes to it are not allowed"
    ),
    TransferCause.HOOK: "a hook of {remote} declined the push to {branch}",
    TransferCause.DISK: "the {verb} failed: the disk on one side is full or read-only",
    TransferCause.AUTHENTICATION: "{remote} does not accept your credentials",
    TransferCause.PERMISSION: "{remote} does not allow you to {verb} {branch}",
    TransferCause.NO_BRANCH: "remote {remote} has no branch {branch}",
    TransferCause.NO_REPOSITORY: "{remote} does not point to a repository",
    TransferCause.NETWORK: "{remote} cannot be reached",
    TransferCause.LOCAL_HOOK: (
        "a pre-push hook of yours declined the push to {remote}, or {remote} takes no pushes"
    ),
    TransferCause.OTHER: "git cannot {verb} {branch}: {remote}",
}
HINTS = {
    TransferCause.CHECKED_OUT: (
        "git remote -v   # a bare {remote} takes pushes, or one with another branch checked out"
    ),
    TransferCause.PROTECTED: (
        "git remote -v   # an administrator of {remote} can lift the protection"
    ),
    TransferCause.HOOK: "fix the problem that the hook reports",
    TransferCause.DISK: "df -h",
    TransferCause.AUTHENTICATION: (
        "git ls-remote {remote}   # in a terminal, so that git can ask you"
    ),
    TransferCause.PERMISSION: "git remote -v",
    TransferCause.NO_BRANCH: "git ls-remote --heads {remote}",
    TransferCause.NO_REPOSITORY: "git remote -v",
    TransferCause.NETWORK: "git remote -v",
    TransferCause.LOCAL_HOOK: "fix the problem that the hook reports",
    TransferCause.OTHER: "git {verb} {remote} {branch}",
}
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_]?)")
SHOWN_LINES = 40


def read_trouble(text: str) -> TransferCause:
    """Return the reason of a failed fetch or push, from all output of git and the remote.

    The verdict on the ref (`!` in `git push --porcelain`) is matched before the output of hooks.
    """
    verdicts = "\n".join(line for line in text.splitlines() if line.startswith("!"))
    found = _match(verdicts)
    if found is TransferCause.OTHER and "[remote rejected]" in verdicts:
        return found  # the remote's own word, and an unknown one
    return _match(text) if found is TransferCause.OTHER else found


def _match(text: str) -> TransferCause:
    for trouble in TransferCause:
        if any(word in text for word in trouble.value):
            return trouble
    return TransferCause.OTHER


def explain(
    trouble: TransferCause, *, verb: str, remote: str, branch: str, text: str
) -> TransferFailed:
    """Return the error with the reason that `verb` (fetch or push) failed, and all output.

    A push whose branch was MOVED is tried again, and a fetch names the lock of the ref.
    """
    names = {"verb": verb, "remote": remote, "branch": branch}
    return TransferFailed(
        WORDS[trouble].format(**names),
        HINTS[trouble].format(**names),
        code=CODES[trouble],
        detail=plain_text(text),
    )


def out_of_time(*, verb: str, remote: str, branch: str, limit_s: float) -> TransferFailed:
    """Return the error of a transfer that exceeded its time limit and was ended."""
    return TransferFailed(
        f"the {verb} of {branch} took longer than {limit_s:g} s and was ended",
        f"git {verb} {remote} {branch}   # limit: worker.merge.remote-timeout-s",
        code="remote_timeout",
    )


def plain_text(text: str) -> str:
    """Return a remote's output as a few lines without escape sequences and control characters."""
    lines = []
    for line in re.split(r"[\r\n]+", ESCAPES.sub("", text)):
        kept = "".join(c if is_shown(c) or c == "\t" else "?" for c in line).rstrip()
        if kept:
            lines.append(kept)
    return "\n".join(lines[-SHOWN_LINES:])
