"""The questions that wait for an answer, as data, text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.text import BOLD, DIM, age_text, cut, one_line, paint
from gitworker.questions.rules_questions import answer_command
from gitworker.states.question import OPEN, Question
from gitworker.store.attention.questions import unanswered_questions

if TYPE_CHECKING:
    from gitworker.session import Session


class ListedQuestion(NamedTuple):
    """A question with the command that answers it."""

    question: Question
    command: str


class QuestionList(NamedTuple):
    """All questions that can be answered, oldest first."""

    now_ms: int
    questions: tuple[ListedQuestion, ...]


def read_questions(session: Session) -> QuestionList:
    """Read the questions that can be answered, those of paused tasks too."""
    with session.store.read() as reader:
        found = unanswered_questions(reader)
    tasks = [one.task_id for one in found]
    return QuestionList(
        clock.now_ms(),
        tuple(
            ListedQuestion(one, answer_command(one, is_only=tasks.count(one.task_id) == 1))
            for one in found
        ),
    )


def render_questions(found: QuestionList, *, width: int | None, color: bool) -> str:
    """Return one line for each question, and the command that answers it below."""
    lines = []
    for one in found.questions:
        asked = one.question
        age = age_text(max(0, found.now_ms - asked.asked_at_ms))
        late = "" if asked.state == OPEN else " (its task is paused)"
        head = f"{asked.id} {asked.task_id} {asked.worker_id} {age}"
        line = cut(one_line(f"{head}{late}: {asked.shown}"), width)
        lines.append(paint(line[: len(head)], BOLD, color=color) + line[len(head) :])
        lines.append(f"    {paint(one_line(one.command), DIM, color=color)}")
    return "\n".join(lines) or ("" if width is None else "no worker waits for an answer")


def json_questions(found: QuestionList) -> dict[str, Any]:
    """Return the questions as JSON data."""
    return {
        "questions": [
            {**json_question(one.question), "command": one.command} for one in found.questions
        ]
    }


def json_question(question: Question) -> dict[str, Any]:
    """Return a question as JSON data."""
    at = question.answered_at_ms
    return {
        "id": question.id, "task": question.task_id, "worker": question.worker_id,
        "text": question.text, "options": list(question.options), "state": question.state,
        "asked_at": clock.iso_utc(question.asked_at_ms),
        "timeout_s": None if question.timeout_ms is None else question.timeout_ms / 1000,
        "answer": question.answer, "answered_by": question.answered_by,
        "answered_at": None if at is None else clock.iso_utc(at), "message": question.message_id,
    }  # fmt: skip
