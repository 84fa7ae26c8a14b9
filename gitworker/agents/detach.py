"""exec --detach: run an agent under a supervisor in a session of its own, without a terminal.

The supervisor is `git worker exec --supervisor`, which reports the start, or the refusal, as one
JSON line; from then on it has no stream. Its output is in `.worker.log`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import GitWorkerError, Internal
from gitworker.observe.logs.tail import find_agent_log
from gitworker.processes.jobs import start_reporting, wait_job
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.processes.standby import Standby
    from gitworker.session import Session
    from gitworker.store.workers import Worker


class DetachedRun(NamedTuple):
    """A run that has begun: its number, the agent's process, the recorded command, the log."""

    worker: str
    task: str
    worktree: str
    run: int
    pid: int
    command: str
    log: str


def detach(
    session: Session,
    worker: Worker,
    words: Sequence[str],
    *,
    time_limit_s: float | None = None,
    auto_resume: bool | None = None,
    agent: Sequence[str] = (),
    env: Sequence[tuple[str, str]] = (),
    standby: Standby | None = None,
) -> DetachedRun:
    """Start an agent for a worker under a detached supervisor; return once it has begun.

    `agent` are the options of `exec` that name a known agent; the words are then its own options.
    `env` are further variables. `standby` becomes the supervisor if it is alive. Raises the errors
    of `supervise`, and nothing has started then.
    """
    rounds = [] if auto_resume is None else ["--auto-resume" if auto_resume else "--no-auto-resume"]
    limit = () if time_limit_s is None else ("--time-limit", str(time_limit_s))
    command = [
        "exec", worker.worker_id, "--as", session.actor, "--json", "--supervisor", *limit, *rounds,
        *agent, "--", *words,
    ]  # fmt: skip
    environment = {**supervisor_environment(), **dict(env)}
    line = None if standby is None else standby.run(command, environment)
    report = _decoded(line or "")
    if "run" not in report and "error" not in report:
        argv = [sys.executable, "-P", "-m", "gitworker", *command]
        line, pid = start_reporting(argv, cwd=session.main_top, env=environment)
        report = _decoded(line)
        if "run" not in report:
            raise _failure(report.get("error"), wait_job(pid))
    elif "run" not in report:
        raise _failure(report["error"], 1)
    log = find_agent_log(session.paths.logs, worker) or ""
    return DetachedRun(log=log, **{name: report[name] for name in DetachedRun._fields[:-1]})


def supervisor_environment() -> dict[str, str]:
    """Return our environment without the variables that git and our locks give to children."""
    left_out = (*LOCAL_ENV, HELD_ENV)
    return {name: value for name, value in os.environ.items() if name not in left_out}


def json_detached(begun: DetachedRun) -> dict[str, Any]:
    """Return a run that has begun as JSON data."""
    return begun._asdict()


def _decoded(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _failure(error: object, status: int) -> GitWorkerError:
    """Return the error that the supervisor has reported, with its exit status."""
    if not isinstance(error, dict):
        return Internal(f"the supervisor ended with status {status} before its agent began")
    failure = GitWorkerError(
        str(error.get("message")), error.get("hint"), code=error.get("code"),
        detail=str(error.get("detail") or ""),
    )  # fmt: skip
    failure.status = status
    return failure
