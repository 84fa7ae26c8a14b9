"""The JSON of results that concern the repository itself; `results.to_json` finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.model.ref_names import LOG
from gitworker.service.results import worker_json

if TYPE_CHECKING:
    from gitworker.agents.hooks.attach import AttachedAgent
    from gitworker.agents.restart import Restart
    from gitworker.bus.files.retention import PrunePlan, PruneResult
    from gitworker.fsck.finding import Finding
    from gitworker.fsck.fsck import FsckReport, RepairReport
    from gitworker.journal.gc.gc import CollectedItems
    from gitworker.journal.gc.rules_gc import Item
    from gitworker.journal.settled import Settled
    from gitworker.journal.undo.records import ListedRecord
    from gitworker.journal.undo.undo import Undone
    from gitworker.repo.hooks.hook_status import HookStatus
    from gitworker.service.repair import ExportedLogs, Initialised
    from gitworker.store.operations import Operation
    from gitworker.worktrees.pool.keep_ready import PoolState


def undo_json(undone: Undone) -> dict[str, Any]:
    """Return an operation that was undone, with its workers."""
    workers = [worker_json(worker) for worker in undone.workers]
    return {
        "undone": undone.kind,
        "number": undone.number,
        "message": undone.message,
        **(workers[0] if workers else {}),
        "workers": workers,
        "skipped": [
            {
                "number": one.record.number,
                "kind": one.record.kind,
                "workers": list(one.record.workers),
                "error": one.error.to_json(),
            }
            for one in undone.skipped
        ],
    }


def record_json(one: ListedRecord) -> dict[str, Any]:
    """Return a recorded operation, and whether it can be undone."""
    return {
        "number": one.record.number,
        "kind": one.record.kind,
        "at_ms": one.record.at_ms,
        "actor": one.record.actor,
        "workers": list(one.record.workers),
        "tasks": [part.task_id for part in one.record.operations if part.task_id],
        "rescue": one.record.rescue,
        "can_undo": one.refusal is None,
        "why_not": one.refusal and one.refusal.message,
        "hint": one.refusal and one.refusal.hint,
    }


def settled_json(settled: Settled) -> dict[str, Any]:
    """Return the interrupted operations that were settled, and those that are still open."""
    return {
        "settled": [_operation(operation) for operation in settled.ended],
        "left": [
            {**_operation(operation), "error": error.to_json()} for operation, error in settled.left
        ],
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


def prune_json(result: PrunePlan | PruneResult) -> dict[str, Any]:
    """Return the messages that a prune removed, or would remove."""
    from gitworker.bus.files.retention import PruneResult

    if not isinstance(result, PruneResult):
        return {**result._asdict(), "dry_run": True}
    return {
        **result.plan._asdict(),
        "archive": result.archive,
        "blobs": result.collected.blobs,
        "blob_bytes": result.collected.size_bytes,
        "freed_bytes": result.freed_bytes,
        "dry_run": False,
    }


def pool_json(state: PoolState) -> dict[str, Any]:
    """Return the parked worktrees."""
    return {
        "wanted": state.wanted,
        "tip": state.tip,
        "parked": [
            {"path": one.tree, "commit": one.commit, "caches": one.is_warm} for one in state.parked
        ],
        "working": state.working,
    }


def hooks_json(found: HookStatus) -> dict[str, Any]:
    """Return the worktrees with their hooks, and the user's own hooks."""
    return {
        "worktrees": [
            {"path": tree.path, "installed": tree.is_installed} for tree in found.worktrees
        ],
        "user_hooks": sorted(found.user_hooks.names),
        "tampered": list(found.tampered),
        "stale": found.is_stale,
        "by_config": found.by_config,
    }


def fields_json(result: Initialised | ExportedLogs) -> dict[str, Any]:
    """Return a set-up, or the log files with their commit if there is one."""
    from gitworker.service.repair import Initialised

    if isinstance(result, Initialised):
        return result._asdict()
    files = {"bus": result.bus, "transitions": result.transitions}
    if result.commit is None:
        return files
    return {
        **files,
        "ref": LOG,
        "commit": result.commit.oid,
        "committed": result.commit.is_new,
    }


def _operation(operation: Operation) -> dict[str, Any]:
    return {
        "kind": operation.kind,
        "worker": operation.worker_id,
        "task": operation.task_id,
        "step": operation.step,
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


def attached_json(done: AttachedAgent) -> dict[str, Any]:
    """Return an agent and the files in which its hooks were attached or removed."""
    return {"agent": done.agent, "files": list(done.files)}


def restart_json(found: Restart) -> dict[str, Any]:
    """Return the command that starts an agent again."""
    return {**found._asdict(), "words": list(found.words)}
