"""Queues of 1,000 and of 100,000 tasks: a tick of a run and the views; a run that only waits.

Also the time from READY to the start of the agent, and the speed of the machines alone.
"""

import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from benchmarks.bus_scene import percentile
from benchmarks.measure import Failed, Sample, interleave, resident_mib, time_call, used_s
from benchmarks.results import Result, compare, shown
from benchmarks.scene import PYTHON, Scene
from gitworker.app import open_session
from gitworker.lifecycle.assign import Assignment, record_assignment
from gitworker.lifecycle.moves import advance, bring_to_work
from gitworker.model.ids import HQ, Branch, Oid, TaskId, WorkerId
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerEvent
from gitworker.orchestrator.facts import read_picture
from gitworker.orchestrator.rules_next import Limits, decide
from gitworker.session import Session
from gitworker.store.tasks import all_task_ids, require_stored_task
from gitworker.store.workers import load_worker
from gitworker.tasks.plan.import_plan import import_plan

FEW, MANY = 1000, 100_000
READY = 300
IDLE_S = 30.0
IDLE_MIB = 60.0
IDLE_PERCENT = 0.5
TICK_MS = 50.0
# Half of all starts, and 95 % of them; a bare interpreter starts in 12 ms on an idle machine.
START_MS = (60.0, 150.0)
STEPS_A_SECOND = 100.0
WINDOW = 16  # agents at work at once, whose tasks land together
AGENT = """\
#!/bin/sh
: >"$GITWORKER_BENCH/began"
test "$GITWORKER_TASK" != first || exec sleep 600
echo "$GITWORKER_TASK" >"$GITWORKER_TASK.txt"
git add -A
git commit -qm "$GITWORKER_TASK"
"""
COMMANDS = (("task", "ready"), ("status",), ("task", "why", f"t{READY + 1}"))


def measure_tasks(scene: Scene) -> Iterator[Result]:
    """Measure that a tick and the views cost the same among 100,000 tasks."""
    few, many = _queue(scene, "few", FEW), _queue(scene, "many", MANY)
    for command in COMMANDS:
        argv = ("git-worker", *command)
        samples = interleave(
            {
                "many": lambda argv=argv: scene.time(many, *argv),  # type: ignore[misc]
                "few": lambda argv=argv: scene.time(few, *argv),  # type: ignore[misc]
            },
            rounds=scene.count(15),
        )
        yield compare(
            f"`{' '.join(command)}` among {MANY:,} tasks against {FEW:,}",
            ours=(f"git-worker {' '.join(command)} ({MANY:,})", samples["many"]),
            theirs=(f"git-worker {' '.join(command)} ({FEW:,})", samples["few"]),
            at_most=1.3,
        )
    ticks = interleave(
        {"many": lambda: _tick(many), "few": lambda: _tick(few)}, rounds=scene.count(40)
    )
    yield _below("a look and a decision of `run` among 100,000 tasks", ticks["many"], TICK_MS)
    yield _idle(scene)
    for pool in (0, 2):
        yield _starts(scene, pool)
    yield _steps(scene)


def _queue(scene: Scene, name: str, number: int) -> Path:
    """Return a repository with tasks of which 300 are READY and the others wait for one."""
    root = scene.small_repository(name)
    lines = [
        {"id": f"t{index}", "title": f"Task {index}", "needs": ["t0"] if index > READY else []}
        for index in range(number)
    ]
    plan = scene.folder / f"{name}.jsonl"
    plan.write_text("\n".join(map(json.dumps, lines)) + "\n")
    scene.worker(root, "task", "import", str(plan))
    scene.settle()
    return root


def _tick(root: Path) -> float:
    """Return the milliseconds of the reads and of the decision of one tick."""
    with _session_of(root) as session:

        def look() -> None:
            picture = read_picture(session, "command", agents=4, skipped={}, refused={}, tested={})
            limits = Limits(4, lands=True, rounds=3)
            plan = decide(picture.facts, limits, agent="command", now=0)
            assert len(plan.actions) == 4

        return time_call(look)


@contextmanager
def _session_of(root: Path) -> Iterator[Session]:
    """Give an open repository; it is closed afterwards."""
    with chdir(root):
        session = open_session(identity=None)
    yield session
    session.store.close()


def _below(name: str, sample: Sample, most_ms: float) -> Result:
    figure = f"{sample.median:.1f} ms"
    return Result(name, f"≤ {most_ms:g} ms", sample.median <= most_ms, figure)


