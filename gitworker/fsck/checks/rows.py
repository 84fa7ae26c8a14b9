"""The database agrees with itself: rows with the log, workers with tasks, claims with workers."""

from collections.abc import Iterator
from functools import partial

from gitworker.claims.leases import Claim, all_claims, find_claim
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules_records import agree, holds_task, may_stay_open, waits_for_nothing
from gitworker.lifecycle.moves import advance_task
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import TaskId
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.states.task_machine import status_words
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.states.worker_machine import state_words
from gitworker.store.attention.questions import set_withdrawn
from gitworker.store.backend import expected_guards, restate, restore_guards
from gitworker.store.claims import release_claim
from gitworker.store.payloads.payload import Unreadable
from gitworker.store.records.findings import (
    EditedRow,
    broken_chains,
    edited_rows,
    find_damage,
    present_guards,
)
from gitworker.store.tasks import assign_task
from gitworker.store.workers import Worker

RESTORE = "restore bus.db from a copy: transitions are missing"


def check_database(picture: Picture) -> Iterator[Finding]:
    """Find damage that SQLite reports, and guards that are missing or changed."""
    session = picture.session
    with session.store.read() as reader:
        damage, present = find_damage(reader), present_guards(reader)
    for text in damage:
        yield Finding(
            "database_damaged", session.paths.database, f"the database is damaged: {text}",
            f"keep a copy of {session.paths.root}, then: sqlite3 bus.db .recover",
        )  # fmt: skip
    wrong = [
        name for name, sql in expected_guards(session.store).items() if present.get(name) != sql
    ]
    if wrong:
        names = ", ".join(sorted(wrong))
        yield Finding(
            "guard_gone", "bus.db",
            f"triggers that guard states and log are missing or changed: {names}",
            "creates them again", lambda session: restore_guards(session.store, wrong),
        )  # fmt: skip


def check_log(picture: Picture) -> Iterator[Finding]:
    """Find rows that differ from the log of transitions, and gaps in that log."""
    with picture.session.store.read() as reader:
        broken, wrong = broken_chains(reader), edited_rows(reader)
    torn = {(row.machine, row.entity_id) for row in broken}
    for row in broken:
        name = f"{row.machine} {row.entity_id}"
        yield Finding(
            "log_torn", name,
            f"transition {row.version} of {name} begins at {row.from_state}, but transition"
            f" {row.before_version} ended at {row.before_state}",
            RESTORE,
        )  # fmt: skip
    for machine, rows in wrong.items():
        for edited in rows:
            yield _edited(machine, edited, is_torn=(machine, edited.entity) in torn)


def _edited(machine: str, row: EditedRow, *, is_torn: bool) -> Finding:
    entity, state, version = row.entity, row.logged_state, row.logged_version
    name = f"{machine} {entity}"
    message = (
        f"the row of {name} has state {row.state} (version {row.version}), the log of"
        f" transitions ends at {state} (version {version})"
    )
    if is_torn or row.version > version:  # the log has lost transitions
        return Finding("row_edited", name, message, RESTORE)
    repair = partial(_restate, machine=machine, entity=entity, state=state, version=version)
    return Finding("row_edited", name, message, "sets the row to the state of the log", repair)


def _restate(session: Session, *, machine: str, entity: str, state: str, version: int) -> None:
    restate(session.store, machine, entity, state=state, version=version)
    if machine == "worker":
        publish_views(session, entity)


def check_journal(picture: Picture) -> Iterator[Finding]:
    """Find interrupted operations, and rows of the journal that cannot be read."""
    for one in picture.operations:
        name = f"operation {one.id}"
        if isinstance(one.data, Unreadable):
            yield Finding(
                "journal_broken", name,
                f"the journal's row of {one.kind} {one.id} of {one.worker} cannot be read",
                f"git worker show {one.worker}   # shows whether the operation was carried out",
            )  # fmt: skip
        elif one.is_open and not picture.at_work:
            yield Finding(
                "journal_open", name,
                f"{one.kind} {one.id} of {one.worker} was interrupted at step {one.step}",
                "finishes it or rolls it back, as other commands do", _recover, locks_itself=True,
            )  # fmt: skip


def _recover(session: Session) -> None:
    from gitworker.journal.recover import finish_interrupted, finish_spawns

    finish_interrupted(session)
    with hold(session.worktree_lock, name="worktree"):
        finish_spawns(session)


