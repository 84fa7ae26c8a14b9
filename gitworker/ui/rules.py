"""What a control room looks like: its window, its panes and what runs in them, which tmux will do.

Pure. What runs in a pane is a list of words, which tmux starts without a shell; a shell script of
ours among them gets its values as arguments, so that no path is ever read as a command.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MINIMUM = (3, 1)  # panes by percentage (`-l 30%`) and with options of their own
SESSION = "gitworker"
LOG_PANE = "log"
EVENT_PANE = "events"
EVENT_SHARE = 30  # per cent, seed 5
GRID = "*"  # stands for a task where a window shows everybody; no task is called so
OURS = "GITWORKER_"
LINES_SHOWN = 200
# A pane is never empty, even before the agent has said anything. Where `tail` can (POSIX knows no
# -s), it looks more often than once a second for a log that is not there yet.
TAIL = f"""\
printf '%s\\n' "$1"
every=
tail -s 0.2 -n 0 /dev/null 2>/dev/null && every='-s 0.2'
exec tail $every -n {LINES_SHOWN} -F -- "$2" 2>/dev/null
"""


class Pane(NamedTuple):
    """What one pane of a window is for, and the command that runs in it."""

    role: str
    command: tuple[str, ...]

    @property
    def mark(self) -> str:
        """Return what tells this pane's role and command from others'."""
        return f"{self.role} {digest(*self.command)}"


class Found(NamedTuple):
    """A pane of ours as tmux shows it; `task` is empty for a window of somebody else's."""

    session: str
    window: str
    pane: str
    repository: str
    task: str
    mark: str

    @property
    def role(self) -> str:
        """Return what the pane is for."""
        return self.mark.partition(" ")[0]


def is_usable(version: str) -> bool:
    """Tell whether a tmux of this version (`tmux -V`) can do what we ask of it.

    A version without a number (`master`, `openbsd-7.4`) is taken for a new one.
    """
    number = version.strip().rpartition(" ")[2].removeprefix("next-")
    major, dot, rest = number.partition(".")
    minor = "".join(char for char in rest[:2] if char.isdigit())
    if not dot or not major.isdigit() or not minor:
        return True
    return (int(major), int(minor)) >= MINIMUM


def escaped(words: Iterable[str]) -> list[str]:
    """Return words as tmux takes them: a semicolon at the end would begin another command."""
    return [word[:-1] + "\\;" if word.endswith(";") else word for word in words]


def digest(*words: str) -> str:
    """Return a short text that is the same for the same words, and safe in any option."""
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def window_name(task: str) -> str:
    """Return the name of a task's window (seed 5), or of the grid."""
    return "w:all" if task == GRID else f"w:{task}"


def task_panes(task: str, *, worker: str, log: str, program: Sequence[str]) -> tuple[Pane, Pane]:
    """Return the panes of a task's window, the log above the events."""
    follow = (*program, "msg", "follow", "--task", task)
    return log_pane(LOG_PANE, worker=worker, log=log), Pane(EVENT_PANE, follow)


def log_pane(role: str, *, worker: str, log: str) -> Pane:
    """Return a pane that follows an agent's log by name: it may come later, and be rotated."""
    return Pane(role, ("/bin/sh", "-c", TAIL, "sh", f"{worker}: {log}", log))


def environment(env: Mapping[str, str], dropped: Iterable[str]) -> dict[str, str]:
    """Return the environment for a tmux server that may outlive this command by weeks.

    Without who we are and which repository git called us for: whoever opens a window there later
    is somebody else.
    """
    unwanted = set(dropped)
    return {
        name: value
        for name, value in env.items()
        if name not in unwanted and not name.startswith(OURS)
    }


def parse_panes(text: str) -> list[Found]:
    """Return the panes that `list-panes` shows in the form that `ui.tmux` asks for."""
    rows = [line.split("|") for line in text.splitlines()]
    return [Found(*row) for row in rows if len(row) == len(Found._fields)]


def choose_window(
    panes: Iterable[Found], *, repository: str, task: str, session: str | None
) -> str | None:
    """Return the window of a task, by the marks on it and not by its name; None for none.

    Where several sessions have one, that of `session` is chosen.
    """
    windows = [
        (found.session == session, found.window)
        for found in panes
        if (found.repository, found.task) == (repository, task)
    ]
    return max(windows, key=lambda one: one[0])[1] if windows else None
