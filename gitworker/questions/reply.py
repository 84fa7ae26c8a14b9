"""reply: answer a worker's question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.supervised_agent import has_run_to_its_end, workers_of_living_run
from gitworker.questions.question_list import json_question
from gitworker.questions.rules_questions import (
    check_answer,
    choose,
    is_paused,
    next_after_answer,
)
from gitworker.questions.settle_questions import record_answer, settle_questions
from gitworker.states.question import Question
from gitworker.store.attention.questions import find_question, unanswered_questions
from gitworker.store.messages.mailbox import is_task
from gitworker.store.records.runs import find_latest_run
from gitworker.store.tasks import require_stored_task
from gitworker.store.workers import load_worker

if TYPE_CHECKING:
    from gitworker.model.task import TaskStatus
    from gitworker.session import Session


class Replied(NamedTuple):
    """The answered question, its task's status, and the command that comes next."""

    question: Question
    status: TaskStatus
    next: str


def reply(session: Session, name: str, answer: str, *, number: int | None = None) -> Replied:
    """Answer the open question of a task or worker; `number` names one of several.

    Raises Refused without an open question (`no_question`), for an answer that is not an option
    (`not_an_option`), and for the worker's own question (`not_allowed`).
    """
    settle_questions(session)
    with session.store.write() as writer:
        found = unanswered_questions(writer, name)
        if not found and not is_task(writer, name):
            found = unanswered_questions(writer, require_worker(writer, name, session).worker_id)
        question = choose(name, found, number)
        if session.actor == question.worker_id:
            raise Refused(
                f"worker {question.worker_id} cannot answer its own question",
                "git worker inbox", code="not_allowed",
            )  # fmt: skip
        words = check_answer(question, answer, is_only=len(found) == 1)
        record_answer(writer, question, words, by=session.actor, now=clock.now_ms())
        crash_point("answer-recorded")
        answered = find_question(writer, question.message_id) or question
        status = require_stored_task(writer, question.task_id).status
        worker = load_worker(writer, question.worker_id)
        run = find_latest_run(writer, worker.worker_id)
        is_of_run = worker.worker_id in workers_of_living_run(writer, session.paths)
    crash_point("answer-committed")
    publish_views(session, worker.worker_id)
    notify_followers(session.paths.bell)
    has_ended = has_run_to_its_end(run, task=worker.task_id, pid=worker.pid)
    needs_start = (has_ended or is_paused(status)) and not is_of_run
    return Replied(answered, status, next_after_answer(answered, needs_start=needs_start))


def json_replied(replied: Replied) -> dict[str, Any]:
    """Return an answered question as JSON data."""
    return {
        **json_question(replied.question),
        "task_status": replied.status.value, "next": replied.next,
    }  # fmt: skip
