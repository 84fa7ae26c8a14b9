"""The inbox of `hq`: the workers that need a person, open questions and unread messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.liveness.supervised_agent import workers_of_living_run
from gitworker.model.ids import HQ
from gitworker.observe.inbox.findings import troubles_of_others, with_findings
from gitworker.observe.inbox.inbox import Inbox, InboxItem
from gitworker.observe.inbox.mail import message_item
from gitworker.observe.inbox.rules_messages import READ, answer_command
from gitworker.observe.inbox.rules_needs import (
    BLOCKED,
    BUDGET,
    FAILED,
    IDLE,
    LANDING,
    MESSAGE,
    PAUSED,
    QUESTION,
    RETURNED,
    REVIEW,
    URGENCY,
    budget_command,
    budget_words,
    can_be_answered,
    is_asked,
    is_open_question,
    is_retried,
    need_of,
    stops_work,
)
from gitworker.observe.last_run import LastRun, read_last_run
from gitworker.observe.next_step.goes_on import goes_on
from gitworker.observe.next_step.next_command import read_next_steps, read_worker_refs
from gitworker.observe.usage_limit import find_hold
from gitworker.observe.workers.returned import returned_text, returned_work
from gitworker.observe.workers.rules_worker import end_text, is_returned
from gitworker.repo.plumbing.repository_lock import is_held
from gitworker.store.attention.questions import find_question, unanswered_questions
from gitworker.store.heartbeats import all_heartbeats
from gitworker.store.messages.inboxes import unanswered_messages
from gitworker.store.messages.mailbox import cursor_of, find_message
from gitworker.store.messages.transitions import came_by_undo, why_withdrawn
from gitworker.store.records.reviews import find_review
from gitworker.store.records.screens import read_worker_rows
from gitworker.store.scheduling.usage import used_budgets
from gitworker.store.tasks import find_task, find_task_text
from gitworker.store.windows import newest_windows
from gitworker.store.workers import all_workers, find_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.repo.worktrees.trouble import Trouble
    from gitworker.session import Session
    from gitworker.states.question import Question
    from gitworker.store.api import Reader
    from gitworker.store.messages.mailbox import StoredMessage
    from gitworker.store.windows import QueueWindow
    from gitworker.store.workers import Worker

WINDOWS_READ = 20
OUTCOMES: dict[str | None, str] = {None: "cut off", "cut_off": "cut off"}


def read_needs(session: Session, *, limit: int) -> Inbox:
    """Read the needs in one snapshot, the most urgent first, then the oldest.

    Nothing is acknowledged: a need ends when it is settled, a message when it is read or answered.
    """
    is_landing = is_held(session.queue_lock)
    with session.store.read() as reader:
        workers = _with_next_commands(
            reader, session, list(_workers(reader, session, is_landing=is_landing))
        )
        messages = list(_messages(reader, session, limit + 1))
        known = {one.source for one in (*workers, *messages) if one.kind != MESSAGE}
        troubles = troubles_of_others(reader, session, known)
        named = {(one.task, one.command) for one in workers}  # a paused worker names its budget
        budgets = [one for one in _budgets(reader) if (one.task, one.command) not in named]
        items = [*workers, *troubles, *budgets, *messages]
    items.sort(key=lambda item: (URGENCY.index(item.kind), item.since_ms))
    shown = with_findings(session, items[:limit])
    return Inbox(session.actor, clock.now_ms(), tuple(shown), has_more=len(items) > limit)


def _workers(reader: Reader, session: Session, *, is_landing: bool) -> Iterator[InboxItem]:
    """Yield the workers that need a person.

    Approved ones do not while a queue lands them, failed ones not while a run retries them, and
    returned ones not if their agent starts again by itself.
    """
    of_run = workers_of_living_run(reader, session.paths)
    blocked = {one.agent_id for one in all_heartbeats(reader) if one.status == BLOCKED}
    for worker in all_workers(reader):
        last = read_last_run(session, reader, worker)
        limit = _limit(reader, worker)
        is_blocked = limit is not None or worker.worker_id in blocked
        kind = need_of(
            worker.state, stale_from=worker.stale_from, waits_for_author=worker.waits_for_author,
            is_blocked=is_blocked, is_idle=last is not None and last.end is not None,
            is_paused=last is not None and last.paused_at_ms is not None,
        )  # fmt: skip
        if kind == FAILED and worker.worker_id in of_run and _is_retried(reader, worker):
            continue
        if kind == RETURNED and goes_on(session, reader, worker):
            continue
        is_held = kind == LANDING and came_by_undo(reader, worker.worker_id, worker.version)
        if kind is not None and (is_held or not (kind == LANDING and is_landing)):
            yield InboxItem(
                kind,
                worker.worker_id,
                limit.words if limit else _reason(reader, worker, kind, last),
                worker.state_changed_at_ms,
                command=limit.command if limit else _own_command(kind, worker.worker_id),
                task=worker.task_id,
            )


def _is_retried(reader: Reader, worker: Worker) -> bool:
    task = find_task(reader, worker.task)
    return task is not None and is_retried(task.status)


def _limit(reader: Reader, worker: Worker) -> Trouble | None:
    """Return the limit for which a worker at work waits, or its late answer, or None."""
    task = None if worker.task_id is None else find_task(reader, worker.task_id)
    return find_hold(reader, worker, task.status if task else None)


def _reason(reader: Reader, worker: Worker, kind: str, last: LastRun | None) -> str:
    """Return the reason in words: the note, the error, the verdict or the stopped landing."""
    if kind == REVIEW:
        if why := why_withdrawn(reader, worker):
            return f"the approval is withdrawn: {why}"
        review = find_review(reader, worker.worker_id, worker.task_id, "requested")
        return (review.note if review else "") or _task_words(reader, worker)
    if kind == LANDING:
        if came_by_undo(reader, worker.worker_id, worker.version):
            return f"{worker.task} is approved, and its landing waits for you since an undo"
        return _landing_text(worker, newest_windows(reader, WINDOWS_READ))
    if kind == RETURNED:
        returned = returned_work(worker)
        return returned_text(returned) if returned else worker.task
    if kind == PAUSED:
        return "its agent is paused"
    if kind == IDLE and last is not None:
        ended = ": ".join([end_text(last.end), *last.lines[-1:]])
        return "; ".join(filter(None, (_conflict(worker), ended)))
    reason = "; ".join(filter(None, (_conflict(worker), worker.last_error))) or worker.task
    if last is not None and last.has_failed and last.result.reason == worker.last_error:
        lines = () if last.result.failure else last.lines[-1:]  # the reason has its words already
        return ": ".join([reason, *lines])
    return reason


def _conflict(worker: Worker) -> str:
    """Return the conflict for which work came back, with its files; "" if it is settled."""
    returned = returned_work(worker) if is_returned(worker.state) else None
    return returned_text(returned) if returned and returned.files else ""


def _task_words(reader: Reader, worker: Worker) -> str:
    """Return the id of the worker's task with its title, or else the first line of its text."""
    task = find_task(reader, worker.task)
    text = (task.title if task else "") or find_task_text(reader, worker.task)
    words = text.strip().partition("\n")[0]
    return f"{worker.task}: {words}" if words else worker.task


