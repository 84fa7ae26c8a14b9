"""The next steps of a run: which agent starts, which waits, and when to look again. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from gitworker.agents.rounds.rules_rounds import HANDED_IN
from gitworker.errors import BUSY, LOST, OUT_OF_REACH, UNREACHABLE, Conflict
from gitworker.model.ids import LOWER, WORKER_CHARS
from gitworker.model.run_outcome import RunOutcome
from gitworker.model.task import TaskStatus, VerificationType
from gitworker.model.worker import AUTOMATIC_RETURNS, WorkerState
from gitworker.orchestrator.turns.rules_crew import CrewAgent, Roster
from gitworker.tasks.admission.rules_admission import LIMIT

FREE = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})
AT_WORK = frozenset({WorkerState.ASSIGNED, WorkerState.WORKING, WorkerState.STALE})
DEFAULT_AGENT = "command"
NUMBER_MAX = 6  # digits of a slot's number
PASSING = frozenset({BUSY, LIMIT, LOST, UNREACHABLE})
CONFLICTS_MAX = 3  # starts of a task that meet another command before it is left to a person


class Step(Enum):
    """The next step for the worker of one slot."""

    RUN = "run"  # its agent is alive, or its worktree is being set up
    START = "start"  # it is assigned, and no agent has begun
    ROUND = "round"  # its work came back: the agent starts with the reason
    CONTINUE = "continue"  # a limit has ended, or a question was answered
    WAIT = "wait"  # for the end of a limit, or for an answer
    CHECK = "check"  # the test commands of its task
    LAND = "land"
    REVIEW = "review"  # by a person
    FAIL = "fail"  # its agent ended without handing anything in
    RECOVER = "recover"  # its agent and its supervisor were killed
    LEAVE = "leave"  # only a person can continue it
    REST = "rest"  # it is free, has landed, or has failed


STARTS = (Step.CONTINUE, Step.ROUND, Step.START)  # in this order, and before new tasks
SETTLES = frozenset({Step.FAIL, Step.RECOVER})  # these need no free slot
CARRIED_OUT = SETTLES | set(STARTS)


class SlotFacts(NamedTuple):
    """One worker of the run's agent; `outcome` is that of its last run of this task.

    `lives`: its agent or its supervisor runs. `is_setting_up`: the setup commands of its worktree
    run. `rounds` counts the runs that handed in, or whose work was not handed in again.
    `wait_until_ms` is the end of a limit. `is_refused`: the landing or the check of this version
    was refused. `has_tests`: the test commands have not passed yet. `is_verified` is the verdict of
    another agent: True if it passed, False if none counts. `has_tokens`: the budget of its task is
    not used up. `is_elsewhere`: its worktree is on another machine of the fleet.
    """

    worker: str
    state: WorkerState
    task: str | None = None
    task_status: TaskStatus | None = None
    stale_from: WorkerState | None = None
    requires_approval: bool = False
    lives: bool = False
    is_setting_up: bool = False
    has_run: bool = False
    outcome: str | None = None
    waits_for_author: bool = False
    returned_by: str | None = None
    rounds: int = 0
    wait_until_ms: int | None = None
    is_refused: bool = False
    has_worktree: bool = True
    has_tests: bool = False
    verification: VerificationType | None = VerificationType.AUTO_TEST
    is_held: bool = False
    is_verified: bool | None = None
    has_tokens: bool = True
    is_elsewhere: bool = False

    @property
    def real_state(self) -> WorkerState:
        """Return the state, or the one before it became STALE."""
        return self.stale_from or self.state if self.state is WorkerState.STALE else self.state


class Limits(NamedTuple):
    """The limits of a run: agents at once, new tasks that it may still begin, rounds of each.

    `begins` is None without a limit. `starts`: agents may start (not after an interrupt).
    `others`: agents that this run has not started take part of the limits. `has_tokens`: the budget
    of the run is not used up; without tokens no agent starts, and finished work still lands.
    """

    agents: int
    lands: bool
    rounds: int
    begins: int | None = None
    starts: bool = True
    others: bool = False
    has_tokens: bool = True

    @property
    def launches(self) -> bool:
        """Return whether agents may start."""
        return self.starts and self.has_tokens


class Facts(NamedTuple):
    """The slots, the READY tasks in their order, and the time of the next retry.

    `taken` are the ids of all workers that are not free. `skipped` are tasks that could not start,
    `checking` the workers whose tests run. `is_kept`: READY tasks wait for a place or for a path.
    In a run of all registered agents, `crew` are these (else None), and `takers` the names of those
    that may take each READY task. In a fleet, this machine's new workers have every `machines`-th
    number from `first` on, so that two runs choose different ones; `others_work`: the run of
    another machine has open tasks, which may return; `theirs` are workers that have handed in, and
    whose machines have a run that lands their work.
    """

    slots: tuple[SlotFacts, ...]
    ready: tuple[str, ...] = ()
    taken: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    next_retry_ms: int | None = None
    is_landing: bool = False
    checking: frozenset[str] = frozenset()
    is_kept: bool = False
    crew: tuple[CrewAgent, ...] | None = None
    takers: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    first: int = 1
    machines: int = 1
    others_work: bool = False
    theirs: tuple[SlotFacts, ...] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        """Return the names of the registered agents."""
        return tuple(one.name for one in self.crew or ())


class Action(NamedTuple):
    """A step for a worker; with `is_new` the worker first gets the task."""

    step: Step
    worker: str
    task: str
    is_new: bool = False


class Plan(NamedTuple):
    """The actions of one tick, the workers to land and to test, the time to look again.

    `is_over`: nothing is left to do. `is_crowded`: a start waits for the end of another's agent.
    `is_awaiting`: nothing is left but to wait for other machines.
    """

    actions: tuple[Action, ...]
    land: tuple[str, ...]
    wake_at_ms: int | None
    running: int
    is_over: bool
    check: tuple[str, ...] = ()
    is_crowded: bool = False
    is_awaiting: bool = False


def slot_step(slot: SlotFacts, limits: Limits, *, now: int) -> Step:
    """Return the next step of one slot."""
    state = slot.real_state
    if slot.lives or slot.is_setting_up:
        return Step.RUN
    is_wanted = slot.has_tests or (wants_agent(slot) and limits.has_tokens)
    is_unchecked = is_wanted and not slot.is_refused
    if state is WorkerState.IN_REVIEW and limits.starts and is_unchecked:
        return Step.REVIEW if slot.is_elsewhere else Step.CHECK
    if state in HANDED_IN:
        return Step.LAND if _may_land(slot, limits) else Step.REVIEW
    if state is not WorkerState.WORKING:
        return Step.START if state is WorkerState.ASSIGNED else Step.REST
    if slot.task_status is TaskStatus.PAUSED:
        is_due = slot.wait_until_ms is not None and slot.wait_until_ms <= now
        return Step.CONTINUE if is_due else Step.WAIT
    if slot.task_status is TaskStatus.WAITING_INPUT:
        return Step.WAIT
    if slot.waits_for_author:
        comes_back = slot.returned_by in AUTOMATIC_RETURNS and slot.rounds <= limits.rounds
        return Step.ROUND if comes_back else Step.LEAVE
    if not slot.has_run:
        return Step.LEAVE
    return AFTER_RUN.get(slot.outcome, Step.FAIL)


def is_out_of_rounds(slot: SlotFacts, limits: Limits) -> bool:
    """Return whether work that came back is left to a person, since its rounds are used up."""
    is_free = not (slot.lives or slot.is_setting_up or slot.is_elsewhere)
    comes_back = slot.waits_for_author and slot.returned_by in AUTOMATIC_RETURNS
    return is_free and comes_back and slot.rounds > limits.rounds


def wants_agent(slot: SlotFacts) -> bool:
    """Return whether another agent is to verify the work of a slot, and none has yet."""
    return slot.verification is VerificationType.QA_AGENT and slot.is_verified is None


AFTER_RUN: Mapping[str | None, Step] = MappingProxyType(
    {None: Step.RECOVER, RunOutcome.WAITING: Step.CONTINUE}
)


def decide(facts: Facts, limits: Limits, *, agent: str, now: int) -> Plan:
    """Return the actions of a tick: ended agents first, then those to continue, then new tasks.

    A task that failed before is taken up by the worker that has its work. The run is over if
    nothing runs, nothing can start, and no time is known at which this changes.
    """
    steps = [(_step(slot, facts, limits, now), slot) for slot in facts.slots]
    running = sum(step is Step.RUN for step, _ in steps)
    settled = [_action(step, slot) for step, slot in steps if step in SETTLES]
    waiting = [_action(wanted, slot) for wanted in STARTS for step, slot in steps if step is wanted]
    roster = _roster(facts, steps)
    begun = tuple(_of_ready(facts, agent=agent, begins=limits.begins, roster=roster))
    free = max(0, limits.agents - running) if limits.launches else 0
    actions = (*settled, *[*waiting, *begun][:free])
    land = _to_land(slot for step, slot in steps if step is Step.LAND)
    wake = _wake(facts, [slot for step, slot in steps if step is Step.WAIT], limits)
    untested = [slot.worker for step, slot in steps if step is Step.CHECK]
    check = tuple(worker for worker in untested if worker not in facts.checking)
    is_full = free == 0 and bool(waiting or begun)
    is_kept = facts.is_kept or (roster is not None and roster.has_passed)
    is_crowded = limits.launches and limits.others and (is_full or is_kept)
    is_busy = running or facts.is_landing or facts.checking or is_crowded
    has_ended = not (is_busy or actions or land or check or wake is not None)
    is_awaiting = has_ended and _awaits_others(facts, limits)
    return Plan(
        actions, () if facts.is_landing else land, wake, running, has_ended and not is_awaiting,
        check, is_crowded, is_awaiting,
    )  # fmt: skip


def was_stopped(outcome: str | None) -> bool:
    """Return whether a budget has stopped the last agent."""
    return outcome == RunOutcome.OUT_OF_BUDGET


def prefix_of(agent: str) -> str:
    """Return the beginning of the ids of an agent's workers: `claude-`."""
    name = "".join(char if char in WORKER_CHARS else "-" for char in agent.lower())[:50]
    name = name.strip("-")
    return f"{name if name and name[0] in LOWER else DEFAULT_AGENT}-"


