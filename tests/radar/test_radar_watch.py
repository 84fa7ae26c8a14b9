"""Warnings: when a new commit makes two branches conflict, once, and never lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gitworker import clock, proc
from gitworker.bus.drain import drain
from gitworker.bus.jobs.radar_job import lock_path
from gitworker.errors import Refused
from gitworker.processes.jobs import BACKGROUND
from gitworker.radar.radar_watch import RETRY_MS, watch_branches
from gitworker.repo.plumbing.repository_lock import hold_descriptor
from tests.radar.radar_scene import TEXT, RadarScene, at_line
from tests.workers.world import World, wait_until, without_heartbeat_daemon

NOW = 4_000_000_000_000
SETTLING_S = 0.1  # a process that sleeps for less waits for a lock
spawn_detached = proc.spawn_detached


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RadarScene]:
    """A repository without workers, the radar switched on; no drain starts one by itself."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    monkeypatch.setenv("GITWORKER_RADAR_ENABLED", "yes")
    monkeypatch.setenv("GITWORKER_RADAR_DELAY_S", "0")
    monkeypatch.setattr("gitworker.proc.spawn_detached", ring)
    rung.clear()
    world = World.make(tmp_path / "repo")
    world.advance({"f": TEXT})
    with without_heartbeat_daemon(world):
        yield RadarScene(world)


rung: list[list[str]] = []


def ring(argv: Sequence[str], **_: object) -> int:
    """Record the command that would be started; return a pid that is no child of ours."""
    rung.append(list(argv))
    return os.getpid()


def radars() -> int:
    """Return how many radars were started since the last call."""
    started = [argv for argv in rung if argv[-2] == "radar"]
    rung.clear()
    return len(started)


def test_both_workers_are_warned(scene: RadarScene) -> None:
    """Each worker gets the other's name, the files and the commits, on its own task."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", {"other": "1\n"})
    assert scene.check_branches() == 0
    theirs = scene.commit("docs", at_line(3, "docs"))
    assert scene.check_branches() == 2
    (to, warning), (other, second) = scene.warnings()
    assert (to, other) == ("auth", "docs")
    assert warning == {
        "with": "docs", "with_task": "docs-task", "with_branch": "docs/docs-task",
        "with_commit": theirs, "branch": "auth/auth-task",
        "commit": scene.world.tip("auth/auth-task"), "files": ["f"], "files_count": 1,
        "note": "conflicts with docs in f",
    }  # fmt: skip
    assert (second["with"], second["with_commit"]) == ("auth", warning["commit"])
    rows = scene.world.query(
        "SELECT from_agent, correlation_id FROM messages WHERE type = 'conflict_warning'"
    )
    assert rows == [("hq", "auth-task"), ("hq", "docs-task")]


def test_once_until_it_was_clean_again(scene: RadarScene) -> None:
    """Further commits to a conflict are not reported; a conflict that appears again is."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    assert scene.check_branches() == 2
    scene.commit("docs", at_line(3, "again"))
    assert scene.check_branches() == 0
    scene.commit("docs", {"f": TEXT})
    assert scene.check_branches() == 0
    scene.commit("docs", at_line(3, "once more"))
    assert scene.check_branches() == 2
    assert scene.check_branches() == 0


def test_a_conflict_with_the_target(scene: RadarScene) -> None:
    """The worker alone is warned, whether it or the target moved, by a landing too."""
    world = scene.world
    scene.working("auth", at_line(3, "auth"))
    world.approved("docs", "docs-task", at_line(9, "docs"))
    assert scene.check_branches() == 0
    world.advance(at_line(3, "by a user"))
    assert scene.check_branches() == 1
    assert scene.warned() == [("auth", "main")]
    scene.working("ui", {"other": "1\n"})
    world.merge("docs")
    scene.commit("ui", at_line(9, "ui"))
    assert scene.check_branches() == 1
    assert scene.warned()[1:] == [("ui", "main")]


