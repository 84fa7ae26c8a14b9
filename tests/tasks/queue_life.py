"""Random lives of tasks and workers through the service, and the invariants that always hold.

A step calls one method of the service as a person or an agent would; a refusal is an outcome. The
rules draw names only, never from the state, so that a failing life can be replayed.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gitworker import clock
from gitworker.bus.files.export import export_logs
from gitworker.crashpoint import VARIABLE
from gitworker.errors import GitWorkerError
from gitworker.service.service import Service, open_repository
from gitworker.states.log.validate import validate_log
from gitworker.states.task_machine import VALID_TASK_TRANSITIONS
from gitworker.states.task_view import lifecycle_rows
from gitworker.states.worker_machine import WORKER_MACHINE
from gitworker.store.records.task_needs import open_needs_of
from gitworker.store.records.task_queue import ready_tasks
from gitworker.store.tasks import unblocked_tasks
from gitworker.tasks.queue.rules_fields import TaskFields
from tests.workers.world import World, is_at_work, wait_until, without_heartbeat_daemon

TASKS = 5
NUMBERS = st.integers(0, TASKS - 1)
EARLY = st.integers(0, 1)  # the tasks that others need
LATE = st.integers(2, TASKS - 1)
UNTIL = ("landed", "done", "done", "")
HANDED_IN = frozenset({"VERIFYING", "AWAITING_APPROVAL", "COMPLETED"})
# The statuses that the task of a worker can have, by the worker's state.
HELD: dict[str, frozenset[str]] = {
    "ASSIGNED": frozenset({"ASSIGNED"}),
    "WORKING": frozenset({"IN_PROGRESS", "PAUSED", "WAITING_INPUT"}),
    "IN_REVIEW": frozenset({"VERIFYING", "AWAITING_APPROVAL"}),
    "APPROVED": frozenset({"VERIFYING", "AWAITING_APPROVAL"}),
}
POSITIONS = {(row.to_status.value, row.after.state.value) for row in lifecycle_rows()} | {
    ("DEFINED", "pending")
}
LEGAL = {
    "task": {(a.value, e.value, b.value) for (a, e), b in VALID_TASK_TRANSITIONS.items()},
    "worker": {(a.value, e.value, b.value) for (a, e), b in WORKER_MACHINE.table.items()},
}
VERBS = (
    "restart_task", "stop_task", "skip_task", "cancel_task", "hold_task", "release_task",
)  # fmt: skip
ENDS = ("fail", "reset", "cancel", "recover", "resume", "undo")
# The operations that are killed, each at a point that it passes.
CRASHES = (
    ("spawn", "spawn.journal"), ("spawn", "spawn.worktree"), ("cancel", "cancel.journal"),
    ("approve", "approve.moved"), ("merge", "merge.forwarded"), ("merge", "merge.recorded"),
)  # fmt: skip
TASK_ROWS = """
SELECT id, status, assigned_agent_id, resume_after_ms, retry_count, max_retries, open_needs,
    waives_needs, held, priority, created_at_ms, started_at_ms, completed_at_ms, view, position
