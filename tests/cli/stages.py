"""The states of workers and the statuses of tasks, each as a function that brings one there."""

import contextlib
from collections.abc import Callable

import pytest

from gitworker import clock
from gitworker.bus.drain import drain
from gitworker.errors import Conflict
from gitworker.lifecycle.fail import fail, pause
from gitworker.lifecycle.moves import advance
from gitworker.model.worker import WorkerEvent
from gitworker.questions.ask import ask
from gitworker.review.comments.send import reject
from gitworker.service.service import open_repository
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.workers.cancel import cancel
from gitworker.workers.task_verbs.change import stop_task
from tests.workers.world import World

Stage = Callable[[World, str, str], None]


def assigned(world: World, worker: str, task: str) -> None:
    """Give a worker a task."""
    world.spawn(worker, task)


def working(world: World, worker: str, task: str) -> None:
    """Let a worker commit."""
    world.working(worker, task, {worker: "1\n"})


def in_review(world: World, worker: str, task: str) -> None:
    """Let a worker hand its work in."""
    world.in_review(worker, task, {worker: "1\n"})


def approved(world: World, worker: str, task: str) -> None:
    """Approve a worker's work."""
    world.approved(worker, task, {worker: "1\n"})


def completed(world: World, worker: str, task: str) -> None:
    """Land a worker's work."""
    approved(world, worker, task)
    world.land(worker)


def idle(world: World, worker: str, task: str) -> None:
    """Cancel a worker's task."""
    working(world, worker, task)
    cancel(world.session(), worker)


def failed(world: World, worker: str, task: str) -> None:
    """Let a worker fail."""
    working(world, worker, task)
    fail(world.session(), worker, reason="no network")


def returned(world: World, worker: str, task: str) -> None:
    """Request changes of a worker's work."""
    in_review(world, worker, task)
    reject(world.session(), worker, note="more tests")


def asking(world: World, worker: str, task: str) -> None:
    """Let a worker wait for an answer."""
    working(world, worker, task)
    with contextlib.suppress(Conflict):
        ask(world.session(identity=worker), "Which port?", wait_s=0)


def paused(world: World, worker: str, task: str) -> None:
    """Let a worker reach the limit of its model's vendor."""
    working(world, worker, task)
    pause(world.session(), worker, until_ms=clock.now_ms() + 3_600_000)


def stopped(world: World, worker: str, task: str) -> None:
    """Stop the work on a task."""
    working(world, worker, task)
    stop_task(world.session(), task, reason="wrong direction")


def stale(world: World, worker: str, task: str) -> None:
    """Let a worker at work become stale."""
    working(world, worker, task)
    make_stale(world, worker, WorkerEvent.HEARTBEAT_TIMEOUT)


def stale_in_review(world: World, worker: str, task: str) -> None:
    """Let a worker in review become stale."""
    in_review(world, worker, task)
    make_stale(world, worker, WorkerEvent.REVIEW_TIMEOUT)


def make_stale(world: World, name: str, event: WorkerEvent) -> None:
    """Fire the time-out one second from now: later than the heartbeat of the worker's commit."""
    drain(world.session())
    worker = world.worker(name)
    with pytest.MonkeyPatch.context() as patched, world.session().store.write() as writer:
        patched.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + 1000))
        writer.run("workers.set_stale_from", worker=name, stale_from=worker.state)
        advance(writer, worker, event, actor="hq")


def ready(world: World, _: str, task: str) -> None:
    """Add a task to the queue."""
    open_repository(str(world.root)).add_task(task, TaskFields(text="Build it"))


def defined(world: World, worker: str, task: str) -> None:
    """Let a task wait for another one."""
    ready(world, worker, f"first-{task}")
    open_repository(str(world.root)).add_task(task, TaskFields(), needs=[f"first-{task}"])


def held(world: World, worker: str, task: str) -> None:
    """Hold a task back."""
    ready(world, worker, task)
    open_repository(str(world.root)).hold_task(task)


def awaiting_approval(world: World, worker: str, task: str) -> None:
    """Let a person approve the work on a task."""
    fields = TaskFields(text="Build it", requires_approval=True)
    open_repository(str(world.root)).add_task(task, fields)
    approved(world, worker, task)


def cancelled(world: World, worker: str, task: str) -> None:
    """Withdraw a task."""
    ready(world, worker, task)
    open_repository(str(world.root)).cancel_task(task)


OF_WORKERS: tuple[Stage, ...] = (
    idle, assigned, working, asking, paused, returned, in_review, approved, stale, stale_in_review,
    failed, completed,
)  # fmt: skip
OF_TASKS: dict[str, Stage] = {
    "DEFINED": defined, "READY": ready, "READY_held": held, "ASSIGNED": assigned,
    "IN_PROGRESS": working, "WAITING_INPUT": asking, "PAUSED": paused, "VERIFYING": in_review,
    "AWAITING_APPROVAL": awaiting_approval, "COMPLETED": completed, "FAILED": failed,
    "BLOCKED": stopped, "CANCELLED": cancelled,
}  # fmt: skip
