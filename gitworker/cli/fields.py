"""Output parts that several commands share: a worker's JSON fields, short commit ids."""

from __future__ import annotations

from gitworker.rules_text import count_text

TYPE_CHECKING = False  # the cancel module costs 25 ms, which other commands must not pay
if TYPE_CHECKING:
    from gitworker.model.outcome import LeftOut
    from gitworker.workers.cancel import FreedWorker

SHORT = 10
FILES_SHOWN = 5


def freed_text(freed: FreedWorker) -> str:
    """Return a freed worker's state, the ref that keeps its work, and the command to undo.

    If another worker has its task, that is a command which makes a branch of its work.
    """
    lines = [freed.worker.in_words]
    if freed.rescue_ref and freed.had_work:
        kept = "work is" if freed.missing is None else "commits are"
        kept = "commits and staged files are" if freed.staged else kept
        lines.append(f"its {kept} kept under {freed.rescue_ref}")
    if freed.missing is not None:
        work = "other uncommitted work" if freed.staged else "uncommitted work"
        lines.append(f"its worktree was not at {freed.missing}, so no {work} was found")
    for name in freed.stacked:
        lines.append(
            f"{name} is stacked on it and will land without it"
            " (to keep its commits: git worker sync --take-parent)"
        )
    if freed.undo_refusal is not None:
        lines.append(f"undo cannot return its task: {freed.undo_refusal}")
        if freed.rescue_ref and freed.had_work:
            lines.append(f"a branch with its work: git branch <name> {freed.rescue_ref}")
    elif freed.task_id is not None:
        lines.append("undo: git worker undo")
    return "\n".join(lines)


def left_out_text(left_out: LeftOut) -> str:
    """Return the uncommitted files that were left out, and the place that keeps them."""
    files = left_out.files
    shown = ", ".join(files[:FILES_SHOWN])
    more = len(files) - FILES_SHOWN
    listed = shown + (f" and {more} more" if more > 0 else "")
    number = count_text(len(files), "uncommitted file")
    return f"left out: {number} ({listed}), kept in {left_out.kept_in}"


def short(oid: str) -> str:
    """Return a commit id shortened for people."""
    return oid[:SHORT]
