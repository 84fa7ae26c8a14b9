"""Starting an agent in its seat: process, state, run and messages come into being together.

The process waits behind a gate until one transaction has recorded it: none runs unrecorded, since
our death before that ends it unbegun. Everything here is in the agent's way and therefore light (no
typing, dataclasses, json: the SQL builds it).
"""

from __future__ import annotations

import os

from gitworker import clock, proc
from gitworker.agents.process.family import adopt_orphans
from gitworker.agents.rules import UnfinishedAct, command_text, must_start, run_refusal
from gitworker.bus.heartbeat_message import require_beating
from gitworker.bus.message_ids import new_id
from gitworker.errors import Conflict, NotFound
from gitworker.liveness.origin import origin_columns
from gitworker.liveness.supervised_agent import living_agent
from gitworker.paths import lock_seat
from gitworker.repo.plumbing.git_environment import HELD_ENV, LOCAL_ENV
from gitworker.store.heartbeats import beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.agents.process.streams import Streams
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Row, Store, Writer


class Run:
    """A supervised run: who, where, which process, and after which message orders count."""

    __slots__ = (
        "after", "command", "id", "pid", "pid_start", "started_mono_ms", "task", "worker",
        "worktree",
    )  # fmt: skip

    def __init__(
        self, seat: Row, *, run: int, process: tuple[int, str | None], command: str, after: int
    ) -> None:
        self.id = run
        self.worker: str = seat["worker_id"]
        self.task: str = seat["task_id"]
        self.worktree: str = seat["worktree"]
        self.pid, self.pid_start = process
        self.command = command
        self.after = after
        self.started_mono_ms = clock.monotonic_ms()


class Post:
    """Where agents are started from: the store, the state directory, who asks."""

    __slots__ = ("actor", "paths", "store")

    def __init__(self, store: Store, paths: StatePaths, actor: str) -> None:
        self.store = store
        self.paths = paths
        self.actor = actor


def require_seat(post: Post, name: str | None) -> Row:
    """Return the seat that may run an agent now: by id, task or branch, else whoever asks.

    Raises NotFound where there is none, Refused where its state does not allow it, Conflict where
    another supervised agent lives there, UnfinishedAct where something is being done to it.
    """
    with post.store.read() as reader:
        worker = require_beating(reader, name, post.actor)
        seat = reader.row("workers.by_id", worker=worker)
        last = reader.row("runs.latest", worker=worker)
        assert seat is not None
        _require_no_act(reader, seat)
        busy = living_agent(reader, post.paths, last)
    worktree = _own_worktree(post, seat)
    refusal = run_refusal(worker, seat["state"], worktree=worktree, busy=busy)
    if refusal is None:
        return seat
    if busy is not None:
        from gitworker.liveness.start_daemon import ensure_orphans_kept  # 1 ms, where it was killed

        ensure_orphans_kept(post.store, post.paths)
    raise refusal


def _own_worktree(post: Post, seat: Row) -> str | None:
    """Return the seat's worktree, proved; None if there is none. Raises as `require_owned`."""
    place = seat["worktree"]
    if place is None:
        return None
    from gitworker.repo.worktrees.ownership import Owner, has_worktree  # after the cheap refusals

    common_dir = os.path.dirname(post.paths.root)
    owner = Owner(
        common_dir, place, seat["admin_dir"], None, seat["worker_id"], seat["task_id"] or ""
    )
    return str(place) if has_worktree(owner) else None


def require_program(word: str, env: Mapping[str, str], *, directory: str | None) -> None:
    """Raise NotFound where a command cannot be found; `directory` is where it would run.

    Without a directory, what only that could tell is left open.
    """
    if "/" in word:
        if directory is None and not word.startswith("/"):
            return
        places = [os.path.join(directory or "", word)]
    else:
        search = env.get("PATH", os.defpath)
        places = [os.path.join(directory or "", part, word) for part in search.split(":")]
    if not any(os.path.isfile(place) and os.access(place, os.X_OK) for place in places):
        raise NotFound(
            f"cannot run {ascii(word)[:80]}: there is no such program",
            "name one that is on PATH, or one of the worktree's own as ./NAME",
        )


def launch(post: Post, seat: Row, words: list[str], streams: Streams) -> Run:
    """Start a command in its seat's worktree: WORKING, the run and `agent_started` recorded.

    Raises NotFound for a program that is not there, Conflict where somebody changed the seat, or
    does something to it, in the meantime; nothing has run then.
    """
    env = environment(post, seat)
    require_program(words[0], env, directory=seat["worktree"])
    pid, gate = proc.spawn_gated(
        words, cwd=seat["worktree"], env=env, fds=streams.for_agent, terminal=streams.path
    )
    try:
        adopt_orphans()  # before there can be any
        with post.store.write() as writer:
            run = _record(writer, post, seat, pid=pid, command=command_text(words))
        lock_seat(seat["admin_dir"], pid)
        os.write(gate, b"\n")
    except BaseException:
        os.close(gate)
        os.waitpid(pid, 0)
        raise
    os.close(gate)
    return run


def environment(post: Post, seat: Row) -> dict[str, str]:
    """Return the agent's environment: ours, less what git told us, and where and who it is."""
    left_out = (*LOCAL_ENV, HELD_ENV)
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    env.update(
        GITWORKER_ID=seat["worker_id"],
        GITWORKER_TASK=seat["task_id"],
        GITWORKER_BRANCH=seat["branch"],
        GITWORKER_WORKTREE=seat["worktree"],
        GITWORKER_STATE=post.paths.root,
        GITWORKER_BUS=post.paths.database,
        PWD=seat["worktree"],
    )
    return env


def _record(writer: Writer, post: Post, seat: Row, *, pid: int, command: str) -> Run:
    """Write all that a beginning run changes."""
    worker, task = seat["worker_id"], seat["task_id"]
    found = writer.row("workers.by_id", worker=worker)
    last = writer.row("runs.latest", worker=worker)
    busy = living_agent(writer, post.paths, last)
    if found is None or found["version"] != seat["version"] or busy is not None:
        raise Conflict(
            f"somebody else changed worker {worker} in the meantime", "git worker status"
        )
    _require_no_act(writer, seat)
    if must_start(seat["state"]):
        _start(writer, seat, actor=post.actor, pid=pid)
    now = clock.now_ms()
    here = origin_columns()
    start = proc.find_start(pid)
    writer.run("workers.set_process", worker=worker, pid=pid, pid_start=start, **here)
    beat(writer, worker, status="working", task=task, progress=None)
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
    return Run(seat, run=run, process=(pid, start), command=command, after=after)


def _require_no_act(reader: Reader, seat: Row) -> None:
    """Raise UnfinishedAct while an act on a seat is open: it may take the worktree away."""
    act = reader.row("runs.open_act", worker=seat["worker_id"], task=seat["task_id"])
    if act is not None:
        raise UnfinishedAct(seat["worker_id"], act["kind"])


def _start(writer: Writer, seat: Row, *, actor: str, pid: int) -> None:
    """Fire `start` on the seat and its task.

    The plain case, every seat that `spawn` has just made, is four statements that write what the
    engine would (a test compares them); importing the engine costs two interpreter starts.
    """
    worker, task = seat["worker_id"], seat["task_id"]
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
    from gitworker.model.worker import WorkerEvent  # 30 ms, for the rare seat
    from gitworker.store.workers import find_worker

    found = find_worker(writer, worker)
    assert found is not None
    advance(writer, found, WorkerEvent.START, actor=actor, metadata={"pid": pid})
