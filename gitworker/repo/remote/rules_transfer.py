"""What git's words about a fetch or a push mean, and what to tell a person. Pure.

git has no exit statuses for these, so its untranslated messages are read (LC_ALL=C).
"""

import re
from enum import Enum

from gitworker.errors import Unavailable
from gitworker.rules_text import is_shown


class TransferFailed(Unavailable):
    """A fetch or a push that a remote, the way to it, or a hook did not allow.

    `detail` is what git and the remote said, without what could steer a terminal.
    """

    code = "transfer_failed"


class Trouble(Enum):
    """Why a fetch or a push failed, with the words that tell, the most telling first."""

    MOVED = (
        "stale info", "fetch first", "non-fast-forward", "needs force", "but expected ",
        "incorrect old value provided", "remote ref updated since checkout", "reference already",
        "failed to update ref", "cannot lock ref", ".lock': File exists",
    )  # fmt: skip
    PROTECTED = ("protected branch", "GH006", "hidden ref", "branch is currently checked out")
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
    LOCAL_HOOK = ("failed to push some refs",)  # and no word of the remote's
    OTHER = ()


CODES = {
    Trouble.MOVED: "remote_moved",
    Trouble.PROTECTED: "remote_protected",
    Trouble.HOOK: "remote_hook_declined",
    Trouble.DISK: "remote_disk",
    Trouble.AUTHENTICATION: "remote_authentication",
    Trouble.PERMISSION: "remote_permission",
    Trouble.NO_BRANCH: "remote_no_branch",
    Trouble.NO_REPOSITORY: "remote_not_found",
    Trouble.NETWORK: "remote_unreachable",
    Trouble.LOCAL_HOOK: "pre_push_declined",
    Trouble.OTHER: "transfer_failed",
}
WORDS = {
    Trouble.MOVED: "{remote} has moved {branch} meanwhile",
    Trouble.PROTECTED: "{remote} does not let anybody push to {branch}: it is protected there",
    Trouble.HOOK: "a hook of {remote} declined the push to {branch}",
    Trouble.DISK: "the disk is full, or read-only, at one end of the {act}",
    Trouble.AUTHENTICATION: "{remote} does not accept your credentials",
    Trouble.PERMISSION: "{remote} does not allow you to {act} {branch}",
    Trouble.NO_BRANCH: "remote {remote} has no branch {branch}",
    Trouble.NO_REPOSITORY: "there is no repository where {remote} points to",
    Trouble.NETWORK: "{remote} cannot be reached",
    Trouble.LOCAL_HOOK: "your pre-push hook declined the push to {remote}",
    Trouble.OTHER: "git cannot {act} {branch}: {remote}",
}
HINTS = {
    Trouble.MOVED: "git fetch {remote}",
    Trouble.PROTECTED: "git remote -v   (whoever runs {remote} lifts the protection)",
    Trouble.HOOK: "mend what it says",
    Trouble.DISK: "df -h",
    Trouble.AUTHENTICATION: "git ls-remote {remote}   (in a terminal, where git can ask)",
    Trouble.PERMISSION: "git remote -v",
    Trouble.NO_BRANCH: "git ls-remote --heads {remote}",
    Trouble.NO_REPOSITORY: "git remote -v",
    Trouble.NETWORK: "git ls-remote {remote}",
    Trouble.LOCAL_HOOK: "mend what it says",
    Trouble.OTHER: "git {act} {remote} {branch}",
}
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_]?)")
SHOWN_LINES = 40


def read_trouble(text: str) -> Trouble:
    """Return why a fetch or push failed, by all that git and the remote said.

    The verdict on the ref (`!` in `git push --porcelain`) counts before what hooks have printed.
    """
    verdicts = "\n".join(line for line in text.splitlines() if line.startswith("!"))
    found = _match(verdicts)
    if found is Trouble.OTHER and "[remote rejected]" in verdicts:
        return found  # the remote's own word, and none that is known here
    return _match(text) if found is Trouble.OTHER else found


def _match(text: str) -> Trouble:
    for trouble in Trouble:
        if any(word in text for word in trouble.value):
            return trouble
    return Trouble.OTHER


def explain(trouble: Trouble, *, act: str, remote: str, branch: str, text: str) -> TransferFailed:
    """Return the error that says why `act` (fetch or push) failed, with the remote's own words."""
    names = {"act": act, "remote": remote, "branch": branch}
    return TransferFailed(
        WORDS[trouble].format(**names),
        HINTS[trouble].format(**names),
        code=CODES[trouble],
        detail=plain_text(text),
    )


def out_of_time(*, act: str, remote: str, branch: str, limit_s: float) -> TransferFailed:
    """Return the error of a transfer that took too long and was ended."""
    return TransferFailed(
        f"the {act} of {branch} took longer than {limit_s:g} s and was ended",
        f"git {act} {remote} {branch}   (limit: worker.merge.remote-timeout-s)",
        code="remote_timeout",
    )


def plain_text(text: str) -> str:
    """Return what a remote said as a few lines without escape sequences and control characters."""
    lines = []
    for line in re.split(r"[\r\n]+", ESCAPES.sub("", text)):
        kept = "".join(c if is_shown(c) or c == "\t" else "?" for c in line).rstrip()
        if kept:
            lines.append(kept)
    return "\n".join(lines[-SHOWN_LINES:])
