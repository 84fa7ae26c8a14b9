"""run: hand READY tasks to agents until nothing is left to do.

Each tick reads the database, lets the rules decide, and acts, under a lock that runs of the same
repository share. Between ticks it waits for the bus, for the end of an agent, for an interrupt, or
for the earliest deadline. Agents run under detached supervisors, so they survive the end of a run;
the next run finds them by their rows.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.agents.adapters.find_adapter import agent_names
from gitworker.agents.adapters.find_agent import find_agent
from gitworker.agents.adapters.registered_agent import as_registered
from gitworker.agents.command import require_program
from gitworker.bus.drain import drain
from gitworker.bus.following.listen import listen
from gitworker.errors import LOST, Conflict, GitWorkerError, NotFound, Refused
from gitworker.journal.settle import settle
from gitworker.liveness.life_lock import RUNS, LifeLock
from gitworker.model.ids import ORCHESTRATOR, RESERVED
from gitworker.notifications.start_job import start_notify_job
from gitworker.orchestrator.carry_out import AgentCommand, carry_out
from gitworker.orchestrator.facts import Picture, read_picture, was_overtaken
from gitworker.orchestrator.interrupts import Interrupts
from gitworker.orchestrator.jobs.checks import Checks
from gitworker.orchestrator.jobs.chores import Chores
from gitworker.orchestrator.jobs.land_job import LandJob
from gitworker.orchestrator.jobs.landing_mark import LandingMark
from gitworker.orchestrator.jobs.refusals import Refusals
from gitworker.orchestrator.jobs.setups import Setups
from gitworker.orchestrator.results import (
    LISTED_MAX,
    RunSummary,
    read_results,
    read_summary,
    with_open,
)
from gitworker.orchestrator.rules_next import (
    DEFAULT_AGENT,
    Action,
    Limits,
    Plan,
    decide,
    is_out_of_rounds,
    passes,
)
from gitworker.orchestrator.rules_summary import WORDS, action_text, is_news
from gitworker.orchestrator.rules_wait import wait_s
from gitworker.orchestrator.spending import Spending
from gitworker.orchestrator.stop_agents import restart_stopped, stop_agents
from gitworker.orchestrator.turns.crew import require_crew
from gitworker.orchestrator.turns.rules_crew import lacks
from gitworker.orchestrator.turns.rules_places import limits_of
from gitworker.orchestrator.wait_for_change import wait_for_change
from gitworker.processes.standby import Standby
from gitworker.progress import Notice
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.tasks.plan.import_plan import import_plan
from gitworker.verify.trust import require_trusted

KILLED_MAX = 3  # landings in a row that are killed before their work is left to a person

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitworker.orchestrator.turns.rules_crew import Obstacle
    from gitworker.session import Session
    from gitworker.store.api import Waker

WAIT_FOR_RUN_S = 86_400
SPENT = " budget"  # the key of a line that is about no task


class RunOrder(NamedTuple):
    """The agent of a run, and its limits.

    `agents` run at once (None: the project's number). `lands`: work that needs no approval lands.
    `begins` new tasks at most (None: no limit; 0: only work that has begun continues). `is_single`:
    one tick. `plan` is a file with tasks that are brought into the queue first. `resumes`: an agent
    continues by itself after a limit of its model's vendor. `budget` are the tokens that its agents
    may use; then they are stopped, and none starts (None: no limit).
    """

    command: AgentCommand
    agents: int | None = None
    lands: bool = False
    begins: int | None = None
    is_single: bool = False
    plan: str | None = None
    resumes: bool = True
    budget: int | None = None

    @property
    def agent(self) -> str | None:
        """Return the agent, of which the ids of its workers are made; None: all registered ones."""
        if self.command.is_open:
            return None
        return self.command.agent or self.command.name or DEFAULT_AGENT


def run(session: Session, order: RunOrder) -> RunSummary:
    """Start agents for READY tasks in their order, land and take up their work; return the results.

    It returns once nothing runs, nothing can start and no retry is due later. Raises NotFound for
    an agent or a program that does not exist, and Refused in a worker's worktree or, to land, for
    verify commands that are not trusted; nothing has changed then.
    """
    order = _require_possible(session, order)
    session = session._replace(actor=ORCHESTRATOR)
    planned: Sequence[str] = ()
    if order.plan is not None:
        planned = import_plan(session, order.plan, agents=agent_names(session)).tasks
    session.store.wait_for_the_fleet()
    with Interrupts() as interrupts, listen(session) as waker:
        work = _Work(session, order, interrupts, planned[:LISTED_MAX])
        try:
            while not work.try_tick():
                work.wait(waker)
        except BaseException:
            start_notify_job(session, is_final=True)  # what is left is a person's now
            raise
        finally:
            work.setups.stop()
            work.standby.close()
            work.mark.set(lands=False)
            work.life.release()
        return work.summary()


def plan_run(session: Session, order: RunOrder) -> Plan:
    """Return the first actions of a run without carrying them out."""
    order = _require_possible(session, order)
    picture = read_picture(
        session, order.agent, agents=order.agents, skipped={}, refused={}, tested={},
        accounts=False,
    )  # fmt: skip
    for line in lacks(picture.facts.crew or ()):
        session.report(Notice(line))
    limits = _limits(session, order, picture, begun=0, starts=True)
    return decide(picture.facts, limits, agent=order.agent or "", now=clock.now_ms())


class _Work:
    """The state of one run; everything that must survive it is in the database."""

    __slots__ = (
        "begun", "checks", "chores", "crew", "failures", "interrupts", "is_held_up",
        "killed_landings", "landing", "life", "lines", "mark", "order", "picture", "plan",
        "refusals", "scope", "session", "setups", "skipped", "spending", "standby", "stopped",
        "unfit",
    )  # fmt: skip

    def __init__(
        self, session: Session, order: RunOrder, interrupts: Interrupts, scope: Sequence[str]
    ) -> None:
        self.session = session
        self.order = order
        self.interrupts = interrupts
        self.begun = 0
        self.stopped = False
        self.is_held_up = False
        self.landing: LandJob | None = None
        self.killed_landings = 0  # in a row
        self.mark = LandingMark(session)
        self.life = LifeLock(session.paths, RUNS)
        self.chores = Chores(session, lands=order.lands)
        self.setups = Setups(session)
        self.failures: Counter[str] = Counter()  # starts of each task in a row that met a conflict
        self.skipped: dict[str, str] = {}  # tasks that could not start, with the reason
        self.unfit: dict[str, Obstacle] = {}  # tasks that no registered agent can take
        self.crew: tuple[str, ...] = ()  # the registered agents that could not
        self.lines: dict[str, str] = {}  # the last line on each task
        with session.store.read() as reader:
            self.scope = with_open(reader, scope)  # the tasks whose results are reported
        self.spending = Spending(session, order.budget)
        self.refusals = Refusals()
        self.checks = Checks(session, order.command, refusals=self.refusals, spending=self.spending)
        self.standby = Standby(session.main_top)
        self.picture: Picture
        self.plan: Plan
        restart_stopped(session)

    def try_tick(self) -> bool:
        """Do as `tick` does; repeat it if the connection to a fleet was lost meanwhile."""
        while True:
            try:
                return self.tick()
            except Conflict as error:
                if error.code != LOST:
                    raise

    def tick(self) -> bool:
        """Look, decide, act; return whether the run is over."""
        if not self.interrupts.number:
            self.life.take()  # again, since another run may have had it
        settle(self.session)
        drain(self.session)
        start_notify_job(self.session)  # also for an agent whose sandbox has no network
        self.is_held_up = waits = not self._end_landing()
        self.checks.take_ended()
        self._end_setups()
        self.chores.tick(starts=not self.interrupts.number)
        with _hold_tick(self.session):
            self._look()
            self._stop_agents()
            for action in self.plan.actions:
                self._act(action)
        for worker in self.plan.check:
            if not self.checks.begin(self.picture.slots[worker]):
                self.is_held_up = True
        if self.plan.land and not waits:
            self.landing = LandJob(self.session, self.plan.land)
            self._say(f"landing {', '.join(self.plan.land)}")
        if self.plan.actions:
            self._look()
        if self.plan.is_over and not self.chores.jobs:
            # An agent that was stopped has perhaps ended after the chores were read.
            self.chores.tick(starts=not self.interrupts.number)
        return self.order.is_single or (self.plan.is_over and not self.chores.jobs)

    def wait(self, waker: Waker) -> None:
        """Wait until something has changed, or until the earliest deadline."""
        if (self.plan.actions or self.plan.land or self.plan.check) and not self.is_held_up:
            return  # the last actions made them possible
        jobs = (
            *filter(None, [self.landing]), *self.checks.running.values(), *self.chores.jobs,
            *self.setups.running,
        )  # fmt: skip
        left_s = wait_s(
            (self.plan.wake_at_ms, self.chores.wake_at_ms),
            now=clock.now_ms(),
            is_busy=bool(self.plan.running or jobs or self.plan.is_crowded or self.is_held_up),
        )
        wait_for_change(
            waker, left_s, ends_of=self.picture.watched,
            readable=(*(job.fileno() for job in jobs), self.interrupts.fileno()),
        )  # fmt: skip
        self.interrupts.take()

    def summary(self) -> RunSummary:
        """Return the results of the tasks that were open at the beginning, or are so now."""
        if self.interrupts.number:
            restart_stopped(self.session)
        start_notify_job(self.session, is_final=True)
        return read_summary(
            self.session, self.picture, scope=self.scope, obstacles=self._obstacles(),
            lands=self.order.lands, is_interrupted=self.interrupts.number > 0,
            commands={task: one.command for task, one in self._hindered().items()},
            spent=self.spending.words if self.spending.is_over else "",
        )._replace(tokens=self.spending.count(), cost=self.spending.cost())  # fmt: skip

    def _look(self) -> None:
        """Read the facts, report the changes, and decide."""
        self.picture = self._read()
        while self._note_unfit():
            self.picture = self._read()
        for line in lacks(self.picture.facts.crew or ()):
            if line not in self.lines:
                self.lines[line] = line
                self._say(line)
        self.picture = self.refusals.mark(self.picture)
        self.spending.look(self.picture.slots)
        for one in read_results(self.session, self.picture, self._obstacles()):
            if self.lines.get(one.task) != one.line:
                if one.task in self.lines and is_news(one):
                    self._say(one.line)
                self.lines[one.task] = one.line
        starts = not self.interrupts.number
        limits = _limits(self.session, self.order, self.picture, begun=self.begun, starts=starts)
        limits = limits._replace(has_tokens=not self.spending.is_over)
        facts = self.picture.facts._replace(
            is_landing=self.landing is not None, checking=frozenset(self.checks.running)
        )
        self.plan = decide(facts, limits, agent=self.order.agent or "", now=clock.now_ms())
        for slot in facts.slots:
            key = f"rounds of {slot.worker} on {slot.task}"
            if is_out_of_rounds(slot, limits) and key not in self.lines:
                self.lines[key] = why = f"{slot.task} waits for a person, since no round is left"
                self._say(f"{why}: git worker show {slot.worker}")
        is_active = not (self.plan.is_over or self.plan.is_awaiting)
        self.mark.set(lands=self.order.lands and is_active)

    def _read(self) -> Picture:
        """Read the facts of this tick."""
        return read_picture(
            self.session, self.order.agent, agents=self.order.agents,
            skipped={**self.skipped, **_words(self.unfit)}, refused=self.refusals.versions,
            tested=self.checks.tested, verified=self.checks.verified, resumes=self.order.resumes,
        )  # fmt: skip

    def _note_unfit(self) -> bool:
        """Leave out tasks that no registered agent can take, unless these change; say if any."""
        facts = self.picture.facts
        if facts.crew is None:
            return False
        crew = (
            str(self.picture.queue.places),
            *(
                f"{one.name} {one.agent_type} {one.machine} {one.capabilities}"
                for one in facts.crew
            ),
        )
        if crew != self.crew:
            self.crew, self.unfit, was_unfit = crew, {}, bool(self.unfit)
            if was_unfit:
                return True
        lasting = {task: one for task, one in self.picture.obstacles.items() if one.lasts}
        self.unfit.update(lasting)
        return bool(lasting)

    def _act(self, action: Action) -> None:
        if was_overtaken(self.session, action):
            self.is_held_up = True
            return
        slot = self.picture.slots.get(action.worker)
        setups = None if self.order.is_single else self.setups
        if action.step in WORDS:
            sets_up = setups is not None and setups.comes_first(action, slot and slot.worker)
            self._say(action_text(action, sets_up=sets_up))
            self.lines.setdefault(action.task, "")
            self.scope.add(action.task)
        try:
            carry_out(
                self.session, self.order.command, action, slot, standby=self.standby,
                setups=setups,
            )  # fmt: skip
        except GitWorkerError as error:
            if was_overtaken(self.session, action):
                self.is_held_up = True
                return
            self.failures[action.task] += error.code == Conflict.code
            if passes(error.code, self.failures[action.task]):
                self.is_held_up = True
            elif not self.interrupts.number:
                self._leave(action.task, error)
            return
        self.failures.pop(action.task, None)
        self.begun += action.is_new

    def _stop_agents(self) -> None:
        """Report the first interrupt; stop the agents at the second one, and by the budget."""
        if self.interrupts.number and "" not in self.lines:
            self.lines[""] = "interrupted"
            self.life.release()  # it continues nothing that has ended
            self._say(
                f"no more agents are started; waiting for {self.plan.running} to end"
                " (interrupt again to stop them, their work is kept)"
            )
        if self.interrupts.number > 1 and not self.stopped:
            self.stopped = True
            self.setups.stop()
            stop_agents(self.session, self.picture)
        elif self.spending.is_over and SPENT not in self.lines:
            self.lines[SPENT] = why = self.spending.words
            self._say(f"{why}: no more agents are started, and those at work are stopped")
            stop_agents(self.session, self.picture, why=why, pauses=True)

    def _end_landing(self) -> bool:
        """Take the results of an ended landing; a landing that moved the target allows another.

        Returns False if the next one has to wait until an obstacle passes by itself.
        """
        if self.landing is None or not self.landing.has_ended():
            return True
        refusals = self.landing.refusals()
        has_landed = len(refusals) < len(self.landing.workers)
        slots = [self.picture.slots.get(one) for one in self.landing.workers]
        keeps = any(slot is not None and slot.facts.is_elsewhere for slot in slots)
        self.killed_landings = self.killed_landings + 1 if self.landing.was_killed() else 0
        is_repeated = 0 < self.killed_landings < KILLED_MAX
        lasting = {
            name: one.reason for name, one in refusals.items() if not (one.passes or is_repeated)
        }
        self.landing = None
        self.refusals.replace({} if has_landed else lasting, keeps=keeps and not has_landed)
        return has_landed or not any(one.passes for one in refusals.values())

    def _end_setups(self) -> None:
        """Take the results of ended setups; the task of one that failed is left to a person."""
        for worker, error in self.setups.take_ended():
            if error is not None and not self.interrupts.number:
                self._leave(worker.task, error)

    def _leave(self, task: str, error: GitWorkerError) -> None:
        """Leave a task that could not start to a person, and say why."""
        self.skipped[task] = error.message
        self._say(f"{task} could not start: {error.message}")

    def _obstacles(self) -> dict[str, str]:
        """Return the tasks that could not start or land, with the reason."""
        workers = {name: slot.worker.task for name, slot in self.picture.slots.items()}
        return {
            **{
                task: f"it waits for {other}, which changes the same paths"
                for task, other in self.picture.queue.waiting.items()
            },
            **_words(self._hindered()),
            **self.skipped,
            **{
                workers[name]: words
                for name, words in self.refusals.reasons.items()
                if name in workers
            },
        }

    def _hindered(self) -> dict[str, Obstacle]:
        """Return the tasks that no registered agent takes, with the reason and the command."""
        return {**self.picture.obstacles, **self.unfit}

    def _say(self, text: str) -> None:
        self.session.report(Notice(text))


def _require_possible(session: Session, order: RunOrder) -> RunOrder:
    """Return the order with the command of its agent; raise if it cannot run."""
    if session.actor not in RESERVED:
        raise Refused(
            f"worker {session.actor} cannot run other agents", "git worker done", code="not_allowed"
        )
    command = as_registered(session, order.command)
    if command.name is not None:
        find_agent(session, command.name, options=command.words)
    elif command.words:
        require_program(command.words[0], os.environ, directory=None)
        _require_in_worktrees(session, command.words[0])
    else:
        require_crew(session)
    if order.lands:
        require_trusted(session)
    return order._replace(command=command)


def _require_in_worktrees(session: Session, word: str) -> None:
    """Raise NotFound if new worktrees will not have a program that is named by a relative path.

    A program that their preparation may bring is accepted, and so is one whose first directory is
    in the target: that may be a submodule or a link.
    """
    settings = session.settings
    first = os.path.normpath(word).partition("/")[0]
    if "/" not in word or first in ("", os.pardir):
        return
    if settings.worktree_copy or settings.worktree_link or settings.worktree_setup:
        return
    if session.git.text("ls-tree", "--full-tree", "--name-only", session.target, "--", first):
        return
    raise NotFound(
        f"cannot run {ascii(word[:200])}: {session.target_name} has no such file, so the new"
        " worktrees will not have it",
        f"commit it on {session.target_name}, or name it by its absolute path",
    )


def _words(obstacles: Mapping[str, Obstacle]) -> dict[str, str]:
    return {task: one.words for task, one in obstacles.items()}


def _limits(
    session: Session, order: RunOrder, picture: Picture, *, begun: int, starts: bool
) -> Limits:
    """Return the limits that the run, the projects and the kind of its agent have now."""
    left = None if order.begins is None else max(0, order.begins - begun)
    wanted = Limits(0, order.lands, session.settings.agents_rounds, left, starts)
    queue = picture.queue
    return limits_of(queue.projects, queue.kind, wanted, agents=order.agents)


@contextmanager
def _hold_tick(session: Session) -> Iterator[None]:
    """Hold the lock of a tick, so that two runs neither start a task twice nor exceed a limit."""
    with hold(f"{session.paths.locks}/run", name="run", timeout_s=WAIT_FOR_RUN_S):
        yield
