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
    from gitworker.service.review.landing import Rejected, Verified
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

# The function that renders each kind of result, by the module of `gitworker` that defines the
# kind, and by its class where a module defines several.
RENDERED_BY = {
    "agents.detach": "agents.detach:json_detached",
    "agents.doctor.diagnose": "agents.doctor.health_text:json_agent_doctor",
    "agents.hooks.attach": "service.results_repair:attached_json",
    "agents.restart": "service.results_repair:restart_json",
    "automations.show:AutomationHistory": "automations.show:json_history",
    "automations.show:AutomationList": "automations.show:json_list",
    "branches.publish_branch": "service.results:published_json",
    "bus.files.retention": "service.results_repair:prune_json",
    "bus.search.search_messages": "service.results:found_json",
    "claims.leases": "observe.claim_list:claim_fields",
    "fleet.edit": "fleet.edit:json_edited",
    "fleet.join": "fleet.join:json_joined",
    "fleet.leave": "fleet.leave:json_left",
    "fleet.verify_offered": "fleet.verify_offered:json_prefix",
    "fsck.doctor": "fsck.doctor:json_doctor",
    "fsck.fsck": "service.results_repair:fsck_json",
    "journal.gc.gc": "service.results_repair:gc_json",
    "journal.settled": "service.results_repair:settled_json",
    "journal.undo.records": "service.results_repair:record_json",
    "journal.undo.undo": "service.results_repair:undo_json",
    "landing.landing_plan": "service.results:planned_json",
    "landing.queue_status": "landing.queue_status:json_lineup",
    "model.outcome": "service.results:landed_json",
    "observe.agents": "observe.agents:json_agents",
    "observe.bus": "observe.bus:json_stats",
    "observe.inbox.inbox": "observe.inbox.inbox:json_inbox",
    "observe.logs.events": "observe.logs.events:json_event",
    "observe.logs.followed_run": "observe.logs.followed_run:json_end",
    "observe.logs.log": "observe.logs.log:json_log",
    "observe.logs.running_verify": "observe.logs.running_verify:json_running",
    "observe.logs.verify_output": "observe.logs.verify_output:json_verify_output",
    "observe.machines": "observe.machines:json_fleet",
    "observe.queue.agent_use": "tasks.agents.read_agents:json_agent",
    "observe.timeline.timeline": "observe.timeline.timeline:json_timeline",
    "observe.workers.diff": "observe.workers.diff:json_diff",
    "observe.workers.list": "observe.workers.list:json_list",
    "observe.workers.path": "observe.workers.path:json_path",
    "observe.workers.show": "observe.workers.show_text:json_show",
    "observe.workers.status": "observe.workers.status_text:json_status",
    "orchestrator.results": "orchestrator.results:json_summary",
    "orchestrator.rules_next": "orchestrator.results:json_plan",
    "notifications.send": "notifications.show:json_delivery",
    "notifications.show": "notifications.show:json_notifications",
    "questions.question_list": "questions.question_list:json_questions",
    "questions.reply": "questions.reply:json_replied",
    "radar.conflict": "radar.conflict:json_conflict",
    "radar.radar": "radar.radar_text:json_conflicts",
    "repo.hooks.hook_status": "service.results_repair:hooks_json",
    "review.comments.list_comments": "review.comments.list_comments:json_comments",
    "review.comments.send": "review.comments.comment_json:json_sent",
    "review.compare": "review.compare:json_comparison",
    "review.viewed_marks": "review.viewed_marks:json_marks",
    "review.page.page": "review.page.page_json:json_page",
    "service.repair": "service.results_repair:fields_json",
    "service.live.methods": "service.results:stopped_json",
    "service.queue.board": "service.queue.board:json_reader",
    "service.review.landing:Verified": "service.results:verified_json",
    "service.review.landing:Rejected": "service.results:rejected_json",
    "service.talk": "service.results:ordered_json",
    "settings.change_setting": "settings.settings_text:json_changed",
    "settings.effective_settings:SettingList": "settings.settings_text:json_settings",
    "settings.effective_settings:SettingValue": "settings.settings_text:json_setting",
    "states.question": "questions.question_list:json_question",
    "store.planning.automations:Automation": "automations.show:json_automation",
    "store.planning.automations:AutomationRun": "automations.show:json_run",
    "store.reviewing.comments": "review.comments.comment_json:json_comment",
    "store.workers": "service.results:worker_json",
    "tasks.plan.import_plan": "tasks.plan.import_plan:json_imported",
    "tasks.projects.read_projects": "tasks.projects.read_projects:json_project",
    "tasks.queue.add_task": "tasks.queue.add_task:json_task_in_queue",
    "tasks.queue.ready": "tasks.queue.ready:json_ready",
    "tasks.task_list": "tasks.task_list:json_tasks",
    "tasks.task_text": "tasks.task_text:json_task_text",
    "tasks.views.graph": "tasks.views.graph:json_graph",
    "tasks.views.show_task": "tasks.views.show_task:json_task",
    "tasks.views.stats": "tasks.views.stats:json_stats",
    "tasks.views.task_facts": "tasks.views.task_facts:json_why",
    "verify.trust": "service.results:trust_json",
    "verify.verify": "service.results:verdict_json",
    "workers.adopt": "service.results:adopted_json",
    "workers.approve": "service.results:approved_json",
    "workers.cancel": "service.results:freed_json",
    "workers.spawn": "service.results:spawned_json",
    "workers.submit": "service.results:submitted_json",
    "workers.sync": "service.results:synced_json",
    "workers.task_verbs.change": "workers.task_verbs.change:json_changed_task",
    "workers.wait": "service.results:waited_json",
    "workstreams.show:WorkstreamList": "workstreams.show:json_list",
    "workstreams.show:WorkstreamView": "workstreams.show:json_view",
    "workstreams.validate": "workstreams.validate:json_validation",
    "worktrees.commit_work": "service.results:committed_json",
    "worktrees.pool.keep_ready": "service.results_repair:pool_json",
}


def to_json(result: Any) -> Any:
    """Return a result of the service as JSON data; a list as a list, a message as it is."""
    if isinstance(result, str | int | dict):
        return result
    if isinstance(result, list):
        return [to_json(one) for one in result]
    kind = type(result)
    home = kind.__module__.removeprefix("gitworker.")
    place = RENDERED_BY.get(home) or RENDERED_BY.get(f"{home}:{kind.__name__}")
    if place is None:
        raise TypeError(f"{kind.__name__} is not a result of the service")
    module, _, name = place.partition(":")
    home_of_render = import_module(f"gitworker.{module}")
    render: Callable[[Any], dict[str, Any]] = getattr(home_of_render, name)
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
        "put_off": done.is_put_off,
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
        "next": approved.next_command,
    }


def rejected_json(rejected: Rejected) -> dict[str, Any]:
    """Return the worker whose work was sent back."""
    return {**worker_json(rejected.worker), "next": rejected.next_command}


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
