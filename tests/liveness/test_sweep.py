"""Timeouts, applied by any command: rows with old stamps, and no test that sleeps."""

import os
from typing import Any

import pytest

from gitworker import clock
from gitworker.bus.drain import drain
from gitworker.bus.transitions import move_task
from gitworker.journal.sweep import sweep
from gitworker.model.task import TaskEvent
from gitworker.observe.agents import read_agents
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.tasks import require_stored_task
from gitworker.workers.start import start
from tests.bus.scene import Scene, commit
from tests.conftest import git
from tests.store.support import engine, foreign

NO_PID = 2**22 + 1  # above any pid that Linux gives


@pytest.fixture
def busy(quiet: Scene) -> Scene:
    """A scene with the worker `auth` WORKING on `t`, its process this one."""
    quiet.spawn("auth", "t")
    start(quiet.session(), "auth", pid=os.getpid())
    return quiet


def age(scene: Scene, seconds: int) -> None:
    """Make everything recorded of the workers older."""
    back = seconds * 1000
    scene.execute("UPDATE workers SET state_changed_at_ms = state_changed_at_ms - :b", b=back)
    scene.execute("UPDATE heartbeats SET ts_ms = ts_ms - :b", b=back)
    scene.execute("UPDATE heartbeat_clocks SET ts_ms = ts_ms - :b, mono_ms = mono_ms - :b", b=back)


