"""What time changes, applied by whoever looks: rows with old stamps, and nobody sleeps."""

import os
from typing import Any

import pytest

from gitworker import clock
from gitworker.bus.transitions import move_task
from gitworker.journal.sweep import sweep
from gitworker.model.task import TaskEvent
from gitworker.observe.agents import read_agents
from gitworker.store.heartbeats import touch
from gitworker.store.tasks import require_stored_task
from gitworker.workers.start import start
from tests.bus.scene import Scene, commit
from tests.conftest import git
from tests.store.support import foreign

GONE = 2**22 + 1  # above any pid that Linux gives


@pytest.fixture
def seat(quiet: Scene) -> Scene:
    """A scene with the worker `auth` WORKING on `t`, its process this one."""
    quiet.spawn("auth", "t")
    start(quiet.session(), "auth", pid=os.getpid())
    return quiet


def age(scene: Scene, seconds: int) -> None:
    """Let everything that is known of the seats be so much older."""
    back = seconds * 1000
    scene.execute("UPDATE workers SET state_changed_at_ms = state_changed_at_ms - :b", b=back)
    scene.execute("UPDATE heartbeats SET ts_ms = ts_ms - :b", b=back)
    scene.execute("UPDATE heartbeat_clocks SET ts_ms = ts_ms - :b, mono_ms = mono_ms - :b", b=back)


def stand_still(scene: Scene, patch: pytest.MonkeyPatch) -> None:
    """Let both clocks stand at the seat's last beat, so that its age is what a test makes it."""
    (beat,) = scene.execute("SELECT ts_ms, mono_ms FROM heartbeat_clocks WHERE agent_id = 'auth'")
    mono_ms = beat["mono_ms"]
    patch.setenv("GITWORKER_CLOCK_MS", str(beat["ts_ms"]))
    patch.setattr("gitworker.clock.monotonic_ms", lambda: mono_ms)


def gone(scene: Scene) -> None:
    """Let the seat's process have ended."""
    scene.execute("UPDATE workers SET pid = :pid", pid=GONE)


def looked(scene: Scene) -> tuple[list[str], str, str]:
    """Sweep; return who changed, and where seat and task stand."""
    changed = sweep(scene.session()).changed
    return changed, scene.worker("auth").state.value, scene.task("t").status.value


def test_nothing_is_due(seat: Scene) -> None:
    """A seat that has just begun is left alone, and nothing is written."""
    before = seat.execute("SELECT * FROM transitions")
    assert looked(seat) == ([], "WORKING", "IN_PROGRESS")
    assert seat.execute("SELECT * FROM transitions") == before


