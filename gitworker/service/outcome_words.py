"""The outcome of a change in words, for the screens on which people decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.outcome import Landed, NotLanded
from gitworker.rules_text import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.errors import GitWorkerError
    from gitworker.review.comments.send import SentReview
    from gitworker.review.viewed_marks import ViewedMarks
    from gitworker.service import Service

SHORT = 10


class Outcome(NamedTuple):
    """The result of a change; `hint` is a command that helps after a refusal."""

    text: str
    hint: str | None = None
    is_refused: bool = False


def refusal_words(error: GitWorkerError) -> str:
    """Return an error's message with its detail below it."""
    return "\n".join(part for part in (error.message, error.detail) if part)


def landing_outcome(results: Sequence[Landed | NotLanded]) -> Outcome:
    """Return the outcome of a landing; it is refused if one of the workers did not land."""
    failed = [one for one in results if isinstance(one, NotLanded)]
    landed = [one for one in results if isinstance(one, Landed)]
    words = [f"{one.worker_id} landed at {one.commit[:SHORT]}" for one in landed]
    words += [f"{one.worker_id}: {one.error.message}" for one in failed]
    if failed:
        return Outcome("\n".join(words), failed[0].error.hint, True)
    return Outcome("\n".join(words) or "no approved work waits to land")


def restart_outcome(service: Service, worker: str) -> Outcome:
    """Start the agent of a worker again, and return whether its last command was known."""
    if service.restart(worker) is None:
        text = f"no command of an agent of {worker} is known: work there yourself, or start one"
        return Outcome(text, service.show(worker).next_command, True)
    return Outcome(f"the agent of {worker} has started")


def order_outcome(service: Service, worker: str, command: str, *, reason: str = "") -> Outcome:
    """Send an order to the agent of a worker, and return whether it was sent."""
    sent = service.order(worker, command, reason=reason)
    if sent.id is None:
        return Outcome(f"the agent of {worker} has ended", sent.next, True)
    return Outcome(f"{worker} was sent the order {command}")


def review_words(sent: SentReview) -> str:
    """Return that a review was sent, with its verdict and the number of its comments."""
    name = sent.worker.worker_id
    size = f", with {count_text(len(sent.comments), 'comment')}" if sent.comments else ""
    if sent.verdict == "approved":
        return f"{name} is approved{size}"
    if sent.verdict == "commented":
        return f"{name} has your review{size}"
    return f"{name} was sent back with your request{size}"


def marks_words(found: ViewedMarks) -> str:
    """Return how much of a review is viewed."""
    return f"{found.viewed} of {count_text(found.total, 'part')} viewed"
