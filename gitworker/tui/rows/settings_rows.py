"""The findings of doctor and the settings with their origin as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.settings.settings_text import render_origin, render_value
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, Part, paragraphs, row, title

if TYPE_CHECKING:
    from gitworker.fsck.doctor import Doctor
    from gitworker.settings.effective_settings import SettingList
    from gitworker.tui.rows.row import Row

INDENT = " " * 6
LEVELS = {"ok": GOOD, "warn": NOTED, "fail": BAD}


def settings_rows(found: SettingList, doctor: Doctor, *, width: int) -> list[Row]:
    """Return the findings with their commands, then every setting."""
    rows: list[Row] = [title("Doctor")]
    for one in doctor.findings:
        level = one.level.value
        head = (Part(f"  {level:<4}", LEVELS.get(level, "")), " ", Part(one.code, BOLD))
        rows.append(row(*head, key=one))
        rows += paragraphs(one.message, width=width, indent=INDENT)
        if one.hint:
            rows.append(row(INDENT, Part(one.hint, DIM)))
    rows += [row(), title("Settings")]
    for error in found.errors:
        rows.append(row("  ", Part(error.message, BAD)))
        rows.append(row(INDENT, Part(error.hint or "", DIM)))
    size = max((len(one.key) for one in found.settings), default=0)
    rows += [
        row(
            f"  {one.key:<{size}}  ", Part(render_value(one, "; "), BOLD),
            Part(f"  {render_origin(one)}", DIM), key=one.key,
        )
        for one in found.settings
    ]  # fmt: skip
    return rows
