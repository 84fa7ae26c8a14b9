"""Why git does not open a repository: its messages mapped to errors with a hint. Pure.

gitworker supports the same repositories as the git on PATH. A repository that this git cannot read
is refused in one line before anything is written. git has no exit statuses for these cases, so its
messages are matched (LC_ALL=C).
"""

from gitworker.errors import Unavailable
from gitworker.rules_text import quoted

EXTENSIONS = "unknown repository extension"
FORMAT = "Expected git repo version"
OWNER = "detected dubious ownership in repository at "
BAD_VALUE = "invalid value for 'extensions."
NEWER = "git --version   # install a newer git, and put it first on PATH"


def explain(complaint: str) -> Unavailable | None:
    """Return the reason that git does not open a repository; None for any other message."""
    lines = complaint.splitlines()
    for number, line in enumerate(lines):
        words = line.removeprefix("fatal: ").removeprefix("error: ")
        if words.startswith(EXTENSIONS):
            names = [one.strip() for one in lines[number + 1 :] if one.startswith("\t")]
            return _too_new(f"it uses extensions.{' and extensions.'.join(names)}")
        if words.startswith(FORMAT):
            return _too_new(f"its format is version {words.rpartition(' ')[2]}")
        if words.startswith(BAD_VALUE):
            return _too_new(f"it has an {words}")
        if words.startswith(OWNER):
            place = words.removeprefix(OWNER).strip("'")
            return Unavailable(
                f"git does not trust {place}: it belongs to another user",
                f"git config --global --add safe.directory {quoted(place)}",
                code="untrusted_owner",
            )
    return None


def _too_new(why: str) -> Unavailable:
    return Unavailable(
        f"the git on PATH does not support this repository: {why}", NEWER, code="git_too_old"
    )
