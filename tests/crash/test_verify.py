"""If a queue is killed while it verifies, its commands end and no result is trusted."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.verify.verify import Verifier
from gitworker.verify.verify_worktree import take_slot
from tests.verify.scene import EXACT, VerifyScene, is_alive, kill, output, read_pid, run
from tests.workers.world import World, wait_until

SCRIPT = """\
import sys
from gitworker.app import open_session
from gitworker.verify.verify_once import verify_once
verdict = verify_once(open_session(), sys.argv[1], label='it', force=True)
sys.exit(0 if verdict.passed else open(verdict.log).read())
"""
POINTS = {"verify-prepared": 0, "verify-started": 0, "verify-ended": 0, "verify-recorded": 1}
KILLED = -signal.SIGKILL
SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
SEED = 4


@pytest.fixture
def scene(world: World, monkeypatch: pytest.MonkeyPatch) -> VerifyScene:
    """A repository with verify commands that must be sound when the test is over."""
    return VerifyScene(world, monkeypatch)


def begin(scene: VerifyScene, commit: str = "", **env: str) -> "subprocess.Popen[bytes]":
    """Begin to verify a commit, by default the target, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, commit or scene.tip()],
        cwd=scene.world.root,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_each_point(scene: VerifyScene, point: str) -> None:
    """After a kill the next run has a free, clean worktree, and trusts only recorded results."""
    scene.set(EXACT, "touch left; rm README")
    assert begin(scene, GITWORKER_CRASH_AT=point).wait(60) == KILLED
    assert len(scene.runs()) == POINTS[point]
    with Verifier(scene.session()) as verifier:
        known = verifier.known(scene.tip())
        assert (known is not None) is bool(POINTS[point])
        verdict = run(verifier, scene.tip())
        assert verdict.passed, output(verdict)
    assert sorted(os.listdir(scene.trees)) == [".gitignore", "1"]


def test_killed_while_a_command_runs(scene: VerifyScene, tmp_path: Path) -> None:
    """Commands end at once when their queue is killed, even if no other run starts."""
    pids = [tmp_path / name for name in ("own", "child")]
    scene.set(f"echo $$ >{pids[0]}; sh -c 'echo $$ >{pids[1]}; exec sleep 300'")
    process = begin(scene)
    wait_until(lambda: pids[1].exists() and pids[1].read_text() != "")
    process.kill()
    process.wait()
    wait_until(lambda: not any(is_alive(read_pid(path)) for path in pids))
    assert scene.runs() == []


def test_orphans_of_a_killed_queue(scene: VerifyScene, tmp_path: Path) -> None:
    """A process that a killed queue's command moved into its own session ends with the next run."""
    pid = tmp_path / "pid"
    scene.set(f"cd / && setsid sh -c 'echo $$ >{pid}; exec sleep 300' & sleep 300")
    process = begin(scene)
    wait_until(lambda: pid.exists() and pid.read_text() != "")
    process.kill()
    process.wait()
    try:
        assert is_alive(read_pid(pid))
        slot = take_slot(scene.session())
        assert slot.number == 1
        assert not is_alive(read_pid(pid))
        slot.release()
    finally:
        kill(read_pid(pid))


def test_a_branch_of_a_killed_queue(scene: VerifyScene, tmp_path: Path) -> None:
    """A branch that a killed queue's command had checked out is free after the next look."""
    there = tmp_path / "there"
    scene.set(f"git checkout -q -b theirs; touch {there}; exec sleep 300")
    process = begin(scene)
    wait_until(there.exists)
    process.kill()
    process.wait()
    take_slot(scene.session()).release()
    scene.world.git("checkout", "-q", "theirs")


@pytest.mark.slow
def test_random_kills(scene: VerifyScene, tmp_path: Path) -> None:
    """Queues that are killed at random share no worktree, and every verdict that comes is right."""
    chance = random.Random(SEED)
    more = [scene.tip()] + [scene.commit({f"n{n}": f"{n}\n", "README": f"{n}\n"}) for n in range(4)]
    # A run that cleaned or switched the worktree meanwhile would be detected.
    watch = 'for i in 1 2 3 4 5; do test "$(cat owner)" = $$ || exit 9; sleep 0.02; done'
    scene.set(EXACT, f"echo $$ >owner; {watch}; rm README; mkdir -p a/b; touch a/b/c")
    running: list[subprocess.Popen[bytes]] = []
    killed = passed = 0
    for _ in range(int(30 * SCALE)):
        while len(running) < 4:
            running.append(begin(scene, chance.choice(more)))
        process = running.pop(chance.randrange(len(running)))
        if chance.random() < 0.6:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0, 0.8))
            process.kill()
        status = process.wait(60)
        assert status in (0, KILLED)
        killed += status == KILLED
        passed += status == 0
    for process in running:
        assert process.wait(60) == 0
    assert killed > 0
    assert passed > 0
    assert {row[1] for row in scene.runs()} == {"passed"}
    assert len(os.listdir(scene.trees)) <= 5


@pytest.mark.parametrize(
    "found", ["", "x", "1 2", "0 - -", "999999999 1 {boot}", "{own} 1 {boot}", "5 x {boot}"]
)
def test_an_odd_record(scene: VerifyScene, found: str) -> None:
    """A record without content, or with the number of another process, does no harm."""
    scene.set("true")
    scene.verify()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    record = scene.world.state_dir / "verify" / "1.run"
    assert not record.exists()
    record.write_text(found.format(boot=boot, own=os.getpid()))
    slot = take_slot(scene.session())
    assert slot.number == 1
    assert not record.exists()
    slot.release()


def test_killed_while_a_worktree_is_made(scene: VerifyScene) -> None:
    """A worktree that was half made is made again."""
    scene.set(EXACT)
    (scene.trees / "1").mkdir(parents=True)
    (scene.trees / "1" / ".git").write_text("gitdir: /nowhere\n")
    admin = scene.world.root / ".git" / "worktrees" / "1"
    admin.mkdir(parents=True)
    (admin / "gitdir").write_text(f"{scene.trees}/1/.git\n")
    (admin / "locked").write_text("initializing\n")
    assert scene.verify().passed