def test_the_whole_way_down(seat: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone and silent: WORKING→STALE, then STALE→FAILED with the task back for another try."""
    stand_still(seat, monkeypatch)
    gone(seat)
    age(seat, 99)
    assert looked(seat) == ([], "WORKING", "IN_PROGRESS")
    age(seat, 2)
    assert looked(seat) == (["auth"], "STALE", "IN_PROGRESS")
    assert seat.worker("auth").stale_from == "WORKING"
    age(seat, 790)
    assert looked(seat) == ([], "STALE", "IN_PROGRESS")
    age(seat, 20)
    assert looked(seat) == (["auth"], "FAILED", "READY")
    assert seat.task("t").retry_count == 1
    assert seat.task("t").assigned_agent_id is None
    assert seat.worker("auth").last_error == "no sign of life for too long"
    assert seat.execute("SELECT * FROM task_claims") == []
    assert looked(seat) == ([], "FAILED", "READY")
    view = (seat.state_dir / "workers" / "auth.json").read_text()
    assert '"state": "FAILED"' in view
    kinds = [p["event"] for p in seat.messages("state_change")]
    assert kinds[-2:] == ["heartbeat_timeout", "expire"]


def test_the_last_try_ends_blocked(seat: Scene) -> None:
    """A task without retries left is BLOCKED when its seat expires."""
    seat.execute("UPDATE tasks SET retry_count = max_retries")
    gone(seat)
    age(seat, 1000)
    assert looked(seat)[1] == "STALE"
    assert looked(seat) == (["auth"], "FAILED", "BLOCKED")


def test_a_fresh_beat_recovers(seat: Scene) -> None:
    """A beat after the seat went stale brings it back to work, and forgets why it was stale."""
    gone(seat)
    age(seat, 200)
    assert looked(seat)[1] == "STALE"
    age(seat, 10)
    with seat.session().store.write() as writer:
        touch(writer, "auth", task="t")
    assert looked(seat) == (["auth"], "WORKING", "IN_PROGRESS")
    assert seat.worker("auth").stale_from is None


def test_a_foreign_beat_recovers_too(seat: Scene) -> None:
    """A program after seed 2 that beats, without our clock readings, is alive."""
    gone(seat)
    age(seat, 200)
    assert looked(seat)[1] == "STALE"
    age(seat, 10)
    beat = "UPDATE heartbeats SET ts_ms = CAST(strftime('%s', 'now') AS INTEGER) * 1000"
    foreign(seat.state_dir / "bus.db", beat)
    assert looked(seat)[1] == "WORKING"


@pytest.mark.parametrize("event", [TaskEvent.TOKENS_EXHAUSTED, TaskEvent.AGENT_QUESTION])
def test_who_waits_is_never_stale(seat: Scene, event: TaskEvent) -> None:
    """A seat whose task is PAUSED or WAITING_INPUT stays WORKING however long it is silent."""
    with seat.session().store.write() as writer:
        move_task(writer, require_stored_task(writer, "t"), (event,), actor="hq")
    gone(seat)
    age(seat, 1_000_000)
    assert looked(seat)[:2] == ([], "WORKING")


def test_a_slow_review_only_alerts(seat: Scene) -> None:
    """IN_REVIEW→STALE after an hour, remembered as a review, and never FAILED by itself."""
    from gitworker.workers.submit import Submission, submit

    place = seat.worker("auth").worktree
    assert place is not None
    commit(seat.root / place, "a")
    submit(seat.session(), "auth", Submission())
    assert seat.worker("auth").state == "IN_REVIEW"
    gone(seat)
    age(seat, 3590)
    assert looked(seat)[:2] == ([], "IN_REVIEW")
    age(seat, 20)
    assert looked(seat)[:2] == (["auth"], "STALE")
    assert seat.worker("auth").stale_from == "IN_REVIEW"
    age(seat, 1_000_000)
    assert looked(seat)[:2] == ([], "STALE")


def test_an_assigned_seat_waits_for_ever(quiet: Scene) -> None:
    """ASSIGNED without a process never times out."""
    quiet.spawn("auth", "t")
    age(quiet, 1_000_000)
    assert looked(quiet) == ([], "ASSIGNED", "ASSIGNED")


@pytest.mark.parametrize(
    "change",
    ["host = 'elsewhere'", "boot_id = 'earlier'", "pid_ns = '1'", "pid_ns = NULL", "pid = NULL"],
)
def test_an_unknown_process_is_not_dead_before_dead(seat: Scene, change: str) -> None:
    """One of another host, boot or PID namespace is stale only after five minutes of silence."""
    seat.execute(f"UPDATE workers SET {change}")
    age(seat, 290)
    assert looked(seat)[1] == "WORKING"
    age(seat, 20)
    assert looked(seat)[1] == "STALE"


def test_thresholds_are_settings(seat: Scene) -> None:
    """The team's own thresholds hold."""
    git(seat.root, "config", "worker.liveness.stale-s", "5")
    gone(seat)
    age(seat, 6)
    assert looked(seat)[1] == "STALE"


def test_a_wall_clock_that_jumps_kills_nobody(seat: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jump of the wall clock alone makes no seat stale on this machine."""
    session = seat.session()
    gone(seat)
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(4_000_000_000_000))
    assert sweep(session).changed == []
    assert seat.worker("auth").state == "WORKING"


def test_a_due_retry_is_fired(seat: Scene) -> None:
    """A failed task whose back-off is over is READY again after anybody has looked."""
    with seat.session().store.write() as writer:
        move_task(writer, require_stored_task(writer, "t"), (TaskEvent.AGENT_FAILED,), actor="hq")
        writer.run("tasks.set_retry", task="t", retry_count=0, resume_after_ms=1)
    assert looked(seat)[2] == "READY"
    assert seat.task("t").retry_count == 1
    assert looked(seat)[2] == "READY"


def test_a_task_that_a_foreign_program_moved_stops_nobody(seat: Scene) -> None:
    """Where the task stands elsewhere by now, the seat stays STALE and every command goes on."""
    gone(seat)
    age(seat, 200)
    assert looked(seat)[1] == "STALE"
    values: list[Any] = [seat.task("t").version + 1]
    insert = (
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor) VALUES (1, 'task', 't', ?, 'IN_PROGRESS', 'ADMIN_STOP', 'BLOCKED', 'admin')"
    )
    assert foreign(seat.state_dir / "bus.db", (insert, values)) == [[]]
    age(seat, 1000)
    assert looked(seat) == ([], "STALE", "BLOCKED")


def test_a_seat_that_changed_meanwhile_is_left_alone(seat: Scene) -> None:
    """What was due for a row that somebody has moved since is not applied."""
    from gitworker.lifecycle.timeouts import apply_due
    from gitworker.model.worker import WorkerEvent

    seen = seat.worker("auth")
    with seat.session().store.write() as writer:
        from gitworker.bus.transitions import move_worker

        move_worker(writer, seen, WorkerEvent.FAIL, actor="auth")
    assert apply_due(seat.session(), [(seen, WorkerEvent.HEARTBEAT_TIMEOUT)], []) == []
    assert seat.worker("auth").state == "FAILED"


def test_a_night_with_the_lid_closed(seat: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight hours of sleep, in which CLOCK_MONOTONIC stands still, are no silence of anybody's."""
    session = seat.session()
    asleep_ms = 8 * 3600 * 1000
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + asleep_ms))
    assert sweep(session).changed == []
    (agent,) = read_agents(session).agents
    assert (agent.liveness, agent.state) == ("OK", "WORKING")
    gone(seat)
    awake_ms = clock.monotonic_ms() + 101_000
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: awake_ms)
    assert sweep(session).changed == ["auth"]


@pytest.mark.parametrize(("seconds", "state"), [(299, "WORKING"), (301, "STALE")])
def test_another_hosts_agent(
    seat: Scene, seconds: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent of another host is judged by the wall clock, whatever its own clocks showed."""
    stand_still(seat, monkeypatch)
    seat.execute("UPDATE workers SET host = 'elsewhere', pid = 1, boot_id = 'theirs'")
    seat.execute("UPDATE heartbeat_clocks SET host = 'elsewhere', boot_id = 'theirs', mono_ms = 1")
    age(seat, seconds)
    assert looked(seat)[1] == state
