"""A review's page as JSON data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.review.comments.comment_json import json_anchored

if TYPE_CHECKING:
    from gitworker.review.page.evidence import Evidence
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.page.rules_order import PageFile


def json_page(page: ReviewPage) -> dict[str, Any]:
    """Return the page as JSON data."""
    worker, now = page.worker, page.round
    return {
        "worker": worker.worker_id, "state": worker.state.value, "task": worker.task_id,
        "title": page.title, "text": page.task_text, "note": page.note, "branch": worker.branch,
        "target": page.target, "round": now.number, "base": now.base, "tip": now.tip,
        "later_tip": page.later, "commits": [one._asdict() for one in now.commits],
        "evidence": _json_evidence(page.evidence),
        "files": [_json_file(one, page.viewed) for one in page.files],
        "comments": [json_anchored(one) for one in page.comments],
    }  # fmt: skip


def _json_evidence(found: Evidence) -> dict[str, Any]:
    return {
        "verify_commands": list(found.commands),
        "verify_runs": [
            {
                "commit": run.commit_oid, "tree": run.tree_oid, "verdict": run.verdict,
                "flaky": run.flaky, "reason": run.reason, "log": run.log, "tail": list(tail),
                "at": clock.iso_utc(run.ts_ms), "duration_ms": run.duration_ms,
            }
            for run, tail in found.runs
        ],
        "conflicts": [one._asdict() for one in found.conflicts],
        "uncommitted": list(found.uncommitted),
        "claims": [one._asdict() for one in found.claims],
        "missing": list(found.missing),
    }  # fmt: skip


def _json_file(file: PageFile, viewed: frozenset[str]) -> dict[str, Any]:
    change = file.patch.change
    return {
        "path": change.path, "old_path": change.old_path, "status": change.status,
        "old_mode": change.old_mode, "new_mode": change.new_mode, "binary": file.patch.is_binary,
        "risks": list(file.risks), "folded": file.folded, "facts": file.patch.facts,
        "viewed": viewed.issuperset(file.patch.ids),
        "hunks": [
            hunk._asdict() | {"viewed": hunk.id in viewed, "lines": list(hunk.lines)}
            for hunk in file.patch.hunks
        ],
    }  # fmt: skip