def stop_clocks(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    """Stop both clocks at the worker's last heartbeat, so that a test sets its age exactly."""
    (heartbeat,) = scene.execute(
        "SELECT ts_ms, mono_ms FROM heartbeat_clocks WHERE agent_id = 'auth'"
    )
    mono_ms = heartbeat["mono_ms"]
    patch.setenv("GITWORKER_CLOCK_MS", str(heartbeat["ts_ms"]))
    patch.setattr("gitworker.clock.monotonic_ms", lambda: mono_ms)


def end_process(scene: Scene) -> None:
    """Replace the worker's process by an ended one."""
    scene.execute("UPDATE workers SET pid = :pid", pid=NO_PID)


def swept(scene: Scene) -> tuple[list[str], str, str]:
    """Sweep; return the changed workers, and the states of worker and task."""
    changed = sweep(scene.session()).changed
    return changed, scene.worker("auth").state.value, scene.task("t").status.value


def test_nothing_is_due(busy: Scene) -> None:
    """A worker that has just begun is left alone, and nothing is written."""
    before = busy.execute("SELECT * FROM transitions")
    assert swept(busy) == ([], "WORKING", "IN_PROGRESS")
    assert busy.execute("SELECT * FROM transitions") == before


def test_the_whole_way_down(busy: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ended and silent: WORKING→STALE, then STALE→FAILED with the task ready again."""
    stop_clocks(busy, monkeypatch)
    end_process(busy)
    age(busy, 99)
    assert swept(busy) == ([], "WORKING", "IN_PROGRESS")
    age(busy, 2)
    assert swept(busy) == (["auth"], "STALE", "IN_PROGRESS")
    assert busy.worker("auth").stale_from == "WORKING"
    age(busy, 790)
    assert swept(busy) == ([], "STALE", "IN_PROGRESS")
    age(busy, 20)
    assert swept(busy) == (["auth"], "FAILED", "READY")
    assert (busy.task("t").retry_count, busy.task("t").recovery_count) == (0, 1)
    assert busy.task("t").assigned_agent_id is None
    assert busy.worker("auth").last_error == "no sign of life for too long"
    assert busy.execute("SELECT * FROM task_claims") == []
    assert swept(busy) == ([], "FAILED", "READY")
    view = (busy.state_dir / "workers" / "auth.json").read_text()
    assert '"state": "FAILED"' in view
    kinds = [p["event"] for p in busy.messages("state_change")]
    assert kinds[-2:] == ["heartbeat_timeout", "expire"]


def test_the_last_try_ends_blocked(busy: Scene) -> None:
    """A task is recovered `max_retries` times in a row; its next expiry blocks it."""
    busy.execute("UPDATE tasks SET recovery_count = max_retries")
    end_process(busy)
    age(busy, 1000)
    assert swept(busy)[1] == "STALE"
    assert swept(busy) == (["auth"], "FAILED", "BLOCKED")


def test_a_silent_process_times_out(busy: Scene) -> None:
    """A worker whose process is alive without heartbeats is stopped, and its task is BLOCKED."""
    age(busy, 1000)
    assert swept(busy) == (["auth"], "STALE", "IN_PROGRESS")
    assert swept(busy) == (["auth"], "FAILED", "BLOCKED")
    steps = busy.execute("SELECT event FROM transitions ORDER BY seq DESC LIMIT 2")
    assert [step["event"] for step in steps] == ["TIMEOUT", "stop"]
    error = busy.worker("auth").last_error
    assert error == "its process is alive but sent no heartbeat for too long"


def test_a_hand_in_ends_a_row_of_recoveries(busy: Scene) -> None:
    """After a hand-in the recoveries are counted from zero again."""
    from gitworker.workers.submit import Submission, submit

    busy.execute("UPDATE tasks SET recovery_count = max_retries")
    commit(busy.root / (busy.worker("auth").worktree or ""), "a")
    submit(busy.session(), "auth", Submission())
    assert busy.task("t").recovery_count == 0


def test_returned_work_waits_for_its_author(busy: Scene) -> None:
    """Work that was sent back waits for ever, until a commit shows that its author is back."""
    from gitworker.review.comments.send import reject
    from gitworker.workers.submit import Submission, submit

    place = busy.root / (busy.worker("auth").worktree or "")
    commit(place, "a")
    submit(busy.session(), "auth", Submission())
    reject(busy.session(), "auth", note="more tests")
    end_process(busy)
    age(busy, 1_000_000)
    assert swept(busy) == ([], "WORKING", "IN_PROGRESS")
    commit(place, "b")
    drain(busy.session())
    assert swept(busy)[:2] == ([], "WORKING")
    age(busy, 200)
    assert swept(busy)[:2] == (["auth"], "STALE")
    age(busy, 1000)
    assert swept(busy)[:2] == (["auth"], "FAILED")


def test_a_fresh_heartbeat_recovers(busy: Scene) -> None:
    """A heartbeat after a worker went stale makes it WORKING and clears the state before."""
    end_process(busy)
    age(busy, 200)
    assert swept(busy)[1] == "STALE"
    age(busy, 10)
    with busy.session().store.write() as writer:
        renew_heartbeat(writer, "auth", task="t")
    assert swept(busy) == (["auth"], "WORKING", "IN_PROGRESS")
    assert busy.worker("auth").stale_from is None


def test_a_foreign_heartbeat_recovers_too(busy: Scene) -> None:
    """A heartbeat of a foreign program, without our clock readings, counts."""
    end_process(busy)
    age(busy, 200)
    assert swept(busy)[1] == "STALE"
    age(busy, 10)
    heartbeat = "UPDATE heartbeats SET ts_ms = CAST(strftime('%s', 'now') AS INTEGER) * 1000"
    foreign(busy.state_dir / "bus.db", heartbeat)
    assert swept(busy)[1] == "WORKING"


@pytest.mark.parametrize("event", [TaskEvent.TOKENS_EXHAUSTED, TaskEvent.AGENT_QUESTION])
def test_a_waiting_worker_is_never_stale(busy: Scene, event: TaskEvent) -> None:
    """A worker whose task is PAUSED or WAITING_INPUT stays WORKING however long it is silent."""
    with busy.session().store.write() as writer:
        move_task(writer, require_stored_task(writer, "t"), (event,), actor="hq")
    end_process(busy)
    age(busy, 1_000_000)
    assert swept(busy)[:2] == ([], "WORKING")


def test_a_slow_review_only_alerts(busy: Scene) -> None:
    """IN_REVIEW→STALE after an hour, remembered as a review, and never FAILED by itself."""
    from gitworker.workers.submit import Submission, submit

    place = busy.worker("auth").worktree
    assert place is not None
    commit(busy.root / place, "a")
    submit(busy.session(), "auth", Submission())
    assert busy.worker("auth").state == "IN_REVIEW"
    end_process(busy)
    age(busy, 3590)
    assert swept(busy)[:2] == ([], "IN_REVIEW")
    age(busy, 20)
    assert swept(busy)[:2] == (["auth"], "STALE")
    assert busy.worker("auth").stale_from == "IN_REVIEW"
    age(busy, 1_000_000)
    assert swept(busy)[:2] == ([], "STALE")


def test_an_assigned_worker_waits_for_ever(quiet: Scene) -> None:
    """ASSIGNED without a process never times out."""
    quiet.spawn("auth", "t")
    age(quiet, 1_000_000)
    assert swept(quiet) == ([], "ASSIGNED", "ASSIGNED")


@pytest.mark.parametrize(
    "change",
    ["host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = '1'", "pid_ns = NULL", "pid = NULL"],
)
def test_an_unknown_process_is_not_dead_before_dead(busy: Scene, change: str) -> None:
    """A process of another host, boot or PID namespace is stale only after five silent minutes."""
    busy.execute(f"UPDATE workers SET {change}")
    age(busy, 290)
    assert swept(busy)[1] == "WORKING"
    age(busy, 20)
    assert swept(busy)[1] == "STALE"


def test_thresholds_are_settings(busy: Scene) -> None:
    """The thresholds of the team's settings apply."""
    git(busy.root, "config", "worker.liveness.stale-s", "5")
    end_process(busy)
    age(busy, 6)
    assert swept(busy)[1] == "STALE"


def test_a_jump_of_the_wall_clock_is_no_silence(
    busy: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A jump of the wall clock alone makes no worker stale on this machine."""
    session = busy.session()
    end_process(busy)
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(4_000_000_000_000))
    assert sweep(session).changed == []
    assert busy.worker("auth").state == "WORKING"


def test_a_due_retry_is_fired(busy: Scene) -> None:
    """A failed task whose back-off is over becomes READY with the next command."""
    with busy.session().store.write() as writer:
        move_task(writer, require_stored_task(writer, "t"), (TaskEvent.AGENT_FAILED,), actor="hq")
        writer.run("tasks.set_retry", task="t", retry_count=0, resume_after_ms=1)
    assert swept(busy)[2] == "READY"
    assert busy.task("t").retry_count == 1
    assert swept(busy)[2] == "READY"


def test_a_task_that_was_moved_alone_stops_no_command(busy: Scene) -> None:
    """If the task has another state by now, the worker stays STALE and every command still runs."""
    end_process(busy)
    age(busy, 200)
    assert swept(busy)[1] == "STALE"
    values: list[Any] = [busy.task("t").version + 1]
    insert = (
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor) VALUES (1, 'task', 't', ?, 'IN_PROGRESS', 'ADMIN_STOP', 'BLOCKED', 'admin')"
    )
    assert engine(busy.state_dir / "bus.db", (insert, values)) == [[]]
    age(busy, 1000)
    assert swept(busy) == ([], "STALE", "BLOCKED")


def test_a_worker_that_changed_meanwhile_is_left_alone(busy: Scene) -> None:
    """A timeout that was due for a row is not applied if the row has changed since."""
    from gitworker.lifecycle.stale_and_retry import apply_due
    from gitworker.model.worker import WorkerEvent

    seen = busy.worker("auth")
    with busy.session().store.write() as writer:
        from gitworker.bus.transitions import move_worker

        move_worker(writer, seen, WorkerEvent.FAIL, actor="auth")
    assert apply_due(busy.session(), [(seen, WorkerEvent.HEARTBEAT_TIMEOUT)], []) == []
    assert busy.worker("auth").state == "FAILED"


def test_a_night_of_suspend(busy: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight hours of suspend, in which CLOCK_MONOTONIC stops, do not count as silence."""
    session = busy.session()
    asleep_ms = 8 * 3600 * 1000
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + asleep_ms))
    assert sweep(session).changed == []
    (agent,) = read_agents(session).agents
    assert (agent.liveness, agent.state) == ("OK", "WORKING")
    end_process(busy)
    awake_ms = clock.monotonic_ms() + 101_000
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: awake_ms)
    assert sweep(session).changed == ["auth"]


@pytest.mark.parametrize(("seconds", "state"), [(299, "WORKING"), (301, "STALE")])
def test_another_hosts_agent(
    busy: Scene, seconds: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent of another host is judged by the wall clock, whatever its own clocks showed."""
    stop_clocks(busy, monkeypatch)
    busy.execute("UPDATE workers SET host = 'elsewhere', pid = 1, boot_id = 'theirs'")
    busy.execute("UPDATE heartbeat_clocks SET host = 'elsewhere', boot_id = 'theirs', mono_ms = 1")
    age(busy, seconds)
    assert swept(busy)[1] == state
