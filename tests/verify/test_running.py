"""The verifications that run now are found by their processes, each with its own log."""

import os
import signal
import subprocess
from pathlib import Path

from gitworker.observe.logs.running_verify import RunningVerify, read_running
from gitworker.verify.verify import Verifier
from tests.verify.scene import VerifyScene, is_alive
from tests.workers.world import wait_until


def running(scene: VerifyScene) -> list[RunningVerify]:
    """Return the runs that have not ended."""
    return read_running(scene.session(), lines=20)


def leader(scene: VerifyScene) -> int:
    """Return the first process of the run in the first verify worktree."""
    record = scene.world.state_dir / "verify" / "1.run"
    wait_until(lambda: record.exists() and record.read_text() != "")
    return int(record.read_text().split()[0])


def leave_log(scene: VerifyScene, name: str) -> Path:
    """Leave the log of a run that was killed: it has a head and no last line."""
    folder = scene.world.state_dir / "logs" / "verify"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        f"commit   {'a' * 40}  (dead)\ntree     {'b' * 40}\nstarted  2026-01-02T03:04:05Z\n"
        "commands\n    make\n\n$ make\n"
    )
    return path


def test_a_run_has_its_own_log(scene: VerifyScene, tmp_path: Path) -> None:
    """A log without an end that sorts as newer is not taken for the log of the run."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    scene.set(f"echo alive; read line < {gate}")
    leave_log(scene, "99991231T235959Z-aaaaaaaaaaaa.log")
    with Verifier(scene.session()) as verifier:
        verifier.start(scene.tip(), label="it")
        wait_until(lambda: any("alive" in one.lines for one in running(scene)))
        (one,) = running(scene)
        assert (one.commit, one.label) == (scene.tip(), "it")
        gate.write_text("go\n")
        assert verifier.wait(3600) is not None
    assert running(scene) == []


def test_output_that_looks_like_a_verdict(scene: VerifyScene, tmp_path: Path) -> None:
    """A run whose last line of output looks like a verdict still runs."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    scene.set(f"echo passed after 1.0 s; read line < {gate}")
    with Verifier(scene.session()) as verifier:
        verifier.start(scene.tip())
        wait_until(lambda: any("passed after 1.0 s" in one.lines for one in running(scene)))
        gate.write_text("go\n")
        assert verifier.wait(3600) is not None


def test_two_runs_at_once(scene: VerifyScene, tmp_path: Path) -> None:
    """Two runs have their own commits and outputs, the newest first."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    scene.set(f"git log -1 --format=%H; read line < {gate}", merge_parallel=2)
    commits = [scene.commit({"a": "1\n"}), scene.commit({"a": "2\n"})]
    with Verifier(scene.session()) as verifier:
        for commit in commits:
            verifier.start(commit)
        wait_until(lambda: sum(one.commit in one.lines for one in running(scene)) == 2)
        found = running(scene)
        assert {one.commit for one in found} == set(commits)
        assert [one.started_at_ms for one in found] == sorted(
            (one.started_at_ms for one in found), reverse=True
        )


def test_a_killed_command_does_not_run(scene: VerifyScene) -> None:
    """A run whose first process was killed is not shown, although its log has no end."""
    scene.set("sleep 300")
    with Verifier(scene.session()) as verifier:
        verifier.start(scene.tip())
        pid = leader(scene)
        wait_until(lambda: running(scene) != [])
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))
        wait_until(lambda: running(scene) == [])


def test_a_killed_verifier_leaves_no_run(scene: VerifyScene) -> None:
    """After a kill of the verifier its run ends, and its log is not shown as running."""
    scene.set("sleep 300")
    verifier = subprocess.Popen(scene.world.argv("verify"), cwd=scene.world.root)
    pid = leader(scene)
    wait_until(lambda: running(scene) != [])
    verifier.kill()
    verifier.wait()
    wait_until(lambda: not is_alive(pid))
    assert running(scene) == []
