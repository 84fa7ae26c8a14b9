"""Decisions about notifications: which states need one, and which targets get it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gitworker.bus.limits.rules_secrets import redacted
from gitworker.model.task import TaskStatus, VerificationType
from gitworker.model.worker import WorkerState
from gitworker.observe.inbox.rules_needs import is_retried
from gitworker.rules_text import masked_url
from gitworker.states.question import OPEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUESTION, FAILURE, REVIEW, BUDGET = "question", "failure", "review", "budget"
OF_STATE = {WorkerState.FAILED: FAILURE, WorkerState.IN_REVIEW: REVIEW}
TEXT_MAX = 500  # characters: some services take no more than a few hundred
UNREACHED = "it could not be reached"
STATUS = re.compile(r"error=(\d{3})\b")


class Event(NamedTuple):
    """A state that needs a person; `key` names it, `project` is that of its task."""

    key: str
    event: str
    project: str
    title: str
    text: str
    command: str

    @property
    def body(self) -> str:
        """Return the text without secrets, cut to a limit, with the command below it."""
        text = redacted(" ".join(self.text.split()))
        text = text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
        return f"{text}\n\n{self.command}" if text else self.command


class Targets(NamedTuple):
    """The URLs of the settings, the events that are sent, and the projects with a URL of theirs."""

    urls: Sequence[str]
    events: Sequence[str]
    of_projects: Mapping[str, str]

    @property
    def are_set(self) -> bool:
        """Return whether anything can be sent."""
        return bool(self.events and (self.urls or self.of_projects))

    def urls_of(self, event: str, project: str) -> tuple[str, ...]:
        """Return the URLs that get an event; a project's own URL replaces those of the settings."""
        if event not in self.events:
            return ()
        own = self.of_projects.get(project)
        return (own,) if own else tuple(self.urls)


def is_open(state: str) -> bool:
    """Return whether a question waits for its first answer."""
    return state == OPEN


def is_left_to_run(
    state: WorkerState,
    *,
    status: TaskStatus,
    requires_approval: bool,
    verification: VerificationType,
) -> bool:
    """Return whether a run continues a worker of its own by itself: a retry, or an approval."""
    if state is WorkerState.FAILED:
        return is_retried(status)
    return not requires_approval and verification is not VerificationType.HUMAN


def failure_text(warnings: str, url: str) -> str:
    """Return why a target did not get a message; `warnings` may name secrets, and stays inside."""
    status = STATUS.search(warnings)
    why = f"it answered with status {status[1]}" if status else UNREACHED
    return f"{masked_url(url)}: {why}"


def is_missed(errors: Sequence[str], *, targets: int) -> bool:
    """Return whether none of several targets was reached, so that a message can be repeated."""
    return len(errors) == targets and all(one.endswith(UNREACHED) for one in errors)