def _landing_text(worker: Worker, windows: list[QueueWindow]) -> str:
    """Return the fact that an approved worker has not landed, with its last window's outcome."""
    text = f"{worker.task} is approved and has not landed"
    for window in windows:
        began = window.started_at_ms >= worker.state_changed_at_ms
        if began and any(one.get("task") == worker.task_id for one in window.workers):
            return f"{text}: its last window was {OUTCOMES.get(window.outcome, window.outcome)}"
    return text


def _own_command(kind: str, name: str) -> str | None:
    """Return the command of a need that does not depend on the worker's state; None for others."""
    if kind == PAUSED:
        return f"git worker continue {name}"
    return f"git worker send {name} <text>" if kind == BLOCKED else None


def _with_next_commands(
    reader: Reader, session: Session, items: list[InboxItem]
) -> list[InboxItem]:
    """Return the items, those without a command with the next one of their worker."""
    names = {item.source for item in items if item.command is None}
    if not names:
        return items
    rows = [row for row in read_worker_rows(reader) if row.worker_id in names]
    steps = read_next_steps(session, reader, rows, read_worker_refs(session, rows), actor=HQ)
    return [
        item if item.command is not None else item._replace(command=steps[item.source].command)
        for item in items
    ]


def _budgets(reader: Reader) -> Iterator[InboxItem]:
    """Yield the budgets that stop work: those of projects, then those of tasks."""
    now = clock.now_ms()
    for one in used_budgets(reader):
        if stops_work(one.tasks):
            yield InboxItem(
                BUDGET, one.task or one.project, budget_words(one.task, one.used, one.budget), now,
                command=budget_command(one.project, one.task), task=one.task,
            )  # fmt: skip


def _messages(reader: Reader, session: Session, limit: int) -> Iterator[InboxItem]:
    cursor = cursor_of(reader, session.actor)
    found = unanswered_messages(reader, session.actor, limit=limit)
    for message in _with_questions(reader, found) if session.actor == HQ else found:
        asking = find_worker(reader, message.from_agent)
        asked = find_question(reader, message.id) if is_asked(message.type) else None
        is_question = is_open_question(
            message.type,
            is_unread=message.seq > cursor,
            state=asking.state if asking else None,
            is_current=asking is not None and asking.task_id == message.correlation_id,
        )
        if asked is not None:
            is_question = can_be_answered(asked.state)
        if not is_question and (asked is not None or message.seq <= cursor):
            continue
        item = message_item(message, blobs=session.paths.blobs)
        yield InboxItem(
            QUESTION if is_question else MESSAGE,
            item.source,
            asked.shown if asked else item.text,
            item.since_ms,
            command=_reply(reader, asked)
            if asked
            else item.command or f"{answer_command(item.source, message.seq)}   # or: {READ}",
            task=item.task,
            seq=item.seq,
            id=item.id,
            payload=item.payload,
            question=asked.id if asked and is_question else None,
        )


def _with_questions(reader: Reader, messages: list[StoredMessage]) -> list[StoredMessage]:
    """Return messages with those of all open questions, also of questions beyond a limit."""
    known = {one.id for one in messages}
    asked = [one.message_id for one in unanswered_questions(reader)]
    found = [find_message(reader, one) for one in asked if one not in known]
    return [*messages, *(one for one in found if one is not None)]


def _reply(reader: Reader, asked: Question) -> str:
    """Return the command that answers a question; its number is named if there are several."""
    if len(unanswered_questions(reader, asked.worker_id)) > 1:
        return f"git worker reply -q {asked.id} {asked.worker_id} <text>"
    return f"git worker reply {asked.worker_id} <text>"
