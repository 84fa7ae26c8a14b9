"""status and list on frozen data: the whole screen."""

import pytest

from gitworker.liveness.rules_stale import Liveness
from gitworker.model.ids import Oid
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.events import Event
from gitworker.observe.workers.list import ListedWorker, WorkerList, json_list, render_list
from gitworker.observe.workers.returned import ReturnedWork
from gitworker.observe.workers.status import OpenOperation, StatusScreen, WorkerLine
from gitworker.observe.workers.status_text import json_status, render_status
from gitworker.repo.history.walk import Tip

NOW = 10_000_000
TIP = Oid("1234567890" * 4)


def row(worker: str, state: WorkerState, **facts: object) -> WorkerLine:
    """Return a worker with the given facts only."""
    empty: dict[str, object] = {
        "since_ms": NOW - 125_000, "task": None, "task_status": None, "branch": None,
        "liveness": Liveness.UNKNOWN, "progress": None, "waits_for": None, "last_error": None,
        "tip": None, "news": "waits for a task", "next_command": f"git worker next {worker}",
    }  # fmt: skip
    return WorkerLine(worker=worker, state=state, **{**empty, **facts})  # type: ignore[arg-type]


WORKING = row(
    "auth", WorkerState.WORKING, task="skills-abc", task_status=TaskStatus.IN_PROGRESS,
    branch="auth/skills-abc", liveness=Liveness.OK, progress=0.4,
    tip=Tip(TIP, "Add \x1b[2Jskills", 3, 1), news="Add \x1b[2Jskills",
)  # fmt: skip
FAILED = row(
    "docs", WorkerState.FAILED, since_ms=NOW - 7_200_000, task="guide", branch="docs/guide",
    last_error="no idea how to test it", news="no idea how to test it",
    tip=Tip(TIP, "Write", None, None),
)  # fmt: skip
STATUS = StatusScreen(
    now_ms=NOW,
    target="main",
    target_tip=TIP,
    workers=(WORKING, FAILED, row("spare", WorkerState.IDLE)),
    tasks=(("FAILED", 1), ("IN_PROGRESS", 1)),
    operations=(OpenOperation("merge", "auth", "begun", NOW - 3_000),),
    events=(
        Event(NOW - 60_000, 7, "transition", "auth", "start", actor="hq", machine="worker",
              from_state="ASSIGNED", to_state="WORKING", body="{}"),
        Event(NOW - 1_000, 9, "message", "auth", "task_progress", task="skills-abc",
              body='{"subject": "Add skills"}'),
    ),
)  # fmt: skip

SCREEN = """\
target main  1234567890

WORKER  TASK        STATE    AGE  LIVE  DONE  +/-    NEWS
auth    skills-abc  at work  2m   OK    40%   +3/-1  Add \\x1b[2Jskills
docs    guide       failed   2h   -     -     -      no idea how to test it
        → git worker next docs
spare   -           no task  2m   -     -     -      waits for a task

tasks: 1 failed, 1 in progress
→ git worker task list failed

open operations
  3s  merge of auth, at step begun

last events
  1m  auth  not started yet → at work, by hq
  1s  auth  task_progress  skills-abc: Add skills"""


def test_screen() -> None:
    """The screen shows target, workers, tasks, open operations and the last events."""
    assert render_status(STATUS, width=80, color=False) == SCREEN
    assert render_status(STATUS, width=None, color=False) == SCREEN


def test_screen_fits_the_width() -> None:
    """No line is wider than the screen."""
    lines = render_status(STATUS, width=60, color=False).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[4] == "docs    guide   failed   2h   -     -     -      no idea ho…"


def test_screen_in_colour() -> None:
    """States and liveness are coloured; text from outside is still escaped."""
    text = render_status(STATUS, width=80, color=True)
    assert "\x1b[36mat work\x1b[0m  2m   \x1b[32mOK\x1b[0m    40%" in text
    assert "\x1b[31mfailed\x1b[0m   2h   -" in text
    assert "\x1b[2J" not in text


def test_empty_screen() -> None:
    """Without workers the screen names the command that makes one, once there is a commit."""
    empty = StatusScreen(NOW, "trunk", None, (), (), (), ())
    assert render_status(empty, width=80, color=False) == (
        "target trunk  no commit yet\n\nno workers yet: git worker doctor"
    )
    begun = render_status(empty._replace(target_tip="0" * 40), width=80, color=False)
    assert begun.endswith("no workers yet: git worker spawn <worker> <task>")


