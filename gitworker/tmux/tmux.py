"""The only module that calls tmux: finds and creates sessions, windows and panes, by their ids.

Our windows carry two options, the repository and the task; our panes carry one, their role. Names
are for people only: a task id may contain dots, which tmux would read as a pane's number.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker import proc
from gitworker.errors import Unavailable
from gitworker.repo.plumbing.git_environment import LOCAL_ENV
from gitworker.tmux.rules_layout import (
    MINIMUM,
    PaneSpec,
    TmuxPane,
    choose_session,
    environment,
    escaped,
    is_usable,
    parse_panes,
    session_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_S = 20.0
CODE = "no_tmux"
REPOSITORY = "@gitworker-repository"
TASK = "@gitworker-task"
MARK = "@gitworker-pane"
PANES = f"#{{session_id}}|#{{window_id}}|#{{pane_id}}|#{{{REPOSITORY}}}|#{{{TASK}}}|#{{{MARK}}}"
WINDOW = "#{session_id}|#{window_id}|#{pane_id}|||"


class Tmux:
    """One tmux server, as seen from this process.

    `session` is the id of the session that we run in, or None outside of tmux. All methods raise
    Unavailable if tmux refuses.
    """

    def __init__(self, directory: str, env: Mapping[str, str]) -> None:
        self._directory = directory
        self._env = environment(env, LOCAL_ENV)
        self.session = self._session_here() if env.get("TMUX") else None
        if self.session is None:  # outside of tmux, or the session has ended
            self._env.pop("TMUX", None)
            self._env.pop("TMUX_PANE", None)

    def panes(self) -> list[TmuxPane]:
        """Return every pane of the server; an empty list without a server."""
        done = self._run("list-panes", "-a", "-F", PANES)
        return [] if done.status else parse_panes(done.text)

    def find_session(self, repository: str) -> str | None:
        """Return the id of a repository's session (`rules.session_name`), or None."""
        return choose_session(
            self._sessions(), self.panes(), directory=self._directory, repository=repository
        )

    def make_window(self, name: str, first: PaneSpec, *, repository: str, select: bool) -> TmuxPane:
        """Create a window with one pane, in the current session or else in the repository's.

        Selects it in its session if `select`.
        """
        made = ("-n", name, "-P", "-F", WINDOW)
        session = self.session or self.find_session(repository)
        if session is None:
            own = session_name(self._sessions(), self._directory, repository)
            size = _screen_size()
            done = self._run("new-session", "-d", "-s", own, *size, *made, "--", *first.command)
            if done.status == 0:
                return parse_panes(done.text)[0]
            session = self.find_session(repository)  # another command may have just created it
            if session is None:
                raise self._failure("new-session", done)
        quiet = () if select else ("-d",)
        place = ("-t", f"{session}:")
        text = self._ask("new-window", *quiet, *place, *made, "--", *first.command)
        return parse_panes(text)[0]

    def _sessions(self) -> dict[str, str]:
        """Return the ids of the server's sessions by name."""
        done = self._run("list-sessions", "-F", "#{session_name}|#{session_id}")
        lines = [] if done.status else done.text.splitlines()
        return {name: found for name, _, found in (line.rpartition("|") for line in lines)}

    def mark_window(self, window: str, *, repository: str, task: str) -> None:
        """Set our options on a window, and stop programs from renaming it."""
        for option, value in ((REPOSITORY, repository), (TASK, task), ("allow-rename", "off")):
            self._ask("set-option", "-w", "-t", window, option, value)

    def mark_pane(self, pane: str, content: PaneSpec, *, title: str | None = None) -> None:
        """Set our option on a pane: its role and its command."""
        self._ask("set-option", "-p", "-t", pane, MARK, content.mark)
        if title is not None:
            self._ask("select-pane", "-t", pane, "-T", title)

    def split(
        self, pane: str, content: PaneSpec, *, share: int | None = None, above: bool = False
    ) -> str:
        """Split a pane and return the id of the new one, below (or above) with `share` per cent."""
        size = () if share is None else ("-l", f"{share}%")
        before = ("-b",) if above else ()
        text = self._ask(
            "split-window", "-d", "-v", *before, *size, "-t", pane, "-P", "-F", "#{pane_id}",
            "--", *content.command,
        )  # fmt: skip
        return text.strip()

    def restart(self, pane: str, content: PaneSpec) -> None:
        """Run another command in a pane."""
        self._ask("respawn-pane", "-k", "-t", pane, "--", *content.command)

    def end_pane(self, pane: str) -> None:
        """Close a pane; ignore one that has closed by itself."""
        self._run("kill-pane", "-t", pane)

    def tile(self, window: str) -> None:
        """Arrange a window's panes as a grid, each under its title."""
        self._ask("set-option", "-w", "-t", window, "pane-border-status", "top")
        self._ask("set-option", "-w", "-t", window, "pane-border-format", " #{pane_title} ")
        self._ask("select-layout", "-t", window, "tiled")

    def select(self, window: str) -> None:
        """Make a window the current one of its session."""
        self._ask("select-window", "-t", window)

    def session_name(self, session: str) -> str:
        """Return a session's name."""
        return self._ask("display-message", "-p", "-t", f"{session}:", "#{session_name}").strip()

    def switch(self, session: str) -> None:
        """Switch our tmux client to another session."""
        self._ask("switch-client", "-t", session)

    def attach(self, session: str) -> int:
        """Show a session on our terminal until its user leaves it; return tmux's exit status."""
        argv = ["tmux", "attach-session", "-t", session]
        return proc.run_attached(argv, cwd=self._directory, env=self._env)

    def _session_here(self) -> str | None:
        done = self._run("display-message", "-p", "#{session_id}")
        return done.text.strip() or None if done.status == 0 else None

    def _ask(self, *words: str) -> str:
        done = self._run(*words)
        if done.status:
            raise self._failure(words[0], done)
        return done.text

    def _run(self, *words: str) -> proc.Completed:
        """Run tmux in our main checkout, not in a worktree.

        A server and the programs in its panes keep their working directory, and a worktree with a
        process in it cannot be removed.
        """
        argv = ["tmux", *escaped(words)]
        return proc.run(argv, cwd=self._directory, env=self._env, timeout_s=TIMEOUT_S)

    @staticmethod
    def _failure(verb: str, done: proc.Completed) -> Unavailable:
        return Unavailable(f"tmux {verb} failed", "tmux -V", code=CODE, detail=done.complaint)


def open_tmux(directory: str, env: Mapping[str, str] | None = None) -> Tmux:
    """Return the tmux server; raise Unavailable if tmux is missing or too old."""
    env = os.environ if env is None else env
    wanted = ".".join(map(str, MINIMUM))
    try:
        version = proc.run(["tmux", "-V"], env=env, timeout_s=TIMEOUT_S).text.strip()
    except Unavailable as error:
        raise Unavailable(
            f"tmux cannot be used: {error.message}", f"install tmux {wanted} or later", code=CODE
        ) from error
    if not is_usable(version):
        raise Unavailable(f"{version} is too old", f"install tmux {wanted} or later", code=CODE)
    return Tmux(directory, env)


def _screen_size() -> tuple[str, ...]:
    """Return the size for a new session: our terminal's, or else one that fits two panes."""
    columns, rows = 200, 50
    for fd in (1, 0, 2):
        try:
            found = os.get_terminal_size(fd)
        except OSError:
            continue
        if found.columns and found.lines:
            columns, rows = found.columns, found.lines
            break
    return "-x", str(columns), "-y", str(rows)