def is_slot(worker: str, agent: str) -> bool:
    """Return whether a worker's id is a slot of the agent: `claude-1`."""
    number = worker.removeprefix(prefix_of(agent))
    return number != worker and number.isascii() and number.isdigit() and len(number) <= NUMBER_MAX


def slot_owner(worker: str, agents: Collection[str]) -> str | None:
    """Return the agent of which a worker's id is a slot, or None."""
    return next((name for name in agents if is_slot(worker, name)), None)


def passes(code: str, failures: int) -> bool:
    """Return whether the obstacle to a start passes by itself; `failures` counts this one, too.

    A limit passes as soon as an agent ends. Another command that changes the worker at the same
    time, such as the supervisor that a killed run has started, has ended by the next tick. The
    connection to a fleet comes back.
    """
    return code in PASSING or (code == Conflict.code and failures < CONFLICTS_MAX)


def landing_passes(code: str) -> bool:
    """Return whether the obstacle to a landing passes by itself, so that it is tried again."""
    return code in OUT_OF_REACH


def is_at_work(state: WorkerState) -> bool:
    """Return whether a worker has a task that its machine may give back."""
    return state in AT_WORK


def goes_on(state: WorkerState, stale_from: WorkerState | None, *, waits_for_person: bool) -> bool:
    """Return whether the work of another machine's worker goes on without a person."""
    is_in_review = state is WorkerState.STALE and stale_from is WorkerState.IN_REVIEW
    return is_at_work(state) and not is_in_review and not waits_for_person


