"""Render every result as the JSON that the command line prints with `--json`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gitworker.model.outcome import Landed, NotLanded
from gitworker.model.ref_names import short_name
from gitworker.store.workers import Worker

if TYPE_CHECKING:  # each costs milliseconds, and a command needs one of them
    from gitworker.fsck.finding import Finding
    from gitworker.fsck.fsck import FsckReport, RepairReport
    from gitworker.journal.gc.gc import CollectedItems
    from gitworker.journal.gc.rules_gc import Item
    from gitworker.journal.undo.undo import Undone
    from gitworker.landing.landing_plan import Planned
    from gitworker.verify.verify import Verdict
    from gitworker.workers.adopt import Adopted
    from gitworker.workers.approve import Approved, NotApproved
    from gitworker.workers.cancel import FreedWorker
    from gitworker.workers.spawn import SpawnedWorker
    from gitworker.workers.submit import Submitted

# The function that renders each kind of result, by the module that defines the kind.
RENDERED_BY = {
    "gitworker.claims.leases": "gitworker.observe.claim_list:claim_fields",
    "gitworker.fsck.doctor": "gitworker.fsck.doctor:json_doctor",
    "gitworker.landing.queue_status": "gitworker.landing.queue_status:json_lineup",
    "gitworker.observe.agents": "gitworker.observe.agents:json_agents",
    "gitworker.observe.bus": "gitworker.observe.bus:json_stats",
    "gitworker.observe.logs.log": "gitworker.observe.logs.log:json_log",
    "gitworker.observe.workers.diff": "gitworker.observe.workers.diff:json_diff",
    "gitworker.observe.workers.list": "gitworker.observe.workers.list:json_list",
    "gitworker.observe.workers.path": "gitworker.observe.workers.path:json_path",
    "gitworker.observe.workers.show": "gitworker.observe.workers.show_text:json_show",
    "gitworker.observe.workers.status": "gitworker.observe.workers.status:json_status",
    "gitworker.radar.radar": "gitworker.radar.radar_text:json_conflicts",
    "gitworker.fsck.fsck": "gitworker.service.results:fsck_json",
    "gitworker.journal.gc.gc": "gitworker.service.results:gc_json",
    "gitworker.journal.undo.undo": "gitworker.service.results:undo_json",
    "gitworker.landing.landing_plan": "gitworker.service.results:planned_json",
    "gitworker.model.outcome": "gitworker.service.results:landed_json",
    "gitworker.store.workers": "gitworker.service.results:worker_json",
    "gitworker.verify.verify": "gitworker.service.results:verdict_json",
    "gitworker.workers.adopt": "gitworker.service.results:adopted_json",
    "gitworker.workers.approve": "gitworker.service.results:approved_json",
    "gitworker.workers.cancel": "gitworker.service.results:freed_json",
    "gitworker.workers.spawn": "gitworker.service.results:spawned_json",
    "gitworker.workers.submit": "gitworker.service.results:submitted_json",
}


def to_json(result: Any) -> Any:
    """Return a result of the service as JSON data; a list as a list."""
    if isinstance(result, list):
        return [to_json(one) for one in result]
    place = RENDERED_BY.get(type(result).__module__)
    if place is None:
        raise TypeError(f"{type(result).__name__} is not a result of the service")
    module, _, name = place.partition(":")
    render: Callable[[Any], dict[str, Any]] = getattr(import_module(module), name)
    return render(result)


def worker_json(worker: Worker) -> dict[str, Any]:
    """Return a worker."""
    return {
        "worker": worker.worker_id,
        "state": worker.state.value,
        "task": worker.task_id,
        "branch": worker.branch,
        "worktree": worker.worktree,
    }


def spawned_json(spawned: SpawnedWorker) -> dict[str, Any]:
    """Return a worker that has a new worktree."""
    return {**worker_json(spawned.worker), "path": spawned.path}


def adopted_json(adopted: Adopted) -> dict[str, Any]:
    """Return a worker that has an existing branch."""
    return {**spawned_json(adopted.spawned), "renamed_from": adopted.renamed_from}


def submitted_json(done: Submitted) -> dict[str, Any]:
    """Return a submission."""
    return {
        **worker_json(done.worker),
        "commit": done.commit,
        "commits": done.commits,
        "conflicts": list(done.conflicts),
    }


def freed_json(freed: FreedWorker) -> dict[str, Any]:
    """Return a worker without a task, and the ref that keeps its work."""
    return {
        **worker_json(freed.worker),
        "freed_task": freed.task_id,
        "rescue": freed.rescue_ref,
        "stacked": list(freed.stacked),
        "missing": freed.missing,
    }


def approval_json(approved: Approved) -> dict[str, Any]:
    """Return an approval."""
    return {
        **worker_json(approved.worker),
        "commit": approved.commit,
        "rebased_from": approved.rebased_from,
        "rescue": approved.rescue_ref,
        "unrequested": approved.unrequested,
        "without": approved.without,
    }


def approved_json(result: Approved | NotApproved) -> dict[str, Any]:
    """Return one of several approvals, or the error of a worker that was not approved."""
    from gitworker.workers.approve import NotApproved

    if isinstance(result, NotApproved):
        return {"worker": result.worker_id, "approved": False, "error": result.error.to_json()}
    return {**approval_json(result), "approved": True}


def landed_json(result: Landed | NotLanded) -> dict[str, Any]:
    """Return one worker of a landing."""
    if isinstance(result, NotLanded):
        return {"worker": result.worker_id, "landed": False, "error": result.error.to_json()}
    return {
        "worker": result.worker_id,
        "landed": True,
        "task": result.task_id,
        "commit": result.commit,
        "target": short_name(result.target),
        "kept": result.kept,
        "kept_why": result.kept_why,
    }


def planned_json(planned: Planned) -> dict[str, Any]:
    """Return one worker of a planned landing."""
    fields = planned._asdict()
    fields["error"] = None if planned.error is None else planned.error.to_json()
    fields["worker"] = fields.pop("worker_id")
    fields["task"] = fields.pop("task_id")
    return fields


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict on a commit."""
    return {**verdict._asdict(), "log": verdict.log or None}


def undo_json(undone: Undone) -> dict[str, Any]:
    """Return an operation that was undone, with its workers."""
    workers = [worker_json(worker) for worker in undone.workers]
    return {
        "undone": undone.kind,
        "number": undone.number,
        "message": undone.message,
        **(workers[0] if workers else {}),
        "workers": workers,
    }


def gc_json(collected: CollectedItems) -> dict[str, Any]:
    """Return the items that gc deletes, and those that it keeps although they are old."""
    choice = collected.choice
    return {
        "number": collected.number,
        "size_bytes": choice.size_bytes,
        "going": [_item(item) for item in choice.selected],
        "held": [_item(item) for item in choice.held],
    }


def fsck_json(result: FsckReport | RepairReport) -> dict[str, Any]:
    """Return the findings of fsck, or of its repair."""
    from gitworker.fsck.fsck import RepairReport

    if isinstance(result, RepairReport):
        return {
            **fsck_json(result.left),
            "mended": [_finding(one) for one in result.done],
            "failed": [{**_finding(one), "error": error.to_json()} for one, error in result.failed],
        }
    return {
        "commits": result.commits,
        "workers": result.workers,
        "whole": not result.findings,
        "findings": [_finding(one) for one in result.findings],
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "name": item.name,
        "at_ms": item.at_ms,
        "size_bytes": item.size_bytes,
        "holds": item.holds or None,
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "code": one.code,
        "where": one.subject,
        "what": one.message,
        "mendable": one.repair is not None,
        "help": one.hint,
    }
