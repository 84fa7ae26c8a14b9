"""Any sequence of legal steps writes a log that breaks no rule."""

from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from gitworker.model.agent import AgentState
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.task_record import Task
from gitworker.model.worker import WorkerState
from gitworker.model.workstream import WorkstreamEvent, WorkstreamState
from gitworker.states.agent_machine import AGENT_MACHINE
from gitworker.states.log.log_event import (
    EventType,
    build_log_event,
    build_task_event,
    format_log_event,
)
from gitworker.states.log.validate import validate_log
from gitworker.states.task_machine import VALID_TASK_TRANSITIONS
from gitworker.states.task_view import LifecyclePosition, lifecycle_lines
from gitworker.states.worker_machine import WORKER_MACHINE, guard_allows
from gitworker.states.workstream_machine import (
    derive_workstream_state,
    derived_events,
    workstream_transition,
)

TASKS = 4


@dataclass
class World:
    """Some tasks of one workstream, a worker and an agent, and the log of their steps."""

    random: Random
    log: list[str] = field(default_factory=list)
    now_s: int = 0

    def __post_init__(self) -> None:
        self.tasks = [
            Task(
                id=f"t{number}",
                project_id="p",
                title="",
                description="",
                max_retries=self.random.randint(0, 2),
                critical=self.random.random() < 0.5,
                workstream_id="w",
            )
            for number in range(TASKS)
        ]
        # a task needs only earlier tasks, so that there is no circle
        self.needs = [
            {other for other in range(number) if self.random.random() < 0.4}
            for number in range(TASKS)
        ]
        self.views = [LifecyclePosition() for _ in range(TASKS)]
        self.started: list[str | None] = [None] * TASKS
        self.workstream = WorkstreamState.PLANNED
        self.worker = WorkerState.IDLE
        self.stale_from: WorkerState | None = None
        self.agent = AgentState.INITIALIZING

    @property
    def timestamp(self) -> str:
        """Return the present time, which moves by whole seconds or not at all."""
        return f"2026-01-10T14:{self.now_s // 60:02d}:{self.now_s % 60:02d}.000Z"

    def step(self) -> None:
        """Let time pass, and take one legal step."""
        self.now_s += self.random.randint(0, 2)
        self.random.choice([self.step_task] * 6 + [self.step_worker, self.step_agent])()
        self.step_workstream()

    def step_task(self) -> None:
        """Fire one event that the table and the rules about dependencies and retries allow."""
        number = self.random.randrange(TASKS)
        task = self.tasks[number]
        left = task.retry_count < task.max_retries
        event = self.random.choice(
            [event for status, event in VALID_TASK_TRANSITIONS if status == task.status]
        )
        if event == TaskEvent.RETRY and not left:
            return
        if event == TaskEvent.DEPS_MET and not all(
            self.tasks[other].status == TaskStatus.COMPLETED for other in self.needs[number]
        ):
            return
        status = VALID_TASK_TRANSITIONS[task.status, event]
        lines, self.views[number] = lifecycle_lines(
            self.views[number],
            from_status=task.status,
            event=event,
            to_status=status,
            retries_left=left,
        )
        self.tasks[number] = replace(
            task, status=status, retry_count=task.retry_count + (event == TaskEvent.RETRY)
        )
        if status == TaskStatus.IN_PROGRESS:
            self.started[number] = self.timestamp
        for one in lines:
            facts = self.facts(number, event)
            self.write(build_task_event(one, task.id, timestamp=self.timestamp, facts=facts))

    def facts(self, number: int, event: TaskEvent) -> dict[str, object]:
        """Return the stored facts of a task after a step."""
        task = self.tasks[number]
        return {
            "status": task.status.value,
            "event": event.value,
            "retry_count": task.retry_count,
            "max_retries": task.max_retries,
            "worker_id": f"worker-{number}",
            "dependencies": sorted(f"t{other}" for other in self.needs[number]),
            "workstream_id": task.workstream_id,
            "critical": task.critical,
            "created_at": "2026-01-10T13:00:00.000Z",
            "started_at": self.started[number],
            "completed_at": self.timestamp,
        }

    def step_workstream(self) -> None:
        """Apply the state that the tasks imply, if the table has it; complete a validated one."""
        derived = derive_workstream_state(self.tasks)
        events = derived_events(self.workstream, derived)
        if self.workstream == derived == WorkstreamState.VALIDATING:
            events = (WorkstreamEvent.VALIDATION_PASSED,)
        for event in events:
            self.move_workstream(event)

    def move_workstream(self, event: WorkstreamEvent) -> None:
        """Fire an event on the workstream."""
        before, self.workstream = self.workstream, workstream_transition(self.workstream, event)
        dropped = [task.id for task in self.tasks if task.status == TaskStatus.CANCELLED]
        self.write(
            build_log_event(
                EventType.WORKSTREAM,
                "w",
                timestamp=self.timestamp,
                from_state=before,
                to_state=self.workstream,
                trigger=event,
                metadata={"dropped": dropped},
            )
        )

    def step_worker(self) -> None:
        """Move the worker by a row whose guard holds."""
        rows = [
            (event, target)
            for (state, event), target in WORKER_MACHINE.table.items()
            if state == self.worker and guard_allows(state, event, stale_from=self.stale_from)
        ]
        event, target = self.random.choice(rows)
        self.stale_from = self.worker if target == WorkerState.STALE else None
        before, self.worker = self.worker, target
        self.move(EventType.SEAT, before, target, event)

    def step_agent(self) -> None:
        """Move the agent by a row; one that has shut down registers again."""
        if self.agent == AgentState.SHUTDOWN:
            self.agent = AgentState.INITIALIZING
        rows = [
            (event, target)
            for (state, event), target in AGENT_MACHINE.table.items()
            if state == self.agent
        ]
        event, target = self.random.choice(rows)
        before, self.agent = self.agent, target
        self.move(EventType.AGENT, before, target, event)

    def move(self, event_type: EventType, before: str, after: str, trigger: str) -> None:
        """Write the line of a worker or an agent."""
        self.write(
            build_log_event(
                event_type,
                "auth",
                timestamp=self.timestamp,
                from_state=before,
                to_state=after,
                trigger=trigger,
            )
        )

    def write(self, event: dict[str, object]) -> None:
        """Append one line."""
        self.log.append(format_log_event(event))


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 120))
def test_own_log_passes(random: Random, steps: int) -> None:
    """Any sequence of legal steps of all machines writes a log that validates."""
    world = World(random)
    for _ in range(steps):
        world.step()
    assert validate_log(world.log) == []