def test_a_conflict_of_another_worker_with_the_target(scene: RadarScene) -> None:
    """A worker that only contains the target's new commits is not warned; views agree."""
    scene.working("auth", {**at_line(3, "auth"), "both": "auth\n"})
    scene.world.advance(at_line(3, "by a user"))
    scene.working("docs", {"other": "1\n"})
    assert scene.check_branches() == 1
    assert scene.warned() == [("auth", "main")]
    assert scene.clashes() == {("auth", "main"): ("f",)}
    assert scene.views() == {"auth": [("main", ("f",))], "docs": []}
    scene.commit("docs", {"both": "docs\n"})
    assert scene.check_branches() == 2
    assert [warning["files"] for _, warning in scene.warnings()[1:]] == [["both"], ["both"]]
    assert scene.views() == {
        "auth": [("docs", ("both",)), ("main", ("f",))], "docs": [("auth", ("both",))],
    }  # fmt: skip


def test_our_own_landing_starts_a_radar_too(scene: RadarScene) -> None:
    """Our landing moves the target: after the next drain the others are checked."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("ui", {"other": "1\n"})
    scene.world.approved("docs", "docs-task", at_line(3, "docs"))
    scene.check_branches()
    scene.world.merge("docs")
    assert "refs/heads/main" in scene.due()
    assert scene.check_branches() == 1
    assert scene.warned()[-1] == ("auth", "main")
    assert scene.due() == []


def test_a_worker_without_others(scene: RadarScene) -> None:
    """With fewer than two working branches no radar starts; a later branch starts one."""
    scene.working("auth", at_line(3, "auth"))
    drain(scene.world.session())
    scene.world.advance({"README": "new\n"})
    drain(scene.world.session())
    assert radars() == 0
    assert scene.due() == ["refs/heads/auth/auth-task", "refs/heads/main"]
    scene.working("docs", at_line(3, "docs"))
    drain(scene.world.session())
    assert radars() == 1
    assert scene.check_branches() == 2


def test_nothing_new(scene: RadarScene) -> None:
    """A drain that finds nothing moved starts no radar, and reads no more than one row for it."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    scene.check_branches()
    radars()
    drain(scene.world.session())
    assert radars() == 0
    assert "gitworker.landing" not in subprocess.run(
        [sys.executable, "-c", "import gitworker.bus.drain, sys; print(sorted(sys.modules))"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_switched_off(scene: RadarScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """With radar.enabled off nothing is started and no worker is warned."""
    monkeypatch.setenv("GITWORKER_RADAR_ENABLED", "no")
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    assert scene.check_branches() == 0
    assert radars() == 0


def test_a_radar_that_runs_is_not_rung(scene: RadarScene) -> None:
    """While one process looks no other is started, and none looks beside it."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    session = scene.world.session()
    lock = hold_descriptor(lock_path(session), deadline_ms=clock.monotonic_ms(), complaint="taken")
    drain(session)
    assert radars() == 0
    assert watch_branches(session) == 0
    os.close(lock)
    drain(session)
    assert radars() == 1
    assert watch_branches(session) == 2


def test_several_commits_are_looked_at_once(
    scene: RadarScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The radar waits until a branch has been still for the delay, and then merges once."""
    monkeypatch.setenv("GITWORKER_RADAR_DELAY_S", "1")
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW))
    waits: list[float] = []

    def wait(seconds: float) -> None:
        if seconds < SETTLING_S:  # for a lock that another process holds
            return
        waits.append(seconds)
        now = NOW + 400 * len(waits)
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(now))
        if len(waits) < 4:
            scene.commit("docs", at_line(3, f"docs {len(waits)}"))
            drain(scene.world.session())

    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    drain(scene.world.session())
    monkeypatch.setattr("gitworker.clock.sleep", wait)
    assert watch_branches(scene.world.session()) == 2
    assert len(waits) >= 5
    assert len(scene.world.query("SELECT one_oid FROM merge_verdicts")) == 1
    assert len(scene.world.query("SELECT tip_oid FROM replay_verdicts")) == 2


def test_a_failure_is_not_repeated_at_once(
    scene: RadarScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Due work stays due after a failure, and is retried after a minute."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW))
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    session, tip = scene.world.session(), scene.world.tip("main")
    drain(session)
    radars()
    scene.world.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(Refused):
        watch_branches(session)
    scene.world.git("update-ref", "refs/heads/main", tip)
    drain(session)
    assert (radars(), watch_branches(session)) == (0, 0)
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW + RETRY_MS))
    drain(session)
    assert (radars(), watch_branches(session)) == (1, 2)


