"""Render every result as the JSON that the command line prints with `--json`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.model.outcome import Landed, LeftOut, NotLanded
from gitworker.model.ref_names import short_name
from gitworker.store.workers import Worker

if TYPE_CHECKING:  # each costs milliseconds, and a command needs one of them
    from gitworker.branches.publish_branch import PublishedBranch
    from gitworker.bus.search.search_messages import SearchResult
    from gitworker.landing.landing_plan import Planned
    from gitworker.service.live.methods import LandingStopped
    from gitworker.service.review import Verified
    from gitworker.service.talk import Order
    from gitworker.verify.trust import RepositoryCommands, TrustRecord
    from gitworker.verify.verify import Verdict
    from gitworker.workers.adopt import Adopted
    from gitworker.workers.approve import Approved, NotApproved
    from gitworker.workers.cancel import FreedWorker
    from gitworker.workers.spawn import SpawnedWorker
    from gitworker.workers.submit import Submitted
    from gitworker.workers.sync import Synced
    from gitworker.workers.wait import Waited
    from gitworker.worktrees.commit_work import Committed

# The function that renders each kind of result, by the module that defines the kind.
RENDERED_BY = {
    "gitworker.agents.detach": "gitworker.agents.detach:json_detached",
    "gitworker.agents.doctor.diagnose": "gitworker.agents.doctor.health_text:json_agent_doctor",
    "gitworker.branches.publish_branch": "gitworker.service.results:published_json",
    "gitworker.bus.files.retention": "gitworker.service.results_care:prune_json",
    "gitworker.bus.search.search_messages": "gitworker.service.results:found_json",
    "gitworker.claims.leases": "gitworker.observe.claim_list:claim_fields",
    "gitworker.fsck.doctor": "gitworker.fsck.doctor:json_doctor",
    "gitworker.fsck.fsck": "gitworker.service.results_care:fsck_json",
    "gitworker.journal.gc.gc": "gitworker.service.results_care:gc_json",
    "gitworker.journal.settled": "gitworker.service.results_care:settled_json",
    "gitworker.journal.undo.records": "gitworker.service.results_care:record_json",
    "gitworker.journal.undo.undo": "gitworker.service.results_care:undo_json",
    "gitworker.landing.landing_plan": "gitworker.service.results:planned_json",
    "gitworker.landing.queue_status": "gitworker.landing.queue_status:json_lineup",
    "gitworker.model.outcome": "gitworker.service.results:landed_json",
    "gitworker.observe.agents": "gitworker.observe.agents:json_agents",
    "gitworker.observe.bus": "gitworker.observe.bus:json_stats",
    "gitworker.observe.inbox.inbox": "gitworker.observe.inbox.inbox:json_inbox",
    "gitworker.observe.logs.events": "gitworker.observe.logs.events:json_event",
    "gitworker.observe.logs.followed_run": "gitworker.observe.logs.followed_run:json_end",
    "gitworker.observe.logs.log": "gitworker.observe.logs.log:json_log",
    "gitworker.observe.workers.diff": "gitworker.observe.workers.diff:json_diff",
    "gitworker.observe.workers.list": "gitworker.observe.workers.list:json_list",
    "gitworker.observe.workers.path": "gitworker.observe.workers.path:json_path",
    "gitworker.observe.workers.show": "gitworker.observe.workers.show_text:json_show",
    "gitworker.observe.workers.status": "gitworker.observe.workers.status_text:json_status",
    "gitworker.questions.question_list": "gitworker.questions.question_list:json_questions",
    "gitworker.questions.reply": "gitworker.questions.reply:json_replied",
    "gitworker.radar.radar": "gitworker.radar.radar_text:json_conflicts",
    "gitworker.repo.hooks.hook_status": "gitworker.service.results_care:hooks_json",
    "gitworker.service.care": "gitworker.service.results_care:fields_json",
    "gitworker.service.live.methods": "gitworker.service.results:stopped_json",
    "gitworker.service.talk": "gitworker.service.results:ordered_json",
    "gitworker.service.review": "gitworker.service.results:verified_json",
    "gitworker.states.question": "gitworker.questions.question_list:json_question",
    "gitworker.store.workers": "gitworker.service.results:worker_json",
    "gitworker.tasks.plan.import_plan": "gitworker.tasks.plan.import_plan:json_imported",
    "gitworker.tasks.queue.add_task": "gitworker.tasks.queue.add_task:json_task_in_queue",
    "gitworker.tasks.queue.ready": "gitworker.tasks.queue.ready:json_ready",
    "gitworker.tasks.views.graph": "gitworker.tasks.views.graph:json_graph",
    "gitworker.tasks.views.show_task": "gitworker.tasks.views.show_task:json_task",
    "gitworker.tasks.views.stats": "gitworker.tasks.views.stats:json_stats",
    "gitworker.tasks.views.task_facts": "gitworker.tasks.views.task_facts:json_why",
    "gitworker.workers.task_verbs.change": "gitworker.workers.task_verbs.change:json_changed_task",
    "gitworker.tasks.task_list": "gitworker.tasks.task_list:json_tasks",
    "gitworker.tasks.task_text": "gitworker.tasks.task_text:json_task_text",
    "gitworker.verify.trust": "gitworker.service.results:trust_json",
    "gitworker.verify.verify": "gitworker.service.results:verdict_json",
    "gitworker.workers.adopt": "gitworker.service.results:adopted_json",
    "gitworker.workers.approve": "gitworker.service.results:approved_json",
    "gitworker.workers.cancel": "gitworker.service.results:freed_json",
    "gitworker.workers.spawn": "gitworker.service.results:spawned_json",
    "gitworker.workers.submit": "gitworker.service.results:submitted_json",
    "gitworker.workers.sync": "gitworker.service.results:synced_json",
    "gitworker.workers.wait": "gitworker.service.results:waited_json",
    "gitworker.worktrees.commit_work": "gitworker.service.results:committed_json",
    "gitworker.worktrees.pool.keep_ready": "gitworker.service.results_care:pool_json",
}


def to_json(result: Any) -> Any:
    """Return a result of the service as JSON data; a list as a list, a message as it is."""
    if isinstance(result, str | int | dict):
        return result
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
        "conflict_markers": list(done.marked),
    }


def committed_json(done: Committed) -> dict[str, Any]:
    """Return a new commit with its files, and the number of files that are still uncommitted."""
    return {
        **worker_json(done.worker),
        "commit": done.commit,
        "files": list(done.files),
        "left": done.left,
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
        **_left_out_json(approved.left_out),
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
        **_left_out_json(result.left_out),
    }


def stopped_json(stopped: LandingStopped) -> dict[str, Any]:
    """Return an attempt to land that failed as a whole."""
    return {"landed": False, "error": stopped.error.to_json()}


def _left_out_json(left_out: LeftOut | None) -> dict[str, Any]:
    """Return the uncommitted files that were left out, and the place that keeps them."""
    if left_out is None:
        return {"left_out": [], "left_out_in": None}
    return {"left_out": list(left_out.files), "left_out_in": left_out.kept_in}


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


def verified_json(verified: Verified) -> dict[str, Any]:
    """Return the verdict on a commit, with the commit."""
    return {"commit": verified.commit, **verdict_json(verified.verdict)}


def synced_json(synced: Synced) -> dict[str, Any]:
    """Return a branch that was rebased onto the target or onto its parent."""
    return {
        **worker_json(synced.worker),
        "old": synced.old,
        "new": synced.new,
        "target": synced.target,
        "parent": synced.parent,
        "kept": synced.kept,
    }


def published_json(published: PublishedBranch) -> dict[str, Any]:
    """Return a branch that was pushed to a remote."""
    return published._asdict()


def ordered_json(order: Order) -> dict[str, Any]:
    """Return a command to a worker's agent."""
    return order._asdict()


def waited_json(waited: Waited) -> dict[str, Any]:
    """Return a worker at the end of a wait, with its last verdict."""
    return {**waited._asdict(), "state": waited.state.value}


def found_json(found: SearchResult) -> dict[str, Any]:
    """Return a message that a search has found."""
    return {**found.message, "snippet": found.snippet}


def trust_json(one: TrustRecord | RepositoryCommands) -> dict[str, Any]:
    """Return commands of the repository, with the agreement if there is one."""
    from gitworker.verify.trust import TrustRecord

    if isinstance(one, TrustRecord):
        return {**trust_json(one.brought), "by": one.trusted_by, "at": clock.iso_utc(one.ts_ms)}
    return {
        "kind": one.kind,
        "hash": one.hash,
        "commands": list(one.commands),
        "env": list(one.env),
    }
