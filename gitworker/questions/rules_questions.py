"""Decisions about questions: which answers are possible, and which commands come next. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import Conflict, GitWorkerError, Invalid, Refused
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.rules_text import one_line, quoted
from gitworker.states.question import ANSWERED, LATE, WITHDRAWN, Question
from gitworker.states.worker_machine import state_words

if TYPE_CHECKING:
    from collections.abc import Sequence

RESUME_AFTER_S = 3600  # after this time a task continues without an answer
OPTION_MAX = 200
SHOWN = 80
PAUSED = frozenset({TaskStatus.PAUSED})


def check_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options; raise Invalid for an empty, a long or a repeated one."""
    if len(set(options)) < len(options) or not all(0 < len(one) <= OPTION_MAX for one in options):
        raise Invalid(
            f"the options of a question are different words of 1 to {OPTION_MAX} characters",
            "git worker ask -h", code="usage",
        )  # fmt: skip
    return tuple(options)


def check_answer(question: Question, answer: str, *, is_only: bool = True) -> str:
    """Return the answer; raise Invalid for an empty one, or Refused for none of the options.

    `is_only`: no other question of the task waits.
    """
    words = answer.strip()
    if not words:
        raise Invalid(
            "the answer is empty", answer_command(question, is_only=is_only), code="usage"
        )
    if not question.options:
        return answer.rstrip("\n")
    if words not in question.options:
        raise Refused(
            f"{ascii(words)[:SHOWN]} is not an option of the question:"
            f" {', '.join(question.options)}",
            answer_command(question, quoted(question.options[0]), is_only=is_only),
            code="not_an_option",
        )
    return words


def answer_command(question: Question, answer: str = "<text>", *, is_only: bool = True) -> str:
    """Return the command that answers a question; its number is named if there are several."""
    if is_only:
        return f"git worker reply {question.task_id} {answer}"
    return f"git worker reply -q {question.id} {question.task_id} {answer}"


def ask_refusal(worker: str, state: WorkerState) -> GitWorkerError | None:
    """Return why a worker cannot ask, or None: only a worker at work can wait for an answer."""
    if state is WorkerState.WORKING:
        return None
    return Refused(
        f"worker {worker} {state_words(state)}, so its task cannot wait for an answer",
        "git worker send hq <text>",
        code="invalid_transition",
    )


def may_wait(status: TaskStatus) -> bool:
    """Return whether a question lets a task wait; with another open one it waits already."""
    return status is TaskStatus.IN_PROGRESS


def is_waiting(status: TaskStatus) -> bool:
    """Return whether a task waits for an answer."""
    return status is TaskStatus.WAITING_INPUT


def is_paused(status: TaskStatus) -> bool:
    """Return whether a task is paused, such as after a question without an answer in time."""
    return status in PAUSED


def choose(name: str, found: Sequence[Question], number: int | None) -> Question:
    """Return the question that an answer is for; raise Refused if that is not one."""
    wanted = [one for one in found if number in (None, one.id)]
    if not wanted:
        words = f"no question of {name} waits"
        if number is not None:
            words = f"question {number} of {name} does not wait"
        raise Refused(f"{words} for an answer", "git worker questions", code="no_question")
    if len(wanted) > 1:
        texts = "\n".join(f"{one.id}: {one_line(one.text)[:SHOWN]}" for one in wanted)
        raise Refused(
            f"{name} asks {len(wanted)} questions; name one by its number",
            answer_command(wanted[0], is_only=False), code="ambiguous", detail=texts,
        )  # fmt: skip
    return wanted[0]


def is_answered(question: Question) -> bool:
    """Return whether a question has its answer."""
    return question.state == ANSWERED


def end_of(question: Question, *, resumes_at: str) -> GitWorkerError | None:
    """Return the error of a question that ended without an answer, or None."""
    if question.state == LATE:
        seconds = (question.timeout_ms or 0) / 1000
        return Conflict(
            f"no answer came within {seconds:g} s; task {question.task_id} is paused until"
            f" {resumes_at}, or until the answer comes",
            f"git worker resume {question.worker_id}   # continues without the answer",
            code="timeout",
        )
    if question.state == WITHDRAWN:
        return Conflict(
            f"task {question.task_id} no longer waits for the answer",
            f"git worker show {question.task_id}",
            code="withdrawn",
        )
    return None


def still_open(question: Question, waited_s: float) -> GitWorkerError:
    """Return the error of a caller that no longer waits, while its question stays open."""
    return Conflict(
        f"no answer came within {waited_s:g} s; question {question.id} stays open",
        "git worker inbox   # the answer arrives there; to wait again, ask in the same words",
        code="timeout",
    )


def words_of(payload: Any, text: str) -> str:
    """Return the answer in the payload of a message; `text` is the payload as JSON."""
    if isinstance(payload, dict) and isinstance(payload.get("text"), str):
        return str(payload["text"])
    return text


def next_after_answer(question: Question, *, needs_start: bool) -> str:
    """Return the command that comes after an answer.

    `needs_start`: no agent is waiting for it, and no run starts one.
    """
    if needs_start:
        return f"git worker resume {question.worker_id}"
    return f"git worker show {question.worker_id}"
