"""Fetch and push through GitPython: with progress, the user's credentials and a time limit."""

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gitworker.clock import monotonic_ms
from gitworker.progress import OutputLine, Progress
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.git_environment import FIXED_ENV, NO_UPKEEP, dropped_names


class TransferResult(NamedTuple):
    """The result of a transfer: git's exit status and output, and whether the limit ended it."""

    status: int
    out: str
    err: str
    timed_out: bool

    @property
    def text(self) -> str:
        """Return all output of git and the remote."""
        return f"{self.out}\n{self.err}"


def transfer(
    git: Git,
    verb: str,
    words: Sequence[str],
    *,
    report: Progress | None,
    limit_s: float,
    settings: Sequence[str] = (),
) -> TransferResult:
    """Run `git fetch` or `git push` to its end, or for `limit_s` seconds (0: no limit).

    `report` receives the progress, one line at a time. Without it no user is assumed to be present
    and git asks for no password. An interrupt ends git too.
    """
    import git as gitpython  # 100 ms, only for transfers

    options = [part for setting in (*NO_UPKEEP, *settings) for part in ("-c", setting)]
    progress = ["--progress"] if report is not None else ["--no-progress"]
    out: list[bytes] = []
    err: list[bytes] = []
    parser = None if report is None else _progress_parser(gitpython, report)

    def listen(line: bytes) -> None:
        err.append(line)
        if parser is not None:
            for part in line.decode("utf-8", "replace").replace("\r", "\n").splitlines():
                parser(part)

    began_ms = monotonic_ms()
    running = gitpython.Git(git.directory).execute(
        [*_without_dropped(), "git", *options, verb, *progress, *words],
        as_process=True,
        env=_environment(git, attended=report is not None),
    )
    try:
        gitpython.cmd.handle_process_output(
            running, out.append, listen, decode_streams=False, kill_after_timeout=limit_s or None
        )
        status = _status(gitpython, running)
    except BaseException:
        _end(running)
        raise
    late = status != 0 and 0 < limit_s * 1000 <= monotonic_ms() - began_ms
    return TransferResult(status, _text(out), _text(err), late)


def _without_dropped() -> list[str]:
    """Return the `env` command that drops variables: GitPython passes the whole environment."""
    names = [name for name in dropped_names() if name not in ("LANGUAGE", *FIXED_ENV)]
    return ["env", *(part for name in names for part in ("-u", name))] if names else []


def _environment(git: Git, *, attended: bool) -> dict[str, str]:
    """Return the variables set for git: real objects only, no question if no user is present."""
    environment = {name: FIXED_ENV[name] for name in ("GIT_NO_REPLACE_OBJECTS", "GIT_GRAFT_FILE")}
    environment |= _untranslated()
    if not attended:
        environment["GIT_TERMINAL_PROMPT"] = "0"
        if not {"GIT_SSH", "GIT_SSH_COMMAND"} & os.environ.keys():
            command = git.text("config", "--get", "core.sshCommand", ok=(0, 1))
            environment["GIT_SSH_COMMAND"] = command or "ssh -o BatchMode=yes"
    return environment


def _untranslated() -> dict[str, str]:
    """Return variables that keep git's messages untranslated and the character set of hooks."""
    charset = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    return {"LC_ALL": "", "LANGUAGE": "", "LC_MESSAGES": "C", "LC_CTYPE": charset}


def _status(gitpython: Any, running: Any) -> int:
    try:
        return int(running.wait())
    except gitpython.GitCommandError as error:
        return int(error.status)


def _end(running: Any) -> None:
    """End a git that is still running; ignore one that has ended."""
    try:
        running.terminate()
    except (AttributeError, OSError):  # GitPython has released it already
        return


def _text(lines: Sequence[bytes]) -> str:
    return b"".join(lines).decode("utf-8", "replace")


def _progress_parser(gitpython: Any, report: Progress) -> Callable[[str], None]:
    """Return a parser of git's progress lines that passes on the last line of each phase."""

    class Parser(gitpython.RemoteProgress):  # type: ignore[misc]
        def update(
            self, op_code: int, cur_count: Any, max_count: Any = None, message: str = ""
        ) -> None:
            if op_code & self.END:
                report(OutputLine(self._cur_line or message))

    handler: Callable[[str], None] = Parser().new_message_handler()
    return handler