def test_random_lives_are_full_lives() -> None:
    """The random lives include new incarnations, completion and failure."""
    seen = ""
    for seed in range(60):
        world = World(Random(seed))
        for _ in range(120):
            world.step()
        seen += "".join(world.log)
        assert validate_log(world.log) == []
    for needle in (
        '"t1#3"',
        '"waived":"dependencies"',
        '"waived":"verification"',
        '"trigger":"critical_task_failed"',
        '"trigger":"all_tasks_completed"',
        '"from_state":"STALE"',
        '"from_state":"unresponsive"',
        '"to_state":"retrying"',
    ):
        assert needle in seen


@given(st.randoms(use_true_random=False), st.data())
def test_a_lost_line_is_noticed(random: Random, data: st.DataObject) -> None:
    """A line taken out of the middle of an entity's life breaks a rule."""
    world = World(random)
    while len(world.log) < 30:
        world.step_worker()
    lost = data.draw(st.integers(0, 28))
    before, after = world.log[lost - 1] if lost else "", world.log[lost + 1]
    remaining = world.log[:lost] + world.log[lost + 1 :]
    found = validate_log(remaining)
    state = before.split('"to_state":"')[1].split('"')[0] if before else "IDLE"
    if f'"from_state":"{state}"' not in after:
        assert found
