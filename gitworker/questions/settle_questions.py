"""Answer or end a question together with its task's status; settle those that are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.following.message_fields import message_fields
from gitworker.bus.publish import Outgoing, json_text, publish
from gitworker.crashpoint import crash_point
from gitworker.lifecycle.moves import advance_task
from gitworker.lifecycle.state_files import publish_views
from gitworker.questions.rules_questions import (
    RESUME_AFTER_S,
    is_paused,
    is_waiting,
    words_of,
)
from gitworker.states.question import OPEN, Question
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.store.attention.questions import (
    due_questions,
    set_answer,
    set_late,
    unanswered_questions,
)
from gitworker.store.messages.mailbox import find_message
from gitworker.store.tasks import require_stored_task, set_task_retry
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Writer

ANSWER = "x-answer"


def settle_questions(session: Session) -> None:
    """Pause the tasks of late questions, and take the answers that came as plain messages."""
    with session.store.read() as reader:
        if not due_questions(reader, clock.now_ms()):
            return
    changed = set()
    with session.store.write() as writer:
        now = clock.now_ms()
        open_ones = {one.id: one for one in unanswered_questions(writer)}
        for due in due_questions(writer, now):
            question = open_ones[due.id]
            if due.reply is not None:
                _take_reply(writer, session, question, due.reply, now=now)
            elif set_late(writer, question.id):
                _pause(writer, question, now=now)
            changed.add(question.worker_id)
    crash_point("question-settled")
    publish_views(session, *changed)


def record_answer(
    writer: Writer, question: Question, answer: str, *, by: str, now: int, reply: str | None = None
) -> bool:
    """Answer a question in the caller's transaction, and let its task continue.

    Publishes the answer to the worker unless it is the message `reply`. A task that was paused
    meanwhile may continue at once. Returns False if the question has an answer already.
    """
    message = reply or publish(
        writer,
        Outgoing(
            ANSWER, sender=by, to=question.worker_id, correlation_id=question.task_id,
            in_reply_to=question.message_id, payload={"text": answer},
        ),
        now=now,
    )  # fmt: skip
    if not set_answer(writer, question.id, answer, by=by, message=message, now=now):
        return False
    _let_go_on(writer, question, actor=by, now=now)
    return True


def _take_reply(
    writer: Writer, session: Session, question: Question, message_id: str, *, now: int
) -> None:
    message = find_message(writer, message_id)
    assert message is not None
    payload = message_fields(message, blobs=session.paths.blobs)["payload"]
    answer = words_of(payload, json_text(payload))
    record_answer(writer, question, answer, by=message.from_agent, now=now, reply=message_id)


def _let_go_on(writer: Writer, question: Question, *, actor: str, now: int) -> None:
    """End the wait of a task whose last open question was answered."""
    task = require_stored_task(writer, question.task_id)
    if is_paused(task.status):
        set_task_retry(writer, task.id, count=task.retry_count, resume_after_ms=now)
    others = unanswered_questions(writer, question.task_id)
    worker = find_worker(writer, question.worker_id)
    if worker is not None and is_waiting(task.status) and not any(
        one.state == OPEN for one in others
    ):  # fmt: skip
        advance_task(writer, worker, WorkerTaskEvent.REPLY, actor=actor)


def _pause(writer: Writer, question: Question, *, now: int) -> None:
    task = require_stored_task(writer, question.task_id)
    worker = find_worker(writer, question.worker_id)
    if worker is None or not is_waiting(task.status):
        return
    advance_task(writer, worker, WorkerTaskEvent.INPUT_TIMEOUT, actor="hq")
    set_task_retry(
        writer, task.id, count=task.retry_count, resume_after_ms=now + RESUME_AFTER_S * 1000
    )
