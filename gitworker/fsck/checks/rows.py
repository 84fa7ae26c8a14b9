"""The database agrees with itself: rows with the log, seats with tasks, claims with seats."""

from collections.abc import Iterator

from gitworker.claims.leases import Claim, all_claims, find_claim
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import Picture
from gitworker.fsck.rules import agree, holds_task
from gitworker.lifecycle.state_files import publish_views
from gitworker.repo.plumbing.lock import hold
from gitworker.session import Session
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


def check_database(picture: Picture) -> Iterator[Finding]:
    """Find damage that SQLite sees, and guards that are gone or others than ours."""
    session = picture.session
    with session.store.read() as reader:
        damage, present = find_damage(reader), present_guards(reader)
    for text in damage:
        yield Finding(
            "database_damaged", session.paths.database, f"the database is damaged: {text}",
            f"keep a copy of {session.paths.root}, then: sqlite3 bus.db .recover",
        )  # fmt: skip
    wrong = [name for name, sql in expected_guards().items() if present.get(name) != sql]
    if wrong:
        yield Finding(
            "guard_gone", "bus.db",
            f"triggers that guard states and log are gone, or not ours: {', '.join(sorted(wrong))}",
            "makes them again", lambda s: restore_guards(s.store, wrong),
        )  # fmt: skip


def check_log(picture: Picture) -> Iterator[Finding]:
    """Find rows that are not what the log made of them, and a log that does not follow."""
    with picture.session.store.read() as reader:
        broken, wrong = broken_chains(reader), edited_rows(reader)
    torn = {(row.machine, row.entity_id) for row in broken}
    for row in broken:
        yield Finding(
            "log_torn", f"{row.machine} {row.entity_id}",
            f"transition {row.version} of {row.machine} {row.entity_id} begins at"
            f" {row.from_state}; the one before it, {row.before_version}, ended at"
            f" {row.before_state}",
            "restore bus.db from a copy: transitions are missing",
        )  # fmt: skip
    for machine, rows in wrong.items():
        for edited in rows:
            yield _edited(machine, edited, is_torn=(machine, edited.entity) in torn)


def _edited(machine: str, row: EditedRow, *, is_torn: bool) -> Finding:
    entity, state, version = row.entity, row.logged_state, row.logged_version
    what = (
        f"the row of {machine} {entity} says {row.state} ({row.version}), the log of"
        f" transitions {state} ({version})"
    )
    where = f"{machine} {entity}"
    if is_torn or row.version > version:  # then it is the log that has lost something
        return Finding(
            "row_edited", where, what, "restore bus.db from a copy: transitions are missing"
        )

    def mend(session: Session) -> None:
        restate(session.store, machine, entity, state=state, version=version)
        if machine == "worker":
            publish_views(session, entity)

    return Finding("row_edited", where, what, "sets the row to what the log says", mend)


def check_journal(picture: Picture) -> Iterator[Finding]:
    """Find acts that were interrupted, and rows of the journal that nobody can read."""
    for act in picture.acts:
        where = f"operation {act.id}"
        if isinstance(act.data, Unreadable):
            yield Finding(
                "journal_broken", where,
                f"the journal's row of {act.kind} {act.id} ({act.worker}) holds no data",
                f"git worker show {act.worker}   (look whether it was carried out)",
            )  # fmt: skip
        elif act.is_open and not picture.at_work:
            yield Finding(
                "journal_open", where,
                f"{act.kind} {act.id} of {act.worker} was interrupted at step {act.step}",
                "finishes it or takes it back, as every command does", _recover, locks_itself=True,
            )  # fmt: skip


def _recover(session: Session) -> None:
    from gitworker.journal.recover import finish_interrupted, finish_spawns

    finish_interrupted(session)
    with hold(session.worktree_lock, name="worktree"):
        finish_spawns(session)


def check_seats(picture: Picture) -> Iterator[Finding]:
    """Find seats whose task does not know of them, or stands elsewhere than they do."""
    holders = {worker.worker_id: worker for worker in picture.workers if holds_task(worker.state)}
    by_task: dict[str, list[Worker]] = {}
    for worker in holders.values():
        by_task.setdefault(worker.task, []).append(worker)
    for name, seats in by_task.items():
        task = picture.tasks.get(name)
        named = ", ".join(seat.worker_id for seat in seats)
        if task is None:
            yield Finding(
                "task_unknown", named, f"{named} has the task {name}, which does not exist",
                f"git worker cancel {seats[0].worker_id}",
            )  # fmt: skip
            continue
        if len(seats) > 1:
            yield Finding(
                "task_twice", name, f"{named} have the same task, {name}",
                f"git worker cancel {seats[-1].worker_id}",
            )  # fmt: skip
            continue
        (seat,) = seats
        if task.assigned_agent_id != seat.worker_id:
            yield Finding(
                "task_assigned_elsewhere", name,
                f"{seat.worker_id} has {name}, which is assigned to"
                f" {task.assigned_agent_id or 'nobody'}",
                "assigns it to the seat that has it", _assign(seat, name),
            )  # fmt: skip
        elif not agree(seat.state, task.status):
            yield Finding(
                "states_differ", name,
                f"{seat.worker_id} is {seat.state} while its task {name} is {task.status}",
                f"git worker cancel {seat.worker_id} && git worker undo",
            )  # fmt: skip


def _assign(seat: Worker, task: str) -> Repair:
    def mend(session: Session) -> None:
        with session.store.write() as writer:
            assign_task(writer, task, agent=seat.worker_id, branch=seat.branch)

    return mend


def check_claims(picture: Picture) -> Iterator[Finding]:
    """Find tasks whose claim ran out and whose holder is not at work on them."""
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
                f"{claim.holder} has claimed {claim.name}, its lease is over and it is not at work"
                " on it",
                "gives the claim back", _give_back(claim),
            )  # fmt: skip


def _give_back(claim: Claim) -> Repair:
    def mend(session: Session) -> None:
        with session.store.write() as writer:
            now = find_claim(writer, claim.name)
            if now is not None and not now.is_valid and now.epoch == claim.epoch:
                release_claim(writer, claim.name, claim.holder)

    return mend