def _idle(scene: Scene) -> Result:
    """Return the processor time and the memory of a run whose only agent does nothing."""
    root = scene.small_repository("idle")
    scene.worker(root, "task", "add", "idle", "--title", "Wait")
    argv = ["git-worker", "run", "-j", "1", "--", "sleep", str(IDLE_S * 2)]
    run = subprocess.Popen(
        argv, cwd=root, env=dict(scene.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(5)  # until its agent has begun
        # The run, and the process from which it starts agents.
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        pids = [run.pid, *map(int, children)]
        before_s = sum(map(used_s, pids))
        time.sleep(IDLE_S)
        idle_s = sum(map(used_s, pids)) - before_s
        mib = sum(map(resident_mib, pids))
    except OSError as error:
        raise Failed(f"the run ended early: {error}") from error
    finally:
        run.kill()  # the end of the scene ends its agent
        run.wait()
    percent = 100 * idle_s / IDLE_S
    return Result(
        "a run that waits for an agent: processor and memory",
        f"< {IDLE_PERCENT:g} %, < {IDLE_MIB:g} MiB", percent < IDLE_PERCENT and mib < IDLE_MIB,
        f"{percent:.2f} %, {mib:.0f} MiB", our_command=" ".join(argv),
    )  # fmt: skip


def _starts(scene: Scene, pool: int) -> Result:
    """Return the time from READY to the first step of the agent, in a run that waits.

    Beside it is the start of a bare interpreter, by which two machines compare.
    """
    root = scene.small_repository(f"starts{pool}")
    scene.git(root, "config", "worker.worktree.pool", str(pool))
    began = scene.folder / "began"
    if not began.exists():
        os.mkfifo(began)  # opening it waits for the agent
    agent = scene.folder / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    argv = ["git-worker", "run", "-j", "2", "--", str(agent)]
    bare = (PYTHON, "-I", "-S", "-c", "pass")
    scene.worker(root, "task", "add", "first", "--title", "Keep the run alive")
    with _session_of(root) as session:
        run = subprocess.Popen(
            argv, cwd=root, env=dict(scene.env), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            os.close(os.open(began, os.O_RDONLY))
            taken = interleave(
                {
                    "start": lambda: _start(scene, session, root, began),
                    "bare": lambda: scene.time(root, *bare),
                },
                rounds=scene.count(30), settle=scene.settle,
            )  # fmt: skip
        finally:
            run.kill()  # the end of the scene ends its agents
            run.wait()
    found = taken["start"].median, percentile(taken["start"].times, 95)
    bare_ms = taken["bare"].median
    kept = all(ms <= most for ms, most in zip(found, START_MS, strict=True))
    return Result(
        f"from READY to the start of the agent, {pool or 'no'} worktrees made ahead",
        f"median ≤ {START_MS[0]:g} ms, 95 % ≤ {START_MS[1]:g} ms",
        kept, f"{found[0]:.0f} ms, 95 % {found[1]:.0f} ms; {found[0] / bare_ms:.1f} × bare",
        shown(taken["start"]), shown(taken["bare"]), "git-worker run -j 2 -- ./agent.sh",
        "python -I -S -c pass",
    )  # fmt: skip


def _start(scene: Scene, session: Session, root: Path, began: Path) -> float:
    """Return the milliseconds between the record of a new READY task and its agent."""
    with session.store.read() as reader:
        name = f"t{len(all_task_ids(reader))}"
    scene.worker(root, "task", "add", name, "--title", "Begin")
    os.close(os.open(began, os.O_RDONLY))
    now_ms = time.time() * 1000
    with session.store.read() as reader:
        task = require_stored_task(reader, TaskId(name))
    return now_ms - task.created_at_ms  # it needs no other: READY at once


def _steps(scene: Scene) -> Result:
    """Return how many tasks a second pass all machines, from the plan to COMPLETED, without git."""
    root = scene.small_repository("steps")
    base = Oid(scene.git(root, "rev-parse", "HEAD"))
    with _session_of(root) as session:
        times = [_pass(session, base, scene.folder / f"{n}.jsonl") for n in range(scene.count(30))]
    speed = WINDOW * 1000 / statistics.median(times)
    return Result(
        "tasks that pass the machines without git, a second", f"≥ {STEPS_A_SECOND:g}",
        speed >= STEPS_A_SECOND, f"{speed:.0f}",
    )  # fmt: skip


def _pass(session: Session, base: Oid, plan: Path) -> float:
    """Return the milliseconds of a window of tasks, with the transactions of the use cases."""
    names = [f"{plan.stem}-{number}" for number in range(WINDOW)]
    plan.write_text("\n".join(json.dumps({"id": name, "title": "Pass"}) for name in names))

    def work() -> None:
        import_plan(session, str(plan))
        for number, name in enumerate(names):
            _hand_in(session, WorkerId(f"w{number}"), TaskId(name), base)
        with session.store.write() as writer:
            for number in range(WINDOW):
                worker = load_worker(writer, WorkerId(f"w{number}"))
                advance(writer, worker, WorkerEvent.MERGE, actor=HQ)

    took = time_call(work)
    with session.store.read() as reader:
        ends = {require_stored_task(reader, TaskId(name)).status for name in names}
    assert ends == {TaskStatus.COMPLETED}
    return took


def _hand_in(session: Session, worker: WorkerId, task: TaskId, base: Oid) -> None:
    """Assign a task to a worker, start it, hand it in and approve it."""
    place = f"/nonexistent/{task}"
    new = Assignment(worker, task, "", Branch(f"{worker}/{task}"), base, place, place)
    with session.store.write() as writer:
        record_assignment(writer, session, new)
    with session.store.write() as writer:
        bring_to_work(writer, load_worker(writer, worker), actor=HQ)
    for event in (WorkerEvent.SUBMIT, WorkerEvent.APPROVE):
        with session.store.write() as writer:
            advance(writer, load_worker(writer, worker), event, actor=HQ)
