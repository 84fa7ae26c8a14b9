"""The landing queue as text."""

from gitworker.landing.queue_status import QueueEntry, QueueStatus
from gitworker.observe.text import GREEN, NOTHING, RED, YELLOW, age_text, cut, paint, table
from gitworker.store.windows import QueueWindow

HEAD = ("#", "WORKER", "TASK", "PRIORITY", "WAITS", "SENT BACK", "AFTER")
COLORS = {"landed": GREEN, "failed": RED, "cut_off": YELLOW, "moved": YELLOW, "refused": YELLOW}
MEANING = {
    "landed": "landed",
    "failed": "a worker failed",
    "moved": "rebuilt because the target or a branch moved",
    "refused": "could not land",
    "cut_off": "cut off",
    None: "being verified",
}


def render_lineup(status: QueueStatus, *, width: int | None, color: bool) -> str:
    """Return the queue as a table, then the newest windows with a line for each verdict."""
    rows = [_row(number, entry) for number, entry in enumerate(status.entries, 1)]
    lines = table(HEAD, rows, width=width, color=color) if rows else ["nothing is approved"]
    for window in status.windows:
        lines += ["", *_window(window, width=width, color=color)]
    return "\n".join(lines)


def _row(number: int, entry: QueueEntry) -> tuple[str, ...]:
    return (
        str(number),
        entry.worker_id,
        entry.task_id,
        str(entry.priority),
        age_text(entry.waited_ms),
        str(entry.failures) if entry.failures else NOTHING,
        ", ".join((*entry.after, *(("a person",) if entry.is_held else ()))) or NOTHING,
    )


def _window(window: QueueWindow, *, width: int | None, color: bool) -> list[str]:
    names = " ".join(one["worker"] for one in window.workers)
    place = f" on {window.machine}" if window.machine and not window.outcome else ""
    state = MEANING[window.outcome] + place
    head = f"window {window.id}: {state}, {window.landed} of {len(window.workers)} landed: "
    painted = paint(state, COLORS.get(window.outcome or ""), color=color)
    lines = [cut(head + names, width).replace(state, painted, 1)]
    for verdict in window.verdicts:
        if verdict["passed"]:
            result = "passed" + (" (flaky)" if verdict["flaky"] else "")
        else:
            result = f"failed: {verdict['reason']}"
        known = ", known" if verdict["cached"] else ""
        seconds = f"{verdict['duration_ms'] / 1000:.1f} s"
        text = f"  first {verdict['prefix']}: {result} ({seconds}{known})"
        lines.append(cut(text + (f" {verdict['log']}" if verdict["log"] else ""), width))
    return lines
