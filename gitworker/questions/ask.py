"""ask: publish a question, let the task wait, and return the answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.following.follow_messages import MAX_WAIT_S
from gitworker.bus.following.listen import listen
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.publish import Outgoing, publish
from gitworker.crashpoint import crash_point
from gitworker.errors import Invalid
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.lost_task import refuse_lost_task
from gitworker.lifecycle.moves import advance_task, bring_to_work
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.take_up import lease_of
from gitworker.model.ids import HQ
from gitworker.model.message import MessageType
from gitworker.questions.rules_questions import (
    ask_refusal,
    check_options,
    end_of,
    is_answered,
    may_wait,
    still_open,
)
from gitworker.questions.settle_questions import settle_questions
from gitworker.states.question import Question
from gitworker.states.task_moves import WorkerTaskEvent
from gitworker.store.attention.questions import (
    NewQuestion,
    add_question,
    find_question,
    find_repeated,
    limit_question,
)
from gitworker.store.tasks import require_stored_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader, Writer

TEXT_MAX = 20_000  # characters: a person reads it


def ask(
    session: Session,
    text: str,
    *,
    options: Sequence[str] = (),
    timeout_s: float | None = None,
    wait_s: float | None = None,
    check: Callable[[], object] = lambda: None,
) -> Question:
    """Ask a person as the caller's worker, and return the question with its answer.

    The task is WAITING_INPUT meanwhile. The same words find the question of a killed caller, or its
    answer. After `timeout_s` the task is paused (Conflict, `timeout`); for a question that had no
    limit, it counts from this call. After `wait_s` the caller stops waiting, and the question
    stays open (Conflict, `timeout`). `check` is called after each wait, and may raise.
    """
    if not text.strip() or len(text) > TEXT_MAX:
        raise Invalid(f"a question has 1 to {TEXT_MAX} characters", code="usage")
    with session.store.read() as reader:
        worker = require_worker(reader, None, session)
        refuse_lost_task(reader, session, worker)
    timeout_ms = None if timeout_s is None else int(timeout_s * 1000)
    new = NewQuestion(worker.task, worker.worker_id, text, check_options(options), timeout_ms)
    with session.store.write() as writer:
        question = find_repeated(writer, new) or _publish(writer, session, new)
        if timeout_ms is not None:
            limit_question(writer, question, timeout_ms, now=clock.now_ms())
    crash_point("question-asked")
    publish_views(session, worker.worker_id)
    notify_followers(session.paths.bell)
    return _wait(session, question, wait_s, check)


def _publish(writer: Writer, session: Session, new: NewQuestion) -> Question:
    worker = bring_to_work(
        writer, require_worker(writer, new.worker, session),
        actor=session.actor, lease_ms=lease_of(session),
    )  # fmt: skip
    refusal = ask_refusal(worker.worker_id, worker.state)
    if refusal is not None:
        raise refusal
    now = clock.now_ms()
    options = {"options": list(new.options)} if new.options else {}
    message = publish(
        writer,
        Outgoing(
            MessageType.QUESTION, sender=new.worker, to=HQ, correlation_id=new.task,
            payload={"text": new.text, **options},
        ),
        now=now,
    )  # fmt: skip
    question = add_question(writer, new, message=message, now=now)
    if may_wait(require_stored_task(writer, new.task).status):
        advance_task(writer, worker, WorkerTaskEvent.QUESTION, actor=session.actor)
    return question


def _wait(
    session: Session, question: Question, wait_s: float | None, check: Callable[[], object]
) -> Question:
    """Wait until the question ends; its own timeout follows the wall clock, as for all commands."""
    started = clock.monotonic_ms()
    with listen(session) as waker:
        while True:
            settle_questions(session)
            with session.store.read() as reader:
                found = _require(reader, question)
                ended = end_of(found, resumes_at=_resume_time(reader, found))
            if is_answered(found):
                return found
            if ended is not None:
                raise ended
            left_s = math.inf
            if wait_s is not None:
                left_s = wait_s - (clock.monotonic_ms() - started) / 1000
                if not left_s > 0:
                    raise still_open(found, wait_s)
            if found.timeout_ms is not None:
                due_ms = found.asked_at_ms + found.timeout_ms - clock.now_ms()
                left_s = min(left_s, max(0.0, due_ms / 1000))
            waker.wait(min(left_s, MAX_WAIT_S))
            check()


def _require(reader: Reader, question: Question) -> Question:
    found = find_question(reader, question.message_id)
    assert found is not None
    return found


def _resume_time(reader: Reader, question: Question) -> str:
    at_ms = require_stored_task(reader, question.task_id).resume_after_ms
    return "later" if at_ms is None else clock.local_minutes(at_ms, clock.now_ms())
