"""Reading status, list, path, diff and log from a real repository."""

import shutil
from pathlib import Path

import pytest

from gitworker.bus.drain import drain
from gitworker.bus.publish import Outgoing, publish
from gitworker.errors import NotFound
from gitworker.lifecycle.fail import fail
from gitworker.liveness.rules_stale import Liveness
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.log import read_log
from gitworker.observe.workers.diff import DiffOptions, json_diff, read_diff, render_diff
from gitworker.observe.workers.list import ListedWorker, read_list
from gitworker.observe.workers.overlaps import Overlap
from gitworker.observe.workers.path import json_path, read_path
from gitworker.observe.workers.status import OpenOperation, read_status
from gitworker.session import Session
from gitworker.store.commits.conflict_warnings import add_warning
from gitworker.store.commits.merge_results import (
    MergeResult,
    store_merge_results,
    store_replay_results,
)
from gitworker.store.commits.verify_runs import VerifyRun, record_verify_run
from gitworker.store.operations import begin_operation
from gitworker.store.payloads.payload import Unreadable
from gitworker.store.workers import set_returned
from tests.conftest import git
from tests.unit.observe.conftest import NOW_MS, Clock
from tests.unit.observe.scene import commit, landed, spawned, worker, working


def test_status(session: Session, clock: Clock, repository: Path) -> None:
    """Status shows state, liveness, progress, last subject, open operations and events."""
    auth = working(session, "auth", "skills")
    commit(auth, "a.txt")
    working(session, "docs", "guide")
    fail(session, "docs", reason="no idea")
    spawned(session, "tests", "more")
    with session.store.write() as writer:
        begin_operation(writer, "approve", worker="auth", task="skills", actor="hq", now=NOW_MS,
                        data=Unreadable("{}"))  # fmt: skip
    clock.ms += 45_000
    status = read_status(session, drain(session))
    assert status.now_ms == NOW_MS + 45_000
    assert (status.target, status.target_tip) == ("main", git(repository, "rev-parse", "main"))
    facts = [(s.worker, s.state, s.liveness, s.progress, s.news) for s in status.workers]
    assert facts == [
        ("auth", WorkerState.WORKING, Liveness.WARN, 0.25, "Add a.txt"),
        ("docs", WorkerState.FAILED, Liveness.UNKNOWN, 0.25, "no idea"),
        ("tests", WorkerState.ASSIGNED, Liveness.UNKNOWN, None, "waits for its agent to start"),
    ]
    assert status.workers[0].task_status is TaskStatus.IN_PROGRESS
    assert dict(status.tasks)["IN_PROGRESS"] == 1
    assert OpenOperation("approve", "auth", "begun", NOW_MS) in status.operations
    assert len(status.events) == 5


def test_status_before_the_first_commit_of_a_worker(session: Session) -> None:
    """A branch without its own commits is shown with no commit."""
    working(session, "auth", "skills")
    assert [one.news for one in read_status(session, drain(session)).workers] == ["no commit yet"]


def test_status_of_a_stale_worker(session: Session) -> None:
    """A worker without a task, and one that went stale, are read with their present state."""
    working(session, "auth", "skills")
    with session.store.write() as writer:
        writer.run("workers.insert", worker="spare", now=NOW_MS)
        writer.run("workers.set_stale_from", worker="auth", stale_from="WORKING")
    workers = {one.worker: one for one in read_status(session, drain(session)).workers}
    assert (workers["spare"].tip, workers["spare"].task_status) == (None, None)
    assert workers["spare"].waits_for == "a task"


def test_status_of_returned_work(session: Session) -> None:
    """Work that came back shows the reason and the command that continues it."""
    auth = working(session, "auth", "skills")
    with session.store.write() as writer:
        set_returned(
            writer,
            "auth",
            reason="merge_conflict",
            tip=auth.base_oid or "",
            detail={"files": ["a"]},
        )
    (line,) = read_status(session, drain(session)).workers
    assert line.returned is not None
    assert (line.returned.files, line.returned.is_waiting) == (("a",), True)
    assert (line.news, line.next_command) == ("conflict in a", "git worker sync --as auth")
    listed = read_list(session, drain(session)).workers[0]
    assert (listed.returned, listed.next_command) == (line.returned, line.next_command)