def check_assignments(picture: Picture) -> Iterator[Finding]:
    """Find workers whose task is missing, shared, assigned elsewhere or in another state."""
    by_task: dict[TaskId, list[Worker]] = {}
    for worker in picture.workers:
        if holds_task(worker.state):
            by_task.setdefault(worker.task, []).append(worker)
    for name, workers in by_task.items():
        task = picture.tasks.get(name)
        worker, last = workers[0], workers[-1].worker_id
        names = ", ".join(one.worker_id for one in workers)
        if task is None:
            yield Finding(
                "task_unknown", names, f"task {name} of {names} does not exist",
                f"git worker cancel {worker.worker_id}",
            )  # fmt: skip
        elif len(workers) > 1:
            message = f"{names} have the same task, {name}"
            yield Finding("task_twice", name, message, f"git worker cancel {last}")
        elif task.assigned_agent_id != worker.worker_id:
            other = task.assigned_agent_id
            holder = f"assigned to {other}" if other else "not assigned"
            yield Finding(
                "task_assigned_elsewhere", name,
                f"{worker.worker_id} has task {name}, but the task is {holder}",
                f"assigns it to {worker.worker_id}", partial(_assign, worker=worker, task=name),
            )  # fmt: skip
        elif not agree(worker.state, task.status):
            yield Finding(
                "states_differ", name,
                f"{worker.worker_id} {state_words(worker.state, worker.stale_from)}, but its task"
                f" {name} {status_words(task.status)}",
                f"git worker cancel {worker.worker_id} && git worker undo",
            )  # fmt: skip


def _assign(session: Session, *, worker: Worker, task: TaskId) -> None:
    with session.store.write() as writer:
        assign_task(writer, task, agent=worker.worker_id, branch=worker.branch)


def check_claims(picture: Picture) -> Iterator[Finding]:
    """Find expired claims on tasks whose holder does not work on them."""
    holders = {
        (worker.task_id, worker.worker_id) for worker in picture.workers if holds_task(worker.state)
    }
    with picture.session.store.read() as reader:
        claims = all_claims(reader)
    for claim in claims:
        if claim.is_valid or claim.name not in picture.tasks:
            continue
        if (claim.name, claim.holder) not in holders:
            yield Finding(
                "claim_left", claim.name,
                f"{claim.holder} has an expired claim on {claim.name} and does not work on it",
                "releases the claim", partial(_release, claim=claim),
            )  # fmt: skip


def _release(session: Session, *, claim: Claim) -> None:
    with session.store.write() as writer:
        now = find_claim(writer, claim.name)
        if now is not None and not now.is_valid and now.epoch == claim.epoch:
            release_claim(writer, claim.name, claim.holder)


def check_questions(picture: Picture) -> Iterator[Finding]:
    """Find tasks that wait for an answer without a question, and questions without such a task."""
    states: dict[str, list[str]] = {}
    for one in picture.questions:
        states.setdefault(one.task_id, []).append(one.state)
        task = picture.tasks.get(one.task_id)
        if not may_stay_open(one.state, task.status if task else None):
            status = status_words(task.status) if task else "does not exist"
            yield Finding(
                "question_left", f"question {one.id}",
                f"question {one.id} of {one.worker_id} waits for an answer, but its task"
                f" {one.task_id} {status}",
                "withdraws the question", partial(_withdraw, question=one.id),
            )  # fmt: skip
    for worker in picture.workers:
        task = picture.tasks.get(worker.task)
        if task is None or task.assigned_agent_id != worker.worker_id:
            continue
        if waits_for_nothing(task.status, states.get(task.id, ())):
            yield Finding(
                "question_gone", task.id,
                f"task {task.id} waits for an answer, but {worker.worker_id} has no open question",
                "lets the task continue", partial(_go_on, worker=worker),
            )  # fmt: skip


def _withdraw(session: Session, *, question: int) -> None:
    with session.store.write() as writer:
        set_withdrawn(writer, question)


def _go_on(session: Session, *, worker: Worker) -> None:
    with session.store.write() as writer:
        advance_task(writer, worker, WorkerTaskEvent.REPLY, actor=session.actor)
    publish_views(session, worker.worker_id)
