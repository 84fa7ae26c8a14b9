"""Read the events that a person must still be notified of, and the targets that get them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ids import ORCHESTRATOR
from gitworker.notifications.rules_notify import (
    BUDGET,
    FAILURE,
    OF_STATE,
    QUESTION,
    Event,
    Targets,
    is_left_to_run,
    is_open,
)
from gitworker.observe.inbox.rules_needs import budget_command, budget_words, stops_work
from gitworker.store.attention.notifications import is_notified
from gitworker.store.attention.questions import unanswered_questions
from gitworker.store.records.reviews import find_review
from gitworker.store.records.task_specs import find_task_spec
from gitworker.store.scheduling.projects import DEFAULT, all_projects
from gitworker.store.scheduling.usage import used_budgets
from gitworker.store.tasks import find_task
from gitworker.store.workers import all_workers, workers_assigned_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.workers import Worker


def read_targets(reader: Reader, session: Session) -> Targets:
    """Return the targets of notifications."""
    settings = session.settings
    found = {one.id: one.discord_channel_id for one in all_projects(reader)}
    of_projects = {name: url for name, url in found.items() if url}
    return Targets(settings.notify_urls, settings.notify_events, of_projects)


def read_new_events(reader: Reader, targets: Targets, *, is_final: bool = False) -> list[Event]:
    """Return the events that have a target and were not sent, the most urgent kind first.

    A worker of a run is left out while the run continues it by itself, unless the run has ended
    (`is_final`).
    """
    if not targets.are_set:
        return []
    return [
        one
        for find in (_questions, _workers, _budgets)
        for one in find(reader, is_final=is_final)
        if targets.urls_of(one.event, one.project) and not is_notified(reader, one.key)
    ]


def _questions(reader: Reader, *, is_final: bool) -> Iterator[Event]:
    found = unanswered_questions(reader)
    names = [one.task_id for one in found]
    for one in found:
        if is_open(one.state):
            command = f"git worker reply {one.task_id} <text>"
            if names.count(one.task_id) > 1:
                command = f"git worker reply -q {one.id} {one.task_id} <text>"
            yield Event(
                f"question:{one.message_id}", QUESTION, _project_of(reader, one.task_id),
                f"{one.worker_id} asks about {one.task_id}", one.shown,
                command,
            )  # fmt: skip


def _workers(reader: Reader, *, is_final: bool) -> Iterator[Event]:
    found = [one for one in all_workers(reader) if one.state in OF_STATE and one.task_id]
    of_run = workers_assigned_by(reader, ORCHESTRATOR) if found and not is_final else frozenset()
    for one in found:
        if one.worker_id in of_run and _is_left_to_run(reader, one):
            continue
        event, project = OF_STATE[one.state], _project_of(reader, one.task)
        if event == FAILURE:
            key, title = f"{one.version}", f"{one.worker_id} failed at {one.task}"
            text = one.last_error or ""
        else:
            review = find_review(reader, one.worker_id, one.task_id, "requested")
            key = f"{review.id if review else one.version}"
            title = f"{one.task} of {one.worker_id} waits for its review"
            text = (review.note if review else "") or ""
        yield Event(
            f"{event}:{one.worker_id}:{key}", event, project, title, text,
            f"git worker show {one.worker_id}",
        )  # fmt: skip


def _budgets(reader: Reader, *, is_final: bool) -> Iterator[Event]:
    for one in used_budgets(reader):
        if stops_work(one.tasks):
            subject = f"task:{one.task}" if one.task else f"project:{one.project}"
            yield Event(
                f"budget:{subject}:{one.budget}", BUDGET, one.project,
                f"{subject.replace(':', ' ')} has used its budget",
                budget_words(one.task, one.used, one.budget),
                budget_command(one.project, one.task),
            )  # fmt: skip


def _is_left_to_run(reader: Reader, worker: Worker) -> bool:
    task, spec = find_task(reader, worker.task), find_task_spec(reader, worker.task)
    return (
        task is not None
        and spec is not None
        and is_left_to_run(
            worker.state, status=task.status, requires_approval=task.requires_approval,
            verification=spec.verification_type,
        )
    )  # fmt: skip


def _project_of(reader: Reader, task: str) -> str:
    found = find_task(reader, task)
    return DEFAULT if found is None else found.project_id