def test_status_of_findings(session: Session) -> None:
    """The verdict on a tip and the conflicts that the radar found are shown while they hold."""
    auth, docs = working(session, "auth", "skills"), working(session, "docs", "guide")
    commit(auth, "a.txt")
    refs = drain(session)
    pair = sorted((refs[auth.ref], refs[docs.ref]))
    results = [MergeResult(pair[0], pair[1], ("a.txt",))]
    store_merge_results(session.store, results, now=NOW_MS)
    run = VerifyRun("k", "t", refs[auth.ref], "failed", False, "make failed", "/log", 1, NOW_MS)
    with session.store.write() as writer:
        record_verify_run(writer, run, actor="hq")
    with session.store.write() as writer:
        add_warning(writer, auth.ref, docs.ref, now=NOW_MS)
    lines = {one.worker: one for one in read_status(session, refs).workers}
    assert lines["auth"].verified is not None
    assert lines["auth"].news == ("verification failed: make failed; conflicts with docs in a.txt")
    assert lines["docs"].conflicts == (Overlap("auth", ("a.txt",)),)
    commit(auth, "b.txt")
    (moved, _) = read_status(session, drain(session)).workers
    assert (moved.news, moved.verified, moved.conflicts) == ("Add b.txt", None, ())


def test_status_of_a_conflict_with_the_target(session: Session) -> None:
    """A conflict with the target is that of a rebase, also if a merge gave another answer."""
    auth = working(session, "auth", "skills")
    commit(auth, "a.txt")
    refs = drain(session)
    target, tip = refs[session.target], refs[auth.ref]
    store_merge_results(session.store, [MergeResult(target, tip, ("b.txt",))], now=NOW_MS)
    with session.store.write() as writer:
        add_warning(writer, auth.ref, session.target, now=NOW_MS)
    for files in (("a.txt",), ()):
        store_replay_results(session.store, target, {tip: files})
        (line,) = read_status(session, refs).workers
        assert line.conflicts == ((Overlap("main", files),) if files else ())


