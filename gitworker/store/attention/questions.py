"""Questions of workers as stored: rows as named tuples."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from gitworker.states.question import Question
from gitworker.store.api import Reader, Row, Writer


class NewQuestion(NamedTuple):
    """The text of a question, and the worker that asks."""

    task: str
    worker: str
    text: str
    options: tuple[str, ...] = ()
    timeout_ms: int | None = None


class DueQuestion(NamedTuple):
    """A question that has timed out, or (with the id of a message) was answered on the bus."""

    id: int
    is_late: bool
    reply: str | None


def unanswered_questions(reader: Reader, name: str | None = None) -> list[Question]:
    """Return the questions that can be answered, oldest first; `name` is a task or a worker."""
    found = [_question(row) for row in reader.rows("questions.unanswered")]
    return [one for one in found if name in (None, one.task_id, one.worker_id)]


def find_question(reader: Reader, message: str) -> Question | None:
    """Return the question that was published as a message, or None."""
    row = reader.row("questions.of_message", message=message)
    return None if row is None else _question(row)


def find_repeated(reader: Reader, new: NewQuestion) -> Question | None:
    """Return the question with the same words that is open or has an unread answer, or None."""
    row = reader.row(
        "questions.repeated",
        task=new.task, worker=new.worker, text=new.text, options=json.dumps(new.options),
    )  # fmt: skip
    return None if row is None else _question(row)


def answers_of(reader: Reader, task: str) -> Sequence[tuple[str, str]]:
    """Return the answered questions of a task with their answers, oldest first."""
    return [(row["text"], row["answer"]) for row in reader.rows("questions.of_task", task=task)]


def due_questions(reader: Reader, now: int) -> list[DueQuestion]:
    """Return the questions that time or a message on the bus has settled."""
    return [
        DueQuestion(row["id"], bool(row["is_late"]), row["reply"])
        for row in reader.rows("questions.due", now=now)
    ]


def add_question(writer: Writer, new: NewQuestion, *, message: str, now: int) -> Question:
    """Insert an open question and return it."""
    writer.run(
        "questions.insert",
        task=new.task, worker=new.worker, text=new.text, options=json.dumps(new.options),
        message=message, timeout_ms=new.timeout_ms, now=now,
    )  # fmt: skip
    found = find_question(writer, message)
    assert found is not None
    return found


def limit_question(writer: Writer, question: Question, timeout_ms: int, *, now: int) -> None:
    """Give an open question without a time limit one that begins now."""
    writer.run("questions.limit", question=question.id, timeout_ms=timeout_ms, now=now)


def set_answer(
    writer: Writer, question: int, answer: str, *, by: str, message: str, now: int
) -> bool:
    """Record the answer, which is a message; return False if the question has one by now."""
    done = writer.run(
        "questions.answer", question=question, answer=answer, by=by, message=message, now=now
    )
    return done > 0


def set_late(writer: Writer, question: int) -> bool:
    """Record that no answer came in time; return False if the question is no longer open."""
    return writer.run("questions.expire", question=question) > 0


def set_withdrawn(writer: Writer, question: int) -> None:
    """Record that a question no longer waits for its answer."""
    writer.run("questions.withdraw", question=question)


def set_delivered(writer: Writer, question: int, *, now: int) -> None:
    """Record that the answer has reached the agent."""
    writer.run("questions.deliver", question=question, now=now)


def _question(row: Row) -> Question:
    values = dict(row)
    values["options"] = tuple(json.loads(values["options"]))
    return Question(**values)