FROM tasks ORDER BY id
"""


class QueueLife(RuleBasedStateMachine):
    """Five tasks, a worker for each, and their needs as the model knows them."""

    def __init__(self) -> None:
        super().__init__()
        self.exits = contextlib.ExitStack()
        self.place = Path(self.exits.enter_context(tempfile.TemporaryDirectory()))
        self.world = World.make(self.place / "r")
        self.world.git("config", "worker.gc.daily", "no")
        self.skipped_ms = 0
        monkeypatch = self.exits.enter_context(pytest.MonkeyPatch.context())
        monkeypatch.setenv("GITWORKER_HOOKS", "off")
        now, mono = clock.now_ms, clock.monotonic_ms
        monkeypatch.setattr("gitworker.clock.now_ms", lambda: now() + self.skipped_ms)
        monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: mono() + self.skipped_ms)
        self.exits.enter_context(without_heartbeat_daemon(self.world))
        self.service: Service = open_repository(str(self.world.root))
        self.session = self.world.session()
        path = f"{self.world.state_dir}/bus.db"
        self.rows = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self.rows.set_busy_timeout(5000)
        self.agents: dict[int, subprocess.Popen[bytes]] = {}
        self.needs: dict[str, dict[str, str]] = {}
        self.last_seq = 0
        self.commits = 0

    def teardown(self) -> None:
        """End the agents and delete the repository."""
        for agent in self.agents.values():
            agent.kill()
            agent.wait()
        self.rows.close()
        self.session.store.close()
        wait_until(lambda: not is_at_work(self.place))  # a background deletion
        self.exits.close()

    # ------------------------------------------------------------------ steps
    @initialize()
    def add(self) -> None:
        """Add the tasks; the later ones need the first two, in both ways."""
        for number, needs in enumerate(([], ["t0"], ["t0:done"], ["t0", "t1:done"], ["t1"])):
            fields = TaskFields(
                priority=100 - number % 2, max_retries=1, requires_approval=number % 2 == 0
            )
            self.service.add_task(f"t{number}", fields, needs=needs)
            parts = [need.partition(":") for need in needs]
            self.needs[f"t{number}"] = {task: until or "landed" for task, _, until in parts}

    def call(self, method: str, *args: Any, **more: Any) -> bool:
        """Call the service; return whether it was not refused."""
        try:
            getattr(self.service, method)(*args, **more)
        except GitWorkerError:
            return False
        return True

    @rule(number=NUMBERS, other=EARLY, until=st.sampled_from(UNTIL))
    def depend(self, number: int, other: int, until: str) -> None:
        """Let a task wait for another one, until another time, or no longer."""
        if until:
            self._depend(number, other, until)
        else:
            self._drop(number, other)

    @rule(number=st.sampled_from((0, 0, 1, 1, 2, 3, 4)), verb=st.sampled_from(VERBS))
    def change(self, number: int, verb: str) -> None:
        """Use a verb of `git worker task`."""
        more = {"held": False} if verb == "release_task" else {}
        self.call(verb.replace("release", "hold"), f"t{number}", **more)

    @rule(number=NUMBERS, shift=st.sampled_from((0, 0, 1)), restarts=st.booleans())
    def start(self, number: int, shift: int, restarts: bool) -> None:
        """Give a task to its worker, or to another one, whose agent begins."""
        worker = f"w{(number + shift) % TASKS}"
        if restarts:
            self.call("restart_task", f"t{number}")
        self.call("spawn", worker, f"t{number}")
        self._begin(number, worker)

    @rule(number=EARLY, restarts=st.booleans(), late=LATE, until=st.sampled_from(UNTIL))
    def hand_in(self, number: int, restarts: bool, late: int, until: str) -> None:
        """Bring a task into review, and change the needs of another one while it is there."""
        if restarts:
            self.call("restart_task", f"t{number}")
        self._bring_to_review(number)
        self.call("restart_task", f"t{late}")
        self.depend(late, number, until)

    @rule(number=EARLY, late=LATE, until=st.sampled_from(UNTIL))
    def land(self, number: int, late: int, until: str) -> None:
        """Hand a task in and land it, and change the needs of another one then."""
        self._bring_to_review(number)
        self.call("land", [f"w{number}"], note="fine")
        self.call("restart_task", f"t{late}")
        self.depend(late, number, until)

    @rule(number=EARLY)
    def submit(self, number: int) -> None:
        """Commit and hand in the work of the worker that has a task."""
        self._submit(number)

    @rule(number=EARLY, verdict=st.sampled_from(("approve", "reject", "merge", "land")))
    def review(self, number: int, verdict: str) -> None:
        """Judge a worker's work, or land it."""
        worker = f"w{number}"
        note = {} if verdict == "merge" else {"note": "words"}
        self.call(verdict, worker if verdict == "reject" else [worker], **note)

    @rule(number=EARLY, method=st.sampled_from(ENDS))
    def end(self, number: int, method: str) -> None:
        """Give work up, free the worker, take the work up again, or the last operation back."""
        args: dict[str, tuple[Any, ...]] = {"undo": ()}
        more: dict[str, dict[str, Any]] = {"fail": {"reason": "no idea"}}
        if method == "resume":
            more["resume"] = {"pid": self._agent(number)}
        self.call(method, *args.get(method, (f"w{number}",)), **more.get(method, {}))

    @rule(number=NUMBERS)
    def kill(self, number: int) -> None:
        """Kill an agent; time shows it."""
        agent = self.agents.pop(number, None)
        if agent is not None:
            agent.kill()
            agent.wait()

    @rule(seconds=st.sampled_from((60, 200, 400, 1000, 5000)))
    def wait(self, seconds: int) -> None:
        """Let time pass; the next command records what is due."""
        self.skipped_ms += seconds * 1000
        self.call("ready_tasks")

    @rule(number=NUMBERS, crash=st.sampled_from(CRASHES))
    def crash(self, number: int, crash: tuple[str, str]) -> None:
        """Kill an operation at one of its points; the next command repairs it."""
        method, point = crash
        args: tuple[Any, ...] = (f"w{number}", f"t{number}")
        if method != "spawn":
            args = (f"w{number}",) if method == "cancel" else ([f"w{number}"],)
        child = os.fork()
        if child == 0:
            os.environ[VARIABLE] = point
            with contextlib.suppress(BaseException):
                self.call(method, *args)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        self.call("ready_tasks")

    @rule(number=NUMBERS, other=EARLY, sql=st.sampled_from(("UPDATE", "INSERT OR REPLACE")))
    def write_as_another_program(self, number: int, other: int, sql: str) -> None:
        """Change a dependency without deleting it first, which the database refuses."""
        task, on = f"t{number}", f"t{other}"
        until = {"landed": "done", "done": "landed"}.get(self.needs[task].get(on, ""))
        if until is None:
            return
        command = (
            f"UPDATE task_dependencies SET until = '{until}' WHERE task_id = '{task}'"
            f" AND depends_on = '{on}'"
            if sql == "UPDATE"
            else f"INSERT OR REPLACE INTO task_dependencies VALUES ('{task}', '{on}', '{until}')"
        )
        connection = apsw.Connection(self.rows.filename)
        with contextlib.closing(connection), pytest.raises(apsw.ConstraintError, match="depend"):
            connection.execute(command)

    # ------------------------------------------------------------------ invariants
    @precondition(lambda self: self.needs)
    @invariant()
    def tasks_are_sound(self) -> None:
        """The invariants of the task model hold for every row, and the triggers count right."""
        tasks = {row[0]: row for row in self.query(TASK_ROWS)}
        workers = self.query("SELECT worker_id, state, stale_from, task_id FROM workers")
        status = {task: row[1] for task, row in tasks.items()}
        for task, row in tasks.items():
            _, now, agent, resume, retries, most, count, *_ = row
            created, started, completed = row[10:13]
            assert agent or now not in ("ASSIGNED", "IN_PROGRESS"), row
            assert resume is not None or now != "PAUSED", row
            assert retries <= most, row
            assert count == len(self._open(task, status)), (row, status)
            assert created <= (started or created), row
            assert (started or created) <= (completed or started or created), row
            assert (now, row[13]) in POSITIONS, row
        holders = [
            (task, worker)
            for worker, state, stale_from, task in workers
            if (stale_from if state == "STALE" else state) in HELD
        ]
        assert len({task for task, _ in holders}) == len(holders), holders
        for _, state, stale_from, task in workers:
            allowed = HELD.get(stale_from if state == "STALE" else state)
            assert allowed is None or status[task] in allowed, (task, status[task], state)
        for task, now in status.items():
            is_held = task in dict(holders)
            assert is_held or now not in HELD["WORKING"] | HELD["IN_REVIEW"] | {"ASSIGNED"}, task

    @precondition(lambda self: self.needs)
    @invariant()
    def the_queue_is_in_order(self) -> None:
        """The queue and the tasks to promote are those of the model, in its order."""
        rows = self.query(TASK_ROWS)
        status = {row[0]: row[1] for row in rows}
        order = sorted(rows, key=lambda row: (row[9], row[10], row[14], row[0]))
        with self.session.store.read() as reader:
            ready = [one.id for one in ready_tasks(reader, 99)]
            unblocked = unblocked_tasks(reader, 99)
            found = {row[0]: {one.task for one in open_needs_of(reader, row[0])} for row in rows}
        opened = {row[0]: set() if row[7] else self._open(row[0], status) for row in rows}
        assert found == opened
        free = [row[0] for row in order if row[1] == "READY" and not row[8] and not opened[row[0]]]
        assert ready == free
        assert unblocked == [
            row[0] for row in order if row[1] == "DEFINED" and not self._open(row[0], status)
        ]

    @precondition(lambda self: self.needs)
    @invariant()
    def every_step_is_legal(self) -> None:
        """New transitions are in the tables of their machines, and the exported log validates."""
        rows = self.query(
            "SELECT seq, machine, from_state, event, to_state FROM transitions"
            f" WHERE seq > {self.last_seq} ORDER BY seq"
        )
        for seq, machine, *step in rows:
            assert machine not in LEGAL or tuple(step) in LEGAL[machine], (machine, step)
            self.last_seq = seq
        if rows:
            export_logs(self.session.store, self.session.paths)
            assert (
                validate_log(Path(self.session.paths.transition_log).read_text().splitlines()) == []
            )

    # ------------------------------------------------------------------ parts
    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the database."""
        return self.rows.execute(sql).fetchall()

    def _open(self, task: str, status: dict[str, str]) -> set[str]:
        """Return the needs of a task that are not satisfied, counted from scratch."""
        return {
            on
            for on, until in self.needs[task].items()
            if status[on] != "COMPLETED" and not (until == "done" and status[on] in HANDED_IN)
        }

    def _depend(self, number: int, other: int, until: str) -> None:
        task, on = f"t{number}", f"t{other}"
        if self.call("depend", task, [on if until == "landed" else f"{on}:done"]):
            self.needs[task][on] = until

    def _drop(self, number: int, other: int) -> None:
        task, on = f"t{number}", f"t{other}"
        if self.call("depend", task, [on], drop=True):
            self.needs[task].pop(on, None)

    def _agent(self, number: int) -> int:
        """Return the process of an agent."""
        if number not in self.agents:
            self.agents[number] = subprocess.Popen(["sleep", "600"])
        return self.agents[number].pid

    def _bring_to_review(self, number: int) -> None:
        self.call("spawn", f"w{number}", f"t{number}")
        self._begin(number, f"w{number}")
        self._submit(number)

    def _begin(self, number: int, worker: str) -> None:
        self.call("start", worker, pid=self._agent(number))

    def _submit(self, number: int) -> None:
        """Commit a file of its own in the worktree of the worker, and hand it in."""
        rows = self.query(f"SELECT worktree FROM workers WHERE worker_id = 'w{number}'")
        if rows and rows[0][0] and os.path.isdir(rows[0][0]):
            self.commits += 1
            file = Path(rows[0][0], f"file-{number}")
            file.write_text(f"{self.commits}\n")
            self.call("submit", f"w{number}", commit_message="Work")