def test_a_failure_is_logged(scene: RadarScene) -> None:
    """A radar that fails in the background writes why to the log."""
    for name in ("auth", "docs"):
        scene.working(name, at_line(3, name))
    drain(scene.world.session())
    tip = scene.world.tip("main")
    scene.world.git("update-ref", "-d", "refs/heads/main")
    done = subprocess.run(
        [sys.executable, *BACKGROUND, "radar", f"{scene.world.root}/.git"], check=False
    )
    assert done.returncode == 70
    log = scene.world.state_dir / "logs" / "background.log"
    assert "radar: Traceback" in log.read_text()
    assert scene.world.query("SELECT COUNT(*) FROM radar_due WHERE retry_at_ms > 0") == [(3,)]
    scene.world.git("update-ref", "refs/heads/main", tip)


def test_branches_without_a_worker_are_forgotten(scene: RadarScene) -> None:
    """Due work and warnings of a branch are deleted when no worker has it."""
    from gitworker.workers.cancel import cancel

    for name in ("auth", "docs", "ui"):
        scene.working(name, at_line(3, name))
    assert scene.check_branches() == 6
    scene.commit("docs", {"more": "1\n"})
    drain(scene.world.session())
    cancel(scene.world.session(), "docs")
    scene.commit("ui", {"more": "1\n"})
    assert scene.check_branches() == 0
    assert scene.due() == []
    assert scene.world.query("SELECT one_ref, other_ref FROM conflict_warnings") == [
        ("refs/heads/auth/auth-task", "refs/heads/ui/ui-task")
    ]


@pytest.mark.parametrize("point", ["radar-looked", "radar-published"])
def test_a_radar_that_is_killed_loses_no_warning(scene: RadarScene, point: str) -> None:
    """If a radar is killed before or after it publishes, the next one publishes the rest once."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    drain(scene.world.session())
    radars()
    killed = subprocess.run(
        [sys.executable, *BACKGROUND, "radar", f"{scene.world.root}/.git"],
        env={**os.environ, "GITWORKER_CRASH_AT": point}, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    drain(scene.world.session())
    assert radars() == (1 if point == "radar-looked" else 0)
    scene.check_branches()
    assert sorted(scene.warned()) == [("auth", "docs"), ("docs", "auth")]


def test_radars_at_once_double_nothing(scene: RadarScene) -> None:
    """Of several that are started together one looks, and each worker is warned once."""
    for name in ("auth", "docs", "ui"):
        scene.working(name, at_line(3, name))
    drain(scene.world.session())
    command = [sys.executable, *BACKGROUND, "radar", f"{scene.world.root}/.git"]
    racers = [subprocess.Popen(command) for _ in range(4)]
    assert [racer.wait() for racer in racers] == [0] * 4
    assert len(scene.warnings()) == len(set(scene.warned())) == 6


def test_a_long_lived_process_leaves_no_zombies(
    scene: RadarScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that starts radar after radar waits for those that have ended."""
    monkeypatch.setattr("gitworker.proc.spawn_detached", lambda argv, **_: spawn_detached(["true"]))
    for name in ("auth", "docs"):
        scene.working(name, at_line(3, name))
    mine = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = len(mine.read_text().split())
    for _ in range(5):
        drain(scene.world.session())
        wait_until(lambda: all(map(is_dead, mine.read_text().split()[before:])))
    assert len(mine.read_text().split()) - before <= 1


def is_dead(pid: str) -> bool:
    """Return whether a child has ended and was not waited for."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_commit_leads_to_a_warning(scene: RadarScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hooks and all: a commit by an agent, and a moment later both workers know."""
    monkeypatch.delenv("GITWORKER_HOOKS")
    monkeypatch.setattr("gitworker.proc.spawn_detached", spawn_detached)
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", {"other": "1\n"})
    scene.commit("docs", at_line(3, "docs"))
    wait_until(lambda: len(scene.warnings()) == 2)
    log = scene.world.state_dir / "logs" / "background.log"
    assert not log.exists()
