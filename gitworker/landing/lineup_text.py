"""The landing queue as text for people."""

from gitworker.landing.lineup import Lineup, Place
from gitworker.observe.text import GREEN, NOTHING, RED, YELLOW, age_text, cut, paint, table
from gitworker.store.windows import Window

HEAD = ("#", "WORKER", "TASK", "PRIORITY", "WAITS", "CAME BACK", "AFTER")
COLORS = {"landed": GREEN, "failed": RED, "cut_off": YELLOW, "moved": YELLOW, "refused": YELLOW}
MEANING = {
    "landed": "landed",
    "failed": "somebody failed",
    "moved": "put together anew, since something had moved",
    "refused": "could not land",
    "cut_off": "cut off",
    None: "being verified",
}


def render_lineup(lineup: Lineup, *, width: int | None, color: bool) -> str:
    """Return the line as a table, then the newest windows, a line for each verdict."""
    rows = [_row(number, place) for number, place in enumerate(lineup.places, 1)]
    lines = table(HEAD, rows, width=width, color=color) if rows else ["nothing is approved"]
    for window in lineup.windows:
        lines += ["", *_window(window, width=width, color=color)]
    return "\n".join(lines)


def _row(number: int, place: Place) -> tuple[str, ...]:
    return (
        str(number),
        place.worker_id,
        place.task_id,
        str(place.priority),
        age_text(place.waited_ms),
        str(place.failures) if place.failures else NOTHING,
        ", ".join(place.after) or NOTHING,
    )


def _window(window: Window, *, width: int | None, color: bool) -> list[str]:
    names = " ".join(one["worker"] for one in window.workers)
    state = MEANING[window.outcome]
    head = f"window {window.id}: {state}, {window.landed} of {len(window.workers)} landed: "
    painted = paint(state, COLORS.get(window.outcome or ""), color=color)
    lines = [cut(head + names, width).replace(state, painted, 1)]
    for verdict in window.verdicts:
        if verdict["passed"]:
            said = "passed" + (" (flaky)" if verdict["flaky"] else "")
        else:
            said = f"failed: {verdict['reason']}"
        known = ", known" if verdict["cached"] else ""
        seconds = f"{verdict['duration_ms'] / 1000:.1f} s"
        text = f"  first {verdict['prefix']}: {said} ({seconds}{known})"
        lines.append(cut(text + (f" {verdict['log']}" if verdict["log"] else ""), width))
    return lines
