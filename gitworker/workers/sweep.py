"""What became due by the passing of time, applied by whoever looks: no daemon is needed."""

from gitworker.bus.transitions import move_task
from gitworker.errors import Conflict
from gitworker.liveness.beater import ensure_beater, is_beating
from gitworker.liveness.readings import process_runs, read_beats, this_moment
from gitworker.liveness.rules import (
    Beat,
    Facts,
    Moment,
    beat_age_ms,
    due_event,
    is_at_work,
    may_time_out,
)
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerEvent
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.heartbeats import touch
from gitworker.store.tasks import find_task, require_stored_task
from gitworker.store.workers import Worker, all_workers, find_worker
from gitworker.workers.moves import advance, release_task
from gitworker.workers.rules import waits_for_retry
from gitworker.workers.views import publish_views
from gitworker.workers.whereabouts import follow_moves


def sweep(session: Session) -> list[str]:
    """Apply what is due: stale, recovered and expired seats, retries whose back-off is over.

    Returns the workers that changed. A seat whose process runs while its beater has died is
    beaten for and gets a new beater: being busy is never taken for being dead.
    """
    moment = this_moment()
    with session.store.read() as reader:
        workers = all_workers(reader)
        beats = read_beats(reader)
        retries = [row["id"] for row in reader.rows("tasks.due_retries", now=moment.now_ms)]
    follow_moves(session, workers)
    _revive(session, workers, beats, moment)
    with session.store.read() as reader:
        beats = read_beats(reader)
        due = [(w, e) for w in workers if (e := _due(session, reader, w, (beats, moment)))]
    changed = []
    for worker, event in due:
        if _apply(session, worker, event):
            changed.append(worker.worker_id)
    for task in retries:
        _retry(session, task)
    if changed or retries:
        publish_views(session, *changed)
    return changed


def _due(
    session: Session, reader: Reader, worker: Worker, known: tuple[dict[str, Beat], Moment]
) -> WorkerEvent | None:
    beats, moment = known
    if not may_time_out(worker.state):
        return None
    task = find_task(reader, worker.task_id) if worker.task_id else None
    facts = Facts(
        state=worker.state,
        stale_from=worker.stale_from,
        changed_at_ms=worker.state_changed_at_ms,
        beat=beats.get(worker.worker_id),
        process_runs=process_runs(worker, moment),
        task_status=task.status if task else None,
    )
    return due_event(facts, moment, session.settings)


def _revive(
    session: Session, workers: list[Worker], beats: dict[str, Beat], moment: Moment
) -> None:
    silent_ms = session.settings.liveness_warn_s * 1000
    silent = [
        worker
        for worker in workers
        if is_at_work(worker.state)
        and worker.pid is not None
        and (worker.worker_id not in beats
             or beat_age_ms(beats[worker.worker_id], moment) >= silent_ms)
        and process_runs(worker, moment)
    ]  # fmt: skip
    if not silent or is_beating(session.paths):
        return
    with session.store.write(durable=False) as writer:
        for worker in silent:
            touch(writer, worker.worker_id, task=worker.task_id)
    ensure_beater(session.paths, every_s=session.settings.liveness_beat_s)


def _apply(session: Session, seen: Worker, event: WorkerEvent) -> bool:
    try:
        with session.store.write() as writer:
            worker = find_worker(writer, seen.worker_id)
            if worker is None or worker.version != seen.version:
                return False
            if event in (WorkerEvent.HEARTBEAT_TIMEOUT, WorkerEvent.REVIEW_TIMEOUT):
                writer.run(
                    "workers.set_stale_from", worker=worker.worker_id, stale_from=worker.state
                )
            _move(writer, worker, event)
    except Conflict:  # somebody acted meanwhile: what is due is looked at again next time
        return False
    return True


def _move(writer: Writer, worker: Worker, event: WorkerEvent) -> None:
    advance(writer, worker, event, actor="hq", metadata={"reason": "timeout"})
    if event is WorkerEvent.RECOVER:
        writer.run("workers.set_stale_from", worker=worker.worker_id, stale_from=None)
    if event is WorkerEvent.EXPIRE:
        writer.run(
            "workers.set_error", worker=worker.worker_id, error="no sign of life for too long"
        )
        release_task(writer, worker)


def _retry(session: Session, task_id: str) -> None:
    with session.store.write() as writer:
        task = require_stored_task(writer, task_id)
        if waits_for_retry(task.status) and task.retries_left:
            move_task(writer, task, (TaskEvent.RETRY,), actor="hq")
