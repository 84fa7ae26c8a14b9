"""conflicts: the conflicting branches, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.observe.text import BOLD, cut, few_files, one_line, paint
from gitworker.observe.text_width import padded, width_of
from gitworker.rules_text import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.radar.radar import BranchPair, RadarBranch, RadarResult

INDENT = "  "
BETWEEN = " × "


def render_conflicts(found: RadarResult, *, width: int | None, color: bool) -> str:
    """Return one line for each pair that conflicts, those with the target first.

    Without a width: the two names and every file, separated by tabs, for scripts.
    """
    if width is None:
        rows = ((one.one.name, one.other.name, *(one.files or ())) for one in found.conflicts)
        return "\n".join("\t".join(map(one_line, row)) for row in rows)
    lines = []
    with_target = [one for one in found.conflicts if one.other == found.target]
    with_others = [one for one in found.conflicts if one.other != found.target]
    for title, group in (
        (f"with {found.target.branch}:", with_target),
        ("with each other:", with_others),
    ):
        if group:
            lines.append(paint(cut(title, width), BOLD, color=color))
            lines += _rows(group, found.target, width)
    lines.append(cut(_summary(found), width))
    return "\n".join(lines)


def json_conflicts(found: RadarResult) -> dict[str, Any]:
    """Return the conflicts with all files, and the origin of the verdicts, as JSON data."""
    verdicts = found.verdicts
    return {
        "target": _side(found.target),
        "branches": [_side(blip) for blip in found.blips],
        "conflicts": [
            {"one": _side(one.one), "other": _side(one.other), "files": list(one.files or ())}
            for one in found.conflicts
        ],
        "unknown": [
            {"one": _side(one.one), "other": _side(one.other)} for one in found.unknown
        ],
        "pairs": {
            "all": len(found.meetings), "merged": verdicts.merged, "skipped": verdicts.skipped,
            "cached": verdicts.cached,
        },
    }  # fmt: skip


def describe(meeting: BranchPair) -> str:
    """Return a pair in words."""
    return f"{meeting.one.name} and {meeting.other.name}"


def _rows(group: Sequence[BranchPair], target: RadarBranch, width: int) -> list[str]:
    heads = [
        one.one.name if one.other == target else f"{one.one.name}{BETWEEN}{one.other.name}"
        for one in group
    ]
    widest = max(map(width_of, heads))
    return [
        cut(f"{INDENT}{padded(head, widest)}{INDENT}{few_files(one.files or ())}", width)
        for head, one in zip(heads, group, strict=True)
    ]


def _summary(found: RadarResult) -> str:
    conflicts, verdicts = len(found.conflicts), found.verdicts
    pairs = count_text(len(found.meetings), "pair")
    branches = "1 branch" if len(found.blips) == 1 else f"{len(found.blips)} branches"
    result = count_text(conflicts, "conflict") if conflicts else "no conflicts"
    how = f"{verdicts.merged} merged, {verdicts.skipped} apart, {verdicts.cached} known"
    return f"{result} in {pairs} of {branches} ({how})"


def _side(blip: RadarBranch) -> dict[str, str | None]:
    return {
        "worker": blip.worker, "task": blip.task, "branch": blip.branch, "commit": blip.tip,
    }  # fmt: skip
