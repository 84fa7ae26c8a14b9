"""The whole screen of status at several widths, on frozen data."""

import pytest

from gitworker.liveness.rules_stale import Liveness
from gitworker.model.ids import Oid
from gitworker.model.worker import WorkerState
from gitworker.observe.text_width import width_of
from gitworker.observe.workers.overlaps import Overlap
from gitworker.observe.workers.returned import ReturnedWork, returned_text
from gitworker.observe.workers.status import StatusScreen, WorkerLine
from gitworker.observe.workers.status_text import json_status, render_status
from gitworker.repo.history.walk import Tip
from gitworker.store.commits.verify_runs import VerifiedCommit
from tests.unit.observe.test_status import FAILED, NOW, STATUS, TIP, WORKING, row

DAY_MS = 86_400_000
FILES = ("app/models/invoice.py", "app/routes.py")
CONFLICT = ReturnedWork("merge_conflict", TIP, FILES, "", "", is_waiting=True)
RETURNED = row(
    "billing", WorkerState.WORKING, task="export-invoices-as-pdf", liveness=Liveness.WARN,
    tip=Tip(TIP, "x", 12, 104), returned=CONFLICT, news=returned_text(CONFLICT),
    next_command="git worker sync --as billing",
)  # fmt: skip
REVIEW = row(
    "ui", WorkerState.IN_REVIEW, task="日本語のログイン", tip=Tip(TIP, "x", 1, 0),
    news="conflicts with main in README", conflicts=(Overlap("main", ("README",)),),
    verified=VerifiedCommit(Oid(TIP), "passed", "", "/logs/1", NOW),
)  # fmt: skip
STALE = row(
    "search", WorkerState.STALE, task="index", news="waits for a sign of life",
    next_command="git worker recover search",
)  # fmt: skip
OLD = row("old", WorkerState.COMPLETED, since_ms=NOW - 2 * DAY_MS, news="waits for its next task")
NEW = row("fresh", WorkerState.COMPLETED, task="y", since_ms=NOW - 3_600_000, news="waits")


def screen(*workers: WorkerLine) -> StatusScreen:
    """Return a screen of workers only."""
    return StatusScreen(NOW, "main", TIP, workers, (), (), ())


SCREEN = STATUS._replace(workers=(RETURNED, FAILED, NEW, OLD, STALE, REVIEW, WORKING))
BARE = SCREEN._replace(tasks=(), operations=(), events=())

AT_80 = """\
target main  1234567890

WORKER   TASK     STATE      AGE  LIVE  DONE  +/-       NEWS
auth     skills…  at work    2m   OK    40%   +3/-1     Add \\x1b[2Jskills
billing  export…  at work    2m   WARN  -     +12/-104  conflict in app/models/…
         → git worker sync --as billing
         files: app/models/invoice.py, app/routes.py
ui       日本語…  in review  2m   -     -     +1/-0     conflicts with main in …
         → git worker next ui
search   index    stale      2m   -     -     -         waits for a sign of life
         → git worker recover search
docs     guide    failed     2h   -     -     -         no idea how to test it
         → git worker next docs
fresh    y        landed     1h   -     -     -         waits

1 worker completed more than a day ago: git worker status --all"""

AT_120 = """\
target main  1234567890

WORKER   TASK                    STATE      AGE  LIVE  DONE  +/-       NEWS
auth     skills-abc              at work    2m   OK    40%   +3/-1     Add \\x1b[2Jskills
billing  export-invoices-as-pdf  at work    2m   WARN  -     +12/-104  conflict in app/models/invoice.py, app/routes.py
         → git worker sync --as billing
ui       日本語のログイン        in review  2m   -     -     +1/-0     conflicts with main in README
         → git worker next ui
search   index                   stale      2m   -     -     -         waits for a sign of life
         → git worker recover search
docs     guide                   failed     2h   -     -     -         no idea how to test it
         → git worker next docs
fresh    y                       landed     1h   -     -     -         waits

1 worker completed more than a day ago: git worker status --all"""  # noqa: E501 - a screen of 120 columns


def test_screen_at_80_columns() -> None:
    """Only worker, task and news are narrowed; commands and files are below their worker, whole."""
    assert render_status(BARE, width=80, color=False) == AT_80


@pytest.mark.parametrize("width", [120, None])
def test_screen_at_120_columns_and_on_a_pipe(width: int | None) -> None:
    """Workers at work come first, then those in review, then those that need help."""
    assert render_status(BARE, width=width, color=False) == AT_120


@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    """Every line fits the columns of the terminal, wide characters included."""
    lines = render_status(SCREEN, width=width, color=False).splitlines()
    assert max(map(width_of, lines)) <= width


def test_empty_columns_are_left_out() -> None:
    """A column in which no worker has a value is not shown."""
    assert render_status(screen(NEW), width=80, color=False).splitlines()[2:] == [
        "WORKER  TASK  STATE   AGE  NEWS",
        "fresh   y     landed  1h   waits",
    ]


def test_workers_that_completed_long_ago() -> None:
    """Workers that completed more than a day ago are counted in one line, or shown on request."""
    other = OLD._replace(worker="older")
    assert render_status(screen(OLD, other), width=80, color=False).splitlines()[2:] == [
        "2 workers completed more than a day ago: git worker status --all"
    ]
    shown = render_status(screen(OLD, other), width=80, color=False, include_all=True)
    assert shown.splitlines()[2:] == [
        "WORKER  STATE   AGE  NEWS",
        "old     landed  2d   waits for its next task",
        "older   landed  2d   waits for its next task",
    ]


def test_json_has_every_worker_with_its_findings() -> None:
    """The document has all workers, with the reason of a return, verdict, conflicts, command."""
    workers = {one["worker"]: one for one in json_status(SCREEN)["workers"]}
    assert list(workers) == [one.worker for one in SCREEN.workers]
    assert workers["billing"]["returned"] == {
        "by": "merge_conflict", "commit": TIP, "files": list(FILES), "log": None, "note": None,
        "waits_for_author": True,
    }  # fmt: skip
    assert workers["billing"]["next"] == "git worker sync --as billing"
    assert workers["ui"]["conflicts"] == [{"with": "main", "files": ["README"]}]
    assert workers["ui"]["verify"] == {
        "verdict": "passed", "reason": "", "log": "/logs/1", "at": "1970-01-01T02:46:40.000Z",
    }  # fmt: skip
