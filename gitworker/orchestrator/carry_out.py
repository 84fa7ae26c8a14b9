"""Carry out one action of a run by the use cases that a person has, as `orchestrator`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.agents.adapters.find_agent import find_agent, require_agent_type
from gitworker.agents.adapters.registered_agent import AgentCommand as AgentCommand
from gitworker.agents.adapters.registered_agent import as_registered
from gitworker.agents.detach import detach, supervisor_environment
from gitworker.agents.restart import CONTINUED, read_answers
from gitworker.agents.rounds.rules_rounds import CONTINUED as LIMIT_ENDED
from gitworker.bus.limits.send_limits import limits_of
from gitworker.errors import BUSY, LOST, UNREACHABLE, GitWorkerError, NotFound, Refused
from gitworker.lifecycle.fail import fail
from gitworker.lifecycle.rules import is_assigned
from gitworker.lifecycle.stale_and_retry import expire_lost
from gitworker.model.ids import parse_task_id, parse_worker_id
from gitworker.model.worker import AUTOMATIC_RETURNS
from gitworker.orchestrator.rules_next import DEFAULT_AGENT, STARTS, Action, Step, was_stopped
from gitworker.store.records.rules_prompt import nothing_handed_in
from gitworker.store.records.task_specs import find_task_spec
from gitworker.store.scheduling.agents import find_agent_of_worker
from gitworker.store.workers import Worker, find_worker, load_worker
from gitworker.tasks.admission.admit import require_admitted
from gitworker.workers.spawn import SpawnRequest, refill_pool, spawn
from gitworker.worktrees.left_out import find_left_out
from gitworker.worktrees.populate.populate import repeat_setup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.orchestrator.facts import Slot
    from gitworker.orchestrator.jobs.setups import Setups
    from gitworker.processes.standby import Standby
    from gitworker.session import Session

KILLED = "its agent and its supervisor were killed"


def carry_out(
    session: Session,
    command: AgentCommand,
    action: Action,
    slot: Slot | None,
    *,
    standby: Standby,
    setups: Setups | None,
) -> None:
    """Carry out one action; a task may name another agent, and have a time limit of its own.

    `standby` becomes the supervisor of an agent, and is replaced if it has died. The setup of a new
    worktree runs in the background as one of `setups`; a later tick starts the agent. With None it
    runs here.

    Raises the errors of the use case; the state then decides what is next. A worker that got
    its task without being able to start its agent is freed from it again.
    """
    command = wished_agent(session, command, action.task, worker=action.worker)
    if action.step in STARTS:
        require_start(session, command, action, slot)
        standby.prepare(supervisor_environment())  # it loads while the worktree is made
    if action.step is Step.FAIL:
        seen = None if slot is None else slot.worker
        fail(session, action.worker, reason=_why_nothing(session, slot), seen=seen)
    elif action.step is Step.RECOVER:
        if slot is not None:
            expire_lost(session, slot.worker, reason=KILLED)
    elif action.is_new:
        wanted = SpawnRequest(parse_worker_id(action.worker), parse_task_id(action.task))
        spawned = spawn(session, wanted, runs_setup=setups is None)
        if setups is None or not setups.begin(spawned.worker, spawned.setup):
            _start(session, command, spawned.worker, (), standby=standby)
        refill_pool(session)
    elif slot is not None and not _repeats_setup(session, slot.worker, setups):
        prompt = _prompt_options(session, command, action.step, slot)
        _start(session, command, slot.worker, prompt, standby=standby)


def _why_nothing(session: Session, slot: Slot | None) -> str:
    """Return that an agent has handed nothing in, and the files that it has not committed."""
    left = None if slot is None else find_left_out(session, slot.worker)
    return nothing_handed_in(() if left is None else left.files)


def _repeats_setup(session: Session, worker: Worker, setups: Setups | None) -> bool:
    """Repeat a setup that has failed; return whether it runs in the background now."""
    if setups is not None:
        return setups.repeat(worker)
    repeat_setup(session, worker)
    return False


def require_start(
    session: Session, command: AgentCommand, action: Action, slot: Slot | None
) -> None:
    """Raise the refusal of a start before a worktree is made for it."""
    kind = command.name or DEFAULT_AGENT
    require_agent_type(session, kind, command.words)
    with session.store.read() as reader:
        require_admitted(
            reader, session.paths, worker=action.worker, task=action.task, agent_type=kind,
            type_agents=limits_of(session.settings).agent_limits.get(kind),
            has_begun=slot is not None and not is_assigned(slot.worker.state),
        )  # fmt: skip


def wished_agent(
    session: Session, command: AgentCommand, task: str, *, worker: str
) -> AgentCommand:
    """Return the agent that a task names, else that of the run, with the shorter limit.

    In a run of all registered agents it is the one of which the worker is a slot.
    """
    with session.store.read() as reader:
        spec = find_task_spec(reader, task)
        owner = find_agent_of_worker(reader, worker) if command.is_open else None
    if owner is not None:
        command = as_registered(session, command._replace(name=owner.name))
    if spec is None:
        return command
    if spec.agent not in (None, command.agent, command.name or DEFAULT_AGENT):
        command = AgentCommand(spec.agent, (), command.time_limit_s)
        command = as_registered(session, command)
    limits = [one for one in (command.time_limit_s, spec.timeout_s) if one is not None]
    return command._replace(time_limit_s=min(limits, default=None))


def _start(
    session: Session,
    command: AgentCommand,
    worker: Worker,
    prompt: Sequence[str],
    *,
    standby: Standby,
) -> None:
    """Start the agent of a worker under a detached supervisor, which does not resume it."""
    options = () if command.name is None else ("--agent", command.name)
    try:
        detach(
            session, worker, command.words, time_limit_s=command.time_limit_s, auto_resume=False,
            agent=(*options, *prompt), env=command.env, standby=standby,
        )  # fmt: skip
    except GitWorkerError as error:
        if error.code not in (BUSY, LOST, UNREACHABLE):  # the next tick starts it
            _give_up(session, worker, error)
        raise


def _give_up(session: Session, worker: Worker, error: GitWorkerError) -> None:
    """Record the failed start of a worker that has only just got its task."""
    with session.store.read() as reader:
        found = find_worker(reader, worker.worker_id)
    if found is not None and is_assigned(found.state) and found.version == worker.version:
        fail(session, worker.worker_id, reason=error.message)


def _prompt_options(
    session: Session, command: AgentCommand, step: Step, slot: Slot
) -> tuple[str, ...]:
    """Return the options of `exec` for the prompt of an agent that continues work.

    Work that came back is its reason; after a limit or a kill a known agent continues its session.
    """
    with session.store.read() as reader:
        worker = load_worker(reader, slot.worker.worker_id)
    if worker.returned_by in AUTOMATIC_RETURNS and step is not Step.CONTINUE:
        return ("--returned", *_continued(session, command, worker))
    if step is Step.START and slot.facts.outcome is not None:
        return ()  # another attempt after a failure begins with the task's text
    continued = _continued(session, command, worker)
    is_limit = slot.facts.wait_until_ms is not None and not was_stopped(slot.facts.outcome)
    words = LIMIT_ENDED if is_limit else CONTINUED
    if (news := read_answers(session, worker)) is not None:
        words = f"{news}\n\n{CONTINUED}"
    return ("-m", words, *continued) if continued else ()


def _continued(session: Session, command: AgentCommand, worker: Worker) -> tuple[str, ...]:
    """Return the option that continues the last session of a known agent, if it has one."""
    if command.name is None:
        return ()
    try:
        find_agent(session, command.name, options=command.words, continued=worker)
    except (Refused, NotFound):
        return ()
    return ("--continue",)