def test_status_costs_one_process_at_most(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status starts one git process if there are subjects to show, for any number of workers."""
    workers = [working(session, f"w{number}", f"t{number}") for number in range(3)]
    commit(workers[0], "a.txt")
    commit(workers[1], "b.txt")
    refs = drain(session)
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    status = read_status(session, refs)
    calls = [line for line in trace.read_text().splitlines() if " version" not in line]
    assert len(calls) == 1
    assert [one.news for one in status.workers] == ["Add a.txt", "Add b.txt", "no commit yet"]


def test_status_with_every_subject(session: Session) -> None:
    """On request every branch has its subject, whether or not the screen shows it."""
    spawned(session, "auth", "skills")
    (auth,) = read_status(session, drain(session), every_subject=True).workers
    assert auth.tip is not None
    assert auth.tip.subject


def test_progress_of_an_earlier_task_is_not_shown(session: Session) -> None:
    """Progress reported for another task does not count for the present one."""
    working(session, "auth", "skills")
    with session.store.write() as writer:
        writer.run("liveness.beat", agent="auth", now=NOW_MS, status="working", task="other",
                   progress=0.9)  # fmt: skip
    assert read_status(session, drain(session)).workers[0].progress is None


def test_list(session: Session) -> None:
    """List reads every worker by name."""
    spawned(session, "docs", "guide")
    spawned(session, "auth", "skills")
    assert read_list(session, drain(session)).workers == (
        ListedWorker(
            "auth",
            WorkerState.ASSIGNED,
            "skills",
            "auth/skills",
            "git worker exec auth -- <command>",
        ),
        ListedWorker(
            "docs", WorkerState.ASSIGNED, "guide", "docs/guide", "git worker exec docs -- <command>"
        ),
    )


def test_path(session: Session, repository: Path) -> None:
    """Path is the worktree as it is on disk."""
    found = read_path(session, spawned(session, "auth", "skills"))
    place = str(repository.resolve() / "worktrees" / "skills")
    assert json_path(found) == {"worker": "auth", "path": place, "flaw": None}


def test_no_path(session: Session) -> None:
    """A worker without a worktree, or with a deleted one, has no path."""
    auth = spawned(session, "auth", "skills")
    assert auth.worktree is not None
    shutil.rmtree(auth.worktree)
    with pytest.raises(NotFound, match="is not at .*: deleted, moved or unmounted"):
        read_path(session, auth)
    with session.store.write() as writer:
        writer.run("workers.set_worktree", worker="auth", worktree=None, admin_dir=None)
    with pytest.raises(NotFound, match="worker auth has not started yet, so it has no worktree"):
        read_path(session, worker(session, "auth"))


def test_diff(session: Session, repository: Path) -> None:
    """Diff shows git's changes from merge base to branch, whatever the target did since."""
    auth = working(session, "auth", "skills")
    commit(auth, "a.txt")
    git(repository, "commit", "-qm", "Elsewhere", "--allow-empty")
    found = read_diff(session, auth, DiffOptions())
    assert render_diff(found, width=10, color=True) == git(repository, "diff", "main...auth/skills")
    assert json_diff(found) == {
        "worker": "auth", "branch": "auth/skills", "target": "main", "diff": found.text,
        "since": None, "note": None,
    }  # fmt: skip
    painted = read_diff(session, auth, DiffOptions(color=True, width=80))
    assert "\x1b[32m+" in painted.text
    for width in (None, 60):
        stat = read_diff(session, auth, DiffOptions(stat=True, width=width))
        assert stat.text == " a.txt | 1 +\n 1 file changed, 1 insertion(+)\n"


def test_no_diff(session: Session) -> None:
    """A worker whose branch is missing has no diff."""
    auth = landed(session, "auth", "skills")
    with pytest.raises(NotFound, match="worker auth has landed, so it has no branch"):
        read_diff(session, auth, DiffOptions())


def test_log_of_one_worker(session: Session, clock: Clock) -> None:
    """A worker's log has its own and its task's transitions, and messages from, to and about it."""
    auth = working(session, "auth", "skills")
    working(session, "docs", "guide")
    clock.ms += 1_000
    notes = [
        Outgoing("note", sender="auth", payload={"note": "from"}),
        Outgoing("note", sender="hq", to="auth", payload={"note": "to"}),
        Outgoing("x-about", sender="docs", correlation_id="skills", payload={"note": "about"}),
        Outgoing("note", sender="docs", payload={"note": "other"}),
    ]
    with session.store.write() as writer:
        for note in notes:
            publish(writer, note, now=clock.ms)
    events = read_log(session, auth, limit=50).events
    assert [event.name for event in events if event.kind == "transition"] == [
        "assign", "DEPS_MET", "ASSIGNED", "start", "AGENT_STARTED",
    ]  # fmt: skip
    texts = [event.body or "" for event in events if event.kind == "message"]
    assert [text for text in texts if "note" in text] == [
        '{"note":"from"}', '{"note":"to"}', '{"note":"about"}',
    ]  # fmt: skip
    assert [event.ts_ms for event in events] == sorted(event.ts_ms for event in events)
    assert read_log(session, auth, limit=2).events == events[-2:]


def test_log_of_everything(session: Session) -> None:
    """Without a worker the log has the events of all, and 0 means no limit."""
    working(session, "auth", "skills")
    working(session, "docs", "guide")
    log = read_log(session, None, limit=100)
    assert log.worker is None
    assert {"auth", "docs", "skills", "guide"} <= {event.source for event in log.events}
    assert read_log(session, None, limit=0).events == ()


def test_messages_that_repeat_a_transition_are_left_out(session: Session, clock: Clock) -> None:
    """A state_change that repeats a transition is left out; foreign ones are shown."""
    auth = spawned(session, "auth", "skills")
    clock.ms += 5
    with session.store.write() as writer:
        publish(writer, Outgoing("state_change", sender="auth", payload={"worker": "auth"}),
                now=clock.ms)  # fmt: skip
        publish(writer, Outgoing("state_change", sender="auth"), now=clock.ms)
    for log in (read_log(session, auth, limit=50), read_log(session, None, limit=50)):
        changes = [event for event in log.events if event.name == "state_change"]
        assert [event.ts_ms for event in changes] == [clock.ms, clock.ms]
