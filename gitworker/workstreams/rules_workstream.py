"""The consequences of a workstream's state for its tasks, and its files. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.task import TaskStatus
from gitworker.model.workstream import WorkstreamState
from gitworker.states.workstream_machine import ENDED, is_validating

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.model.task_spec import Need
    from gitworker.model.workstream import Member

S = TaskStatus
LEFT = frozenset({S.COMPLETED, S.CANCELLED, S.BLOCKED})  # nothing is left to cancel
STOPPED_BY = {
    WorkstreamState.FAILED: "its workstream has failed",
    WorkstreamState.CANCELLED: "its workstream was cancelled",
}


def is_cancelled(state: WorkstreamState) -> bool:
    """Return whether a cancel has nothing left to decide."""
    return state is WorkstreamState.CANCELLED


def is_complete(state: WorkstreamState) -> bool:
    """Return whether the final validation has passed."""
    return state is WorkstreamState.COMPLETED


def validation_refusal(
    name: str, state: WorkstreamState, derived: WorkstreamState, *, has_to_land: bool
) -> GitWorkerError | None:
    """Return why a workstream cannot be validated now, or None; `derived` is from its tasks.

    One whose branch has to land is validated again after its landing was undone.
    """
    may_repeat = has_to_land and is_complete(state)
    if is_validating(derived) and (is_validating(state) or may_repeat):
        return None
    reason = (
        f"is {state}" if state in ENDED and not may_repeat else "has tasks that are not complete"
    )
    return Refused(
        f"workstream {name} {reason}", f"git worker workstream show {name}", code="not_complete"
    )


def tasks_to_cancel(state: WorkstreamState, members: Sequence[Member]) -> list[str]:
    """Return the tasks that end with a failed or cancelled workstream.

    Blocked tasks stay for analysis, except those whose agents were stopped for this reason.
    """
    reason = STOPPED_BY.get(state)
    if reason is None:
        return []
    return [
        one.id
        for one in members
        if one.status not in LEFT
        or (one.status is S.BLOCKED and (one.last_error or "").endswith(reason))
    ]


def tasks_to_drop(state: WorkstreamState, members: Sequence[Member]) -> list[str]:
    """Return the failed tasks that are not critical, once all other tasks are complete."""
    kept = [one for one in members if one.status is not S.CANCELLED]
    failed = [one.id for one in kept if one.status is S.BLOCKED and not one.critical]
    is_last = all(one.status is S.COMPLETED or one.id in failed for one in kept)
    return failed if state is WorkstreamState.EXECUTING and is_last else []


def dag_document(
    name: str, members: Sequence[Member], needs: Mapping[str, Sequence[Need]]
) -> dict[str, Any]:
    """Return the tasks and their dependencies as JSON data."""
    return {
        "workstream": name,
        "nodes": [
            {"task": one.id, "title": one.title, "critical": one.critical} for one in members
        ],
        "edges": [
            {"task": one.id, "needs": need.task, "until": need.until}
            for one in members
            for need in needs.get(one.id, ())
        ],
    }


def execution_stages(
    members: Sequence[Member], needs: Mapping[str, Sequence[Need]]
) -> list[list[str]]:
    """Return the tasks in stages: those of a stage need only tasks of earlier ones."""
    left = {one.id: {need.task for need in needs.get(one.id, ())} for one in members}
    for waits_for in left.values():
        waits_for.intersection_update(left)  # others are outside the workstream
    dependents: dict[str, list[str]] = {}
    for task, waits_for in left.items():
        for need in waits_for:
            dependents.setdefault(need, []).append(task)
    stages, stage = [], [task for task, waits_for in left.items() if not waits_for]
    while stage:
        stages.append(stage)
        following = []
        for done in stage:
            for task in dependents.get(done, ()):
                left[task].discard(done)
                if not left[task]:
                    following.append(task)
        stage = following
    return stages


def plan_text(
    name: str, title: str, stages: Sequence[Sequence[str]], validation: Sequence[str]
) -> str:
    """Return the execution plan as Markdown."""
    lines = [f"# Workstream {name}{f': {title}' if title else ''}", ""]
    for number, stage in enumerate(stages, 1):
        lines += [f"## Stage {number}", "", *(f"- {task}" for task in stage), ""]
    lines += ["## Validation", ""]
    lines += [f"- `{command}`" for command in validation] or ["- the verify commands"]
    return "\n".join(lines) + "\n"