def test_json_status() -> None:
    """The document has every fact as a field, times in ISO 8601."""
    document = json_status(STATUS)
    assert document["target"] == {"branch": "main", "commit": TIP}
    assert document["tasks"] == {"FAILED": 1, "IN_PROGRESS": 1}
    assert document["workers"][0] == {
        "worker": "auth", "machine": None, "state": "WORKING",
        "since": "1970-01-01T02:44:35.000Z", "age_s": 125,
        "task": "skills-abc", "task_status": "IN_PROGRESS", "branch": "auth/skills-abc",
        "commit": TIP, "subject": "Add \x1b[2Jskills", "ahead": 3, "behind": 1, "liveness": "OK",
        "progress": 0.4, "waits_for": None, "last_error": None, "parent": None,
        "news": "Add \x1b[2Jskills", "returned": None, "verify": None, "conflicts": [],
        "trouble": None, "next": "git worker next auth",
    }  # fmt: skip
    assert document["workers"][2]["commit"] is document["workers"][2]["task_status"] is None
    assert document["operations"] == [
        {"kind": "merge", "worker": "auth", "step": "begun", "since": "1970-01-01T02:46:37.000Z"}
    ]
    assert [event["kind"] for event in document["events"]] == ["transition", "message"]


LISTED = WorkerList(
    (
        ListedWorker("auth", WorkerState.WORKING, "skills-abc", "auth/skills-abc", "next auth"),
        ListedWorker("spare", WorkerState.IDLE, None, None, "next spare"),
    )
)
CONFLICT = ReturnedWork("merge_conflict", "1" * 40, ("a.py",), "", "", is_waiting=True)
RETURNED = WorkerList((*LISTED.workers[:1], LISTED.workers[0]._replace(returned=CONFLICT)))


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (None, "auth\tWORKING\tskills-abc\tauth/skills-abc\nspare\tIDLE\t-\t-"),
        (80, "WORKER  STATE    TASK        BRANCH\n"
             "auth    at work  skills-abc  auth/skills-abc\n"
             "spare   no task  -           -"),
    ],
)  # fmt: skip
def test_list(width: int | None, text: str) -> None:
    """Scripts get tabs and no heading, people a table."""
    assert render_list(LISTED, width=width, color=False) == text


def test_list_of_returned_work() -> None:
    """The reason of a return has a column if any work was sent back."""
    assert render_list(RETURNED, width=80, color=False).splitlines() == [
        "WORKER  STATE    TASK        BRANCH           RETURNED",
        "auth    at work  skills-abc  auth/skills-abc  -",
        "auth    at work  skills-abc  auth/skills-abc  conflict in a.py",
    ]


LOG = f"/{'long/' * 30}verify.log"
UNVERIFIED = ReturnedWork("verify_failed", TIP, (), LOG, "", is_waiting=True)


def test_a_log_is_shown_whole() -> None:
    """Status and list show the command and the whole path of the log below a worker sent back."""
    below = ["        → git worker resume auth", f"        log: {LOG}"]
    line = row("auth", WorkerState.WORKING, returned=UNVERIFIED,
               next_command="git worker resume auth")  # fmt: skip
    screen = StatusScreen(NOW, "main", TIP, (line,), (), (), ())
    assert render_status(screen, width=80, color=False).splitlines()[4:6] == below
    listed = LISTED.workers[0]._replace(
        returned=UNVERIFIED, needs_command=True, next_command="git worker resume auth"
    )
    assert render_list(WorkerList((listed,)), width=80, color=False).splitlines()[2:] == below


def test_empty_list() -> None:
    """Without workers scripts get nothing, people a hint."""
    assert render_list(WorkerList(()), width=None, color=False) == ""
    assert "git worker spawn" in render_list(WorkerList(()), width=80, color=False)


def test_json_list() -> None:
    """The document has one object per worker."""
    assert json_list(LISTED)["workers"][1] == {
        "worker": "spare", "machine": None, "state": "IDLE", "task": None, "branch": None,
        "returned": None,
        "next": "next spare",
    }  # fmt: skip