def is_ready(status: TaskStatus) -> bool:
    """Return whether a task may be given to a worker."""
    return status is TaskStatus.READY


def is_free(state: WorkerState) -> bool:
    """Return whether a worker can take a task."""
    return state in FREE


def _step(slot: SlotFacts, facts: Facts, limits: Limits, now: int) -> Step:
    """Return the next step of a slot; one that has failed in this run is left to a person.

    A task that is held back, or has used its tokens, is not started again.
    """
    step = slot_step(slot, limits, now=now)
    if (slot.is_held or not slot.has_tokens) and step in STARTS:
        return Step.LEAVE
    return Step.LEAVE if slot.task in facts.skipped and step in CARRIED_OUT else step


def is_handed_in(state: WorkerState, stale_from: WorkerState | None) -> bool:
    """Return whether a worker's work is handed in, also if its review takes long."""
    return (stale_from if state is WorkerState.STALE else state) in HANDED_IN


def _to_land(slots: Iterable[SlotFacts]) -> tuple[str, ...]:
    """Return the workers that land next: those of this machine, or one of a silent machine.

    Its branch may not be on the remote, which refuses a landing as a whole.
    """
    found = list(slots)
    own = tuple(slot.worker for slot in found if not slot.is_elsewhere)
    return own or tuple(slot.worker for slot in found[:1])


