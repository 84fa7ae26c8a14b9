"""Start an agent as a worker: process, state, run and messages are recorded together.

The process waits behind a gate until one transaction has recorded it. If we die before, it ends
without having begun, so no agent runs unrecorded. This code delays the agent and is therefore light
(no typing, dataclasses, json: the SQL builds the JSON).
"""

from __future__ import annotations

import os

from gitworker import clock, proc
from gitworker.agents.process.agent_processes import adopt_orphans
from gitworker.agents.rules import UnfinishedOperation, command_text, must_start, run_refusal
from gitworker.bus.heartbeat_message import require_heartbeat_worker
from gitworker.bus.message_ids import new_id
from gitworker.errors import Conflict, NotFound
from gitworker.liveness.origin import origin_columns
from gitworker.liveness.supervised_agent import living_agent
from gitworker.paths import lock_worktree_for_agent
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV
from gitworker.store.heartbeats import record_heartbeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.agents.process.streams import Streams
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Row, Store, Writer


class AgentRun:
    """A supervised run: worker, worktree, process, and the message after which orders count."""

    __slots__ = (
        "after", "command", "id", "pid", "pid_start", "started_mono_ms", "task", "worker",
        "worktree",
    )  # fmt: skip

    def __init__(
        self,
        worker_row: Row,
        *,
        run: int,
        process: tuple[int, str | None],
        command: str,
        after: int,
    ) -> None:
        self.id = run
        self.worker: str = worker_row["worker_id"]
        self.task: str = worker_row["task_id"]
        self.worktree: str = worker_row["worktree"]
        self.pid, self.pid_start = process
        self.command = command
        self.after = after
        self.started_mono_ms = clock.monotonic_ms()


class LaunchContext:
    """The context of a start: the store, the state directory, the identity of the caller."""

    __slots__ = ("actor", "paths", "store")

    def __init__(self, store: Store, paths: StatePaths, actor: str) -> None:
        self.store = store
        self.paths = paths
        self.actor = actor


def require_worker(post: LaunchContext, name: str | None) -> Row:
    """Return the worker that may run an agent now: by id, task or branch, else the caller's.

    Raises NotFound if it does not exist, Refused if its state does not allow it, Conflict if
    another supervised agent is alive there, UnfinishedAct if an operation on it is open.
    """
    with post.store.read() as reader:
        worker = require_heartbeat_worker(reader, name, post.actor)
        worker_row = reader.row("workers.by_id", worker=worker)
        last = reader.row("runs.latest", worker=worker)
        assert worker_row is not None
        _require_no_operation(reader, worker_row)
        running = living_agent(reader, post.paths, last)
    worktree = _own_worktree(post, worker_row)
    refusal = run_refusal(worker, worker_row["state"], worktree=worktree, running=running)
    if refusal is None:
        return worker_row
    if running is not None:
        from gitworker.liveness.start_daemon import ensure_orphans_attended  # 1 ms, rarely needed

        ensure_orphans_attended(post.store, post.paths)
    raise refusal


def _own_worktree(post: LaunchContext, worker_row: Row) -> str | None:
    """Return the worker's worktree, verified; None without one. Raises as `require_owned`."""
    path = worker_row["worktree"]
    if path is None:
        return None
    from gitworker.repo.worktrees.ownership import (  # after the cheap refusals
        OwnershipClaim,
        has_worktree,
    )

    common_dir = os.path.dirname(post.paths.root)
    owner = OwnershipClaim(
        common_dir,
        path,
        worker_row["admin_dir"],
        None,
        worker_row["worker_id"],
        worker_row["task_id"] or "",
    )
    return str(path) if has_worktree(owner) else None


def require_program(word: str, env: Mapping[str, str], *, directory: str | None) -> None:
    """Raise NotFound if a command cannot be found; `directory` is its working directory.

    Without a directory, a name that only the directory could resolve is accepted.
    """
    if "/" in word:
        if directory is None and not word.startswith("/"):
            return
        paths = [os.path.join(directory or "", word)]
    else:
        search = env.get("PATH", os.defpath)
        paths = [os.path.join(directory or "", part, word) for part in search.split(":")]
    if not any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
        raise NotFound(
            f"cannot run {ascii(word)[:80]}: the program does not exist",
            "name a program that is on PATH, or a file of the worktree as ./NAME",
        )


def launch(post: LaunchContext, worker_row: Row, words: list[str], streams: Streams) -> AgentRun:
    """Start a command in the worker's worktree; record WORKING, the run and `agent_started`.

    Raises NotFound if the program does not exist, Conflict if another command has changed the
    worker or an operation on it is open; nothing has run then.
    """
    env = environment(post, worker_row)
    require_program(words[0], env, directory=worker_row["worktree"])
    pid, gate = proc.spawn_gated(
        words, cwd=worker_row["worktree"], env=env, fds=streams.for_agent, terminal=streams.path
    )
    try:
        adopt_orphans()  # before any can exist
        with post.store.write() as writer:
            run = _record(writer, post, worker_row, pid=pid, command=command_text(words))
        lock_worktree_for_agent(worker_row["admin_dir"], pid)
        os.write(gate, b"\n")
    except BaseException:
        os.close(gate)
        os.waitpid(pid, 0)
        raise
    os.close(gate)
    return run


