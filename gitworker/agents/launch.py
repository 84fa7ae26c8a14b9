"""Start an agent as a worker: process, state, run and messages are recorded together.

The process waits behind a gate until one transaction has recorded it. If we die before, it ends
without having begun, so no agent runs unrecorded. This code delays the agent, so the modules that
read and change a worker's state are imported only once they are needed.
"""

from __future__ import annotations

import os

from gitworker import clock, proc
from gitworker.agents.command import PROMPT_FILE, prepare_command
from gitworker.agents.process.agent_processes import adopt_orphans
from gitworker.agents.rules_run import command_text, operation_refusal, run_refusal
from gitworker.bus.heartbeat_message import require_heartbeat_worker
from gitworker.errors import Refused
from gitworker.liveness.supervised_agent import living_agent, presumed_for_ms
from gitworker.paths import lock_worktree_for_agent
from gitworker.store.records.runs import find_blocking_operation, find_latest_run
from gitworker.store.rules_leases import PROTOCOL_LEASE_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.agents.adapters.agent_call import AgentCall
    from gitworker.agents.process.streams import Streams
    from gitworker.errors import GitWorkerError
    from gitworker.paths import StatePaths
    from gitworker.store.api import Store
    from gitworker.store.records.runs import Run
    from gitworker.store.workers import Worker


class AgentRun:
    """A supervised run: worker, worktree, process, and the message after which orders count."""

    __slots__ = (
        "after", "command", "id", "pid", "pid_start", "record", "ref", "started_mono_ms", "task",
        "worker", "worktree",
    )  # fmt: skip

    def __init__(self, record: Run, worker: Worker, *, pid: int, after: int) -> None:
        assert worker.worktree is not None
        self.record = record
        self.id = record.id
        self.worker = record.worker_id
        self.task = record.task_id
        self.worktree = worker.worktree
        self.ref = worker.ref
        self.pid, self.pid_start = pid, record.pid_start
        self.command = record.command
        self.after = after
        self.started_mono_ms = clock.monotonic_ms()


class LaunchContext:
    """The context of a start: store, state directory, the caller, the lease of a resumed task.

    `agent_limits` has the number of agents that may run at once, by kind.
    """

    __slots__ = ("actor", "agent_limits", "lease_ms", "paths", "store")

    def __init__(
        self,
        store: Store,
        paths: StatePaths,
        actor: str,
        *,
        lease_ms: int = PROTOCOL_LEASE_MS,
        agent_limits: Mapping[str, int] | None = None,
    ) -> None:
        self.store = store
        self.paths = paths
        self.actor = actor
        self.lease_ms = lease_ms
        self.agent_limits = agent_limits or {}


def require_worker(post: LaunchContext, name: str | None) -> Worker:
    """Return the worker that may run an agent now: by id, task or branch, else the caller's.

    Raises NotFound if it does not exist, Refused if its state does not allow it, Conflict if
    another supervised agent is alive there, UnfinishedAct if an operation on it is open.
    """
    from gitworker.store.workers import load_worker  # 15 ms: typing and enum

    with post.store.read() as reader:
        worker = load_worker(reader, require_heartbeat_worker(reader, name, post.actor))
        open_kind = find_blocking_operation(reader, worker.worker_id, worker.task)
        run = find_latest_run(reader, worker.worker_id)
        running = living_agent(reader, post.paths, run)
        presumed_ms = 0 if running is None else presumed_for_ms(reader, post.paths, run)
    unfinished = operation_refusal(worker.worker_id, open_kind)
    if unfinished is not None:
        raise unfinished
    refusal = run_refusal(
        worker.worker_id, worker.state, stale_from=worker.stale_from,
        no_worktree=_find_no_worktree(post, worker), running=running, presumed_for_ms=presumed_ms,
        is_own=post.actor == worker.worker_id,
    )  # fmt: skip
    if refusal is None:
        return worker
    if running is not None:
        from gitworker.liveness.start_daemon import ensure_orphans_attended  # 1 ms, rarely needed

        ensure_orphans_attended(post.store, post.paths)
    from gitworker.lifecycle.lost_task import find_lost_task  # 10 ms, only for a refusal

    with post.store.read() as reader:
        raise find_lost_task(reader, worker, hint=refusal.hint or "") or refusal


def _find_no_worktree(post: LaunchContext, worker: Worker) -> GitWorkerError | None:
    """Return the refusal for a missing worktree. Raises as `require_owned` for another flaw."""
    from gitworker.repo.worktrees.ownership import (  # after cheap refusals
        Flaw,
        has_worktree,
        owner_of,
        refusal_of,
    )
    from gitworker.store.workers import on_another_machine

    owner = owner_of(os.path.dirname(post.paths.root), worker)
    if owner is None and (elsewhere := on_another_machine(worker)):
        return elsewhere
    if owner is None:
        name = worker.worker_id
        return Refused(f"worker {name} has no worktree", f"git worker show {name}")
    return None if has_worktree(owner) else refusal_of(owner, Flaw.MISSING)


def launch(
    post: LaunchContext,
    worker: Worker,
    words: list[str],
    streams: Streams,
    *,
    request: str | None = None,
    prompt: str | None = None,
    agent: AgentCall | None = None,
) -> AgentRun:
    """Start a command in the worker's worktree; record WORKING, the run and `agent_started`.

    The placeholders in `words` are replaced, but not in the command that is recorded; `request`
    is recorded with it and repeats the run. `prompt` replaces the task's text. Raises NotFound if
    the program does not exist, Invalid if it needs a prompt that the task does not have, Conflict
    if another command has changed the worker or an operation on it is open, and the errors of
    `require_admitted`; nothing has run then.
    """
    assert worker.worktree is not None
    command, env = prepare_command(
        post.store, post.paths, worker, words, prompt=prompt, agent=agent
    )
    if agent is not None and agent.adapter.reads_input:
        streams.feed(env[PROMPT_FILE])
    pid, gate = proc.spawn_gated(
        command, cwd=worker.worktree, env=env, fds=streams.for_agent, terminal=streams.path
    )
    try:
        adopt_orphans()  # before any can exist
        from gitworker.agents.environment.reset_variables import (
            ResetVariables,  # 10 ms: git, while the agent's shell starts
        )

        resets = ResetVariables(post.paths, worker)
        from gitworker.agents.record_start import record_start  # 40 ms, outside the transaction

        with post.store.write() as writer:
            run, after = record_start(
                writer, post.paths, worker, actor=post.actor, lease_ms=post.lease_ms, pid=pid,
                command=command_text(words if agent is None else agent.recorded),
                request=request,
                kind=(kind := agent.adapter.name if agent else "command"),
                at_once=post.agent_limits.get(kind),
            )  # fmt: skip
        if worker.admin_dir is not None:
            lock_worktree_for_agent(worker.admin_dir, pid)
        proc.open_gate(gate, resets.finish())
    except BaseException:
        os.close(gate)
        os.waitpid(pid, 0)
        raise
    os.close(gate)
    return AgentRun(run, worker, pid=pid, after=after)
