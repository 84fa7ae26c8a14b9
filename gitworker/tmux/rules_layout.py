"""The layout of a control room: its window, its panes, their commands, the supported tmux versions.

Pure. The command of a pane is a list of words, which tmux starts without a shell. A shell script of
ours among them gets its values as arguments, so that no path is read as a command.
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
EVENT_SHARE = 30  # per cent
GRID = "*"  # the task of the window that shows all workers; no task has this id
OURS = "GITWORKER_"
LINES_SHOWN = 200
# Prints a heading first, because the agent may not have written anything yet. If `tail` has -s
# (POSIX does not), it checks for a new log more often than once a second.
TAIL = f"""\
printf '%s\\n' "$1"
every=
tail -s 0.2 -n 0 /dev/null 2>/dev/null && every='-s 0.2'
exec tail $every -n {LINES_SHOWN} -F -- "$2" 2>/dev/null
"""


class PaneSpec(NamedTuple):
    """The role of a pane and the command that runs in it."""

    role: str
    command: tuple[str, ...]

    @property
    def mark(self) -> str:
        """Return a mark that identifies the pane's role and command."""
        return f"{self.role} {digest(*self.command)}"


class TmuxPane(NamedTuple):
    """A pane as tmux reports it; `task` is empty for a window that is not ours."""

    session: str
    window: str
    pane: str
    repository: str
    task: str
    mark: str

    @property
    def role(self) -> str:
        """Return the role of the pane."""
        return self.mark.partition(" ")[0]


def is_usable(version: str) -> bool:
    """Return whether this version of tmux (`tmux -V`) has the features that we use.

    A version without a number (`master`, `openbsd-7.4`) counts as new.
    """
    number = version.strip().rpartition(" ")[2].removeprefix("next-")
    major, dot, rest = number.partition(".")
    minor = "".join(char for char in rest[:2] if char.isdigit())
    if not dot or not major.isdigit() or not minor:
        return True
    return (int(major), int(minor)) >= MINIMUM


def escaped(words: Iterable[str]) -> list[str]:
    """Return words escaped for tmux, for which a semicolon at the end begins a new command."""
    return [word[:-1] + "\\;" if word.endswith(";") else word for word in words]


def digest(*words: str) -> str:
    """Return a short hash of words that is safe in any tmux option."""
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def window_name(task: str) -> str:
    """Return the name of a task's window, or of the grid."""
    return "w:all" if task == GRID else f"w:{task}"


def task_panes(
    task: str, *, worker: str, log: str, program: Sequence[str]
) -> tuple[PaneSpec, PaneSpec]:
    """Return the panes of a task's window, the log above the events."""
    follow = (*program, "msg", "follow", "--task", task)
    return log_pane(LOG_PANE, worker=worker, log=log), PaneSpec(EVENT_PANE, follow)


def log_pane(role: str, *, worker: str, log: str) -> PaneSpec:
    """Return a pane that follows an agent's log by name, because it may appear later or rotate."""
    return PaneSpec(role, ("/bin/sh", "-c", TAIL, "sh", f"{worker}: {log}", log))


def environment(env: Mapping[str, str], dropped: Iterable[str]) -> dict[str, str]:
    """Return the environment for a tmux server that may outlive this command by weeks.

    Removes our identity and git's repository variables, which must not apply to windows that are
    opened there later.
    """
    unwanted = set(dropped)
    return {
        name: value
        for name, value in env.items()
        if name not in unwanted and not name.startswith(OURS)
    }


def parse_panes(text: str) -> list[TmuxPane]:
    """Return the panes from the output of `list-panes` in the format of `tmux.tmux`."""
    rows = [line.split("|") for line in text.splitlines()]
    return [TmuxPane(*row) for row in rows if len(row) == len(TmuxPane._fields)]


def session_name(sessions: Mapping[str, str], directory: str, repository: str) -> str:
    """Return the name of a repository's session; `sessions` are the ids by name.

    It is `gitworker`, unless that session shows another repository.
    """
    if SESSION not in sessions:
        return SESSION
    base = directory.rstrip("/").rpartition("/")[2]
    shown = "".join(char if char.isalnum() else "-" for char in base)  # tmux replaces . and :
    return f"{SESSION}-{shown}-{repository[:4]}"


def choose_session(
    sessions: Mapping[str, str], panes: Iterable[TmuxPane], *, directory: str, repository: str
) -> str | None:
    """Return the id of a repository's session, or None."""
    own = sessions.get(session_name(sessions, directory, repository))
    shared = sessions.get(SESSION)
    is_foreign = any(
        one.session == shared and one.repository not in ("", repository) for one in panes
    )
    return own or (None if is_foreign else shared)


def choose_window(
    panes: Iterable[TmuxPane], *, repository: str, task: str, session: str | None
) -> str | None:
    """Return the window of a task, by its marks and not by its name; None without one.

    Prefers the window in `session` if several sessions have one.
    """
    windows = [
        (found.session == session, found.window)
        for found in panes
        if (found.repository, found.task) == (repository, task)
    ]
    return max(windows, key=lambda one: one[0])[1] if windows else None