def environment(post: LaunchContext, worker_row: Row) -> dict[str, str]:
    """Return the agent's environment: ours without git's variables, plus the worker's own."""
    left_out = (*LOCAL_ENV, HELD_ENV)
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    env.update(
        GITWORKER_ID=worker_row["worker_id"],
        GITWORKER_TASK=worker_row["task_id"],
        GITWORKER_BRANCH=worker_row["branch"],
        GITWORKER_WORKTREE=worker_row["worktree"],
        GITWORKER_STATE=post.paths.root,
        GITWORKER_BUS=post.paths.database,
        PWD=worker_row["worktree"],
    )
    return env


def _record(
    writer: Writer, post: LaunchContext, worker_row: Row, *, pid: int, command: str
) -> AgentRun:
    """Write every change that the start of a run makes."""
    worker, task = worker_row["worker_id"], worker_row["task_id"]
    found = writer.row("workers.by_id", worker=worker)
    last = writer.row("runs.latest", worker=worker)
    running = living_agent(writer, post.paths, last)
    if found is None or found["version"] != worker_row["version"] or running is not None:
        raise Conflict(
            f"another command changed worker {worker} at the same time", "git worker status"
        )
    _require_no_operation(writer, worker_row)
    if must_start(worker_row["state"]):
        _start(writer, worker_row, actor=post.actor, pid=pid)
    now = clock.now_ms()
    here = origin_columns()
    start = proc.find_start(pid)
    writer.run("workers.set_process", worker=worker, pid=pid, pid_start=start, **here)
    record_heartbeat(writer, worker, status="working", task=task, progress=None)
    row = writer.row(
        "runs.insert",
        worker=worker, task=task, command=command, supervisor_pid=os.getpid(),
        supervisor_start=proc.find_start(os.getpid()), pid=pid, pid_start=start, now=now, **here,
    )  # fmt: skip
    assert row is not None
    run = int(row["id"])
    writer.run(
        "runs.publish_started",
        id=new_id(), now=now, worker=worker, task=task, pid=pid, run=run, command=command,
    )  # fmt: skip
    writer.run(
        "runs.publish_log",
        id=new_id(), now=now, worker=worker, task=task, in_reply_to=None, level="info",
        event="agent_start", message=command,
    )  # fmt: skip
    newest = writer.row("messages.last_seq")
    assert newest is not None
    after = int(newest["seq"])
    return AgentRun(worker_row, run=run, process=(pid, start), command=command, after=after)


def _require_no_operation(reader: Reader, worker_row: Row) -> None:
    """Raise UnfinishedAct while an operation is open: it may remove the worktree."""
    operation = reader.row(
        "runs.open_act", worker=worker_row["worker_id"], task=worker_row["task_id"]
    )
    if operation is not None:
        raise UnfinishedOperation(worker_row["worker_id"], operation["kind"])


def _start(writer: Writer, worker_row: Row, *, actor: str, pid: int) -> None:
    """Fire `start` on the worker and its task.

    The ordinary case, every worker that `spawn` has just made, is four statements that write the
    same as the state engine (a test compares them); importing the engine costs two interpreter
    starts.
    """
    worker, task = worker_row["worker_id"], worker_row["task_id"]
    if writer.row("runs.may_start_plainly", worker=worker) is None:
        _start_by_engine(writer, worker, actor=actor, pid=pid)
        return
    last = writer.row("transitions.last_ts")
    now = max(clock.now_ms(), int(last["ts_ms"]) if last else 0)
    stamp = clock.iso_utc(now)
    writer.run("runs.start_worker", worker=worker, actor=actor, pid=pid, now=now, stamp=stamp)
    writer.run(
        "runs.publish_start", id=new_id(), worker=worker, task=task, actor=actor, pid=pid, now=now
    )
    writer.run("tasks.set_started", task=task, now=now)
    writer.run("runs.start_task", task=task, actor=actor, now=now, stamp=stamp)
    writer.run("runs.show_task_running", task=task)


def _start_by_engine(writer: Writer, worker: str, *, actor: str, pid: int) -> None:
    from gitworker.lifecycle.moves import advance
    from gitworker.model.worker import WorkerEvent  # 30 ms, rarely needed
    from gitworker.store.workers import load_worker

    found = load_worker(writer, worker)
    advance(writer, found, WorkerEvent.START, actor=actor, metadata={"pid": pid})