def _awaits_others(facts: Facts, limits: Limits) -> bool:
    """Return whether other machines have work that may return, or land and unblock tasks."""
    lands = limits.lands and any(_lands_there(slot) for slot in facts.theirs)
    return (facts.others_work or lands) and limits.launches and limits.begins != 0


def _lands_there(slot: SlotFacts) -> bool:
    """Return whether the run of another machine lands a worker's work without a person."""
    needs_person = slot.requires_approval or slot.verification is VerificationType.HUMAN
    return slot.real_state is WorkerState.APPROVED or not needs_person


def _may_land(slot: SlotFacts, limits: Limits) -> bool:
    """Return whether a slot's work lands without a person: approved, or without a need for it."""
    by_tests = slot.verification is VerificationType.AUTO_TEST
    by_agent = slot.verification is VerificationType.QA_AGENT and slot.is_verified is True
    is_automatic = (by_tests or by_agent) and not slot.requires_approval
    is_allowed = slot.real_state is WorkerState.APPROVED or is_automatic
    return limits.lands and limits.starts and is_allowed and not slot.is_refused


def _action(step: Step, slot: SlotFacts) -> Action:
    return Action(step, slot.worker, slot.task or "")


def _roster(facts: Facts, steps: Sequence[tuple[Step, SlotFacts]]) -> Roster | None:
    """Return the registered agents with the tasks that they have; None in a run of one agent."""
    if facts.crew is None:
        return None
    kinds = {one.name: one.agent_type for one in facts.crew}
    owners = ((step, slot_owner(slot.worker, facts.agents)) for step, slot in steps)
    of_kind = Counter(kinds[name] for step, name in owners if name and step in (Step.RUN, *STARTS))
    roster = Roster(facts.crew, of_kind=of_kind)
    for step, slot in steps:
        if step is Step.ROUND:  # the agents have not counted it, since it waited
            roster.note(slot_owner(slot.worker, facts.agents), is_counted=True)
    return roster


def _of_ready(
    facts: Facts, *, agent: str, begins: int | None, roster: Roster | None
) -> Iterator[Action]:
    """Yield the starts of READY tasks in order: in the worker that failed at one, or a free one."""
    failed = {
        slot.task: slot
        for slot in facts.slots
        if slot.state is WorkerState.FAILED and slot.has_worktree
    }
    names = {name: _free_names(name, facts) for name in (agent, *facts.agents)}
    begun = {slot.task for slot in facts.slots if slot.is_setting_up}
    for task in facts.ready:
        if task in facts.skipped or task in begun:
            continue
        if task in failed:
            if roster is not None:
                roster.note(slot_owner(failed[task].worker, facts.agents))
            yield _action(Step.START, failed[task])
        elif begins is None or begins > 0:
            taker = agent if roster is None else roster.choose(facts.takers.get(task, ()))
            if taker is None:
                continue
            begins = None if begins is None else begins - 1
            yield Action(Step.START, next(names[taker]), task, is_new=True)


def _free_names(agent: str, facts: Facts) -> Iterator[str]:
    """Yield the ids of the agent's workers that are free, the lowest number first."""
    return (
        name
        for number in count(facts.first, facts.machines)
        if (name := f"{prefix_of(agent)}{number}") not in facts.taken
    )


def _wake(facts: Facts, waiting: Sequence[SlotFacts], limits: Limits) -> int | None:
    """Return the time of the next retry or of the end of a limit; None if none is known."""
    if not limits.launches:
        return None
    ends = [slot.wait_until_ms for slot in waiting if slot.wait_until_ms is not None]
    return min(
        (*ends, *([] if facts.next_retry_ms is None else [facts.next_retry_ms])), default=None
    )
