"""Processes of a run: all of them end with it, and no other process does."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.verify.verify import Verifier
from tests.verify.scene import VerifyScene, is_alive, kill, output, read_pid, run
from tests.workers.world import pass_time, wait_until

LIMIT_S = 90

# Ways to run on in the background: the file $1 gets the pid.
IN_GROUP = "sh -c 'echo $$ >$0; exec sleep 300' {0} &"
DEAF = """sh -c 'trap "" TERM; echo $$ >$0; while :; do sleep 1; done' {0} &"""
OWN_SESSION = "setsid sh -c 'echo $$ >$0; exec sleep 300' {0} &"
STOPPED = "sh -c 'echo $$ >$0; kill -STOP $$' {0} &"
ELSEWHERE = "(cd / && setsid sh -c 'echo $$ >$0; exec sleep 300' {0} &);"
ORPHAN = "(setsid sh -c 'sleep 300 & echo $! >$0' {0} &);"
WAYS = [
    IN_GROUP, OWN_SESSION,
    *(pytest.param(way, marks=pytest.mark.slow) for way in (DEAF, STOPPED, ELSEWHERE, ORPHAN)),
]  # fmt: skip
WAIT = "until test -s {0}; do sleep 0.01; done"


@pytest.fixture
def pid_file(tmp_path: Path) -> Iterator[Path]:
    """A file for the number of a process, which is killed afterwards if it still runs."""
    path = tmp_path / "pid"
    yield path
    if path.exists() and path.read_text():
        kill(read_pid(path))


@pytest.mark.parametrize("way", WAYS)
def test_a_timeout_ends_them_all(
    scene: VerifyScene, pid_file: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """When the time is over the whole family of the command ends, and the run has failed."""
    monkeypatch.setattr("gitworker.verify.run_processes.TERM_GRACE_S", 0.2)
    command = f"{way} {WAIT}; sleep 300".format(pid_file)
    scene.set("true", command, verify_timeout_s=LIMIT_S)
    with monkeypatch.context() as patch:
        pass_time(patch, LIMIT_S, when=lambda: pid_file.exists() and pid_file.read_text() != "")
        verdict = scene.verify()
    assert verdict.reason.endswith(f"took longer than {LIMIT_S} s")
    assert "`" + command[:20] in verdict.reason
    assert verdict.duration_ms >= LIMIT_S * 1000
    assert not is_alive(read_pid(pid_file))
    assert scene.runs() == [(scene.tip(), "failed", 0, verdict.reason)]
    scene.set("true")
    assert scene.verify().passed
    assert sorted(os.listdir(scene.trees)) == [".gitignore", "1"]


def test_no_time_limit(scene: VerifyScene) -> None:
    """With a limit of 0 a command takes the time it takes."""
    scene.set("sleep 0.1", verify_timeout_s=0)
    assert scene.verify().passed


def test_a_flood_of_output(scene: VerifyScene) -> None:
    """A command whose log grows beyond all bounds is stopped before the disk is full."""
    scene.set("truncate -s 2G /proc/self/fd/1; sleep 300")
    verdict = scene.verify()
    assert verdict.reason.endswith(" wrote more than 1024 MiB of output")
    assert os.stat(verdict.log).st_blocks * 512 < 1_000_000


def test_the_time_limit_is_each_commands(
    scene: VerifyScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command has the whole time for itself, whatever those before it took."""
    done, seen = tmp_path / "done", tmp_path / "seen"
    done.touch()
    seen.touch()

    def count() -> int:
        seen.write_bytes(done.read_bytes())  # each command waits until its time has passed
        return seen.stat().st_size

    pass_time(monkeypatch, LIMIT_S * 2 // 3, when=count)
    scene.set(*[f"echo >>{done}; until cmp -s {done} {seen}; do sleep 0.01; done"] * 5,
              verify_timeout_s=LIMIT_S)  # fmt: skip
    verdict = scene.verify()
    assert verdict.passed, verdict.reason
    assert verdict.duration_ms > 3 * LIMIT_S * 1000


@pytest.mark.parametrize("way", [IN_GROUP, OWN_SESSION, ORPHAN])
def test_a_good_run_leaves_nothing(scene: VerifyScene, pid_file: Path, way: str) -> None:
    """Processes that the commands leave in the worktree end with the commands."""
    scene.set(f"{way} {WAIT}".format(pid_file))
    assert scene.verify().passed
    assert not is_alive(read_pid(pid_file))


def test_a_daemon_lives_on(scene: VerifyScene, pid_file: Path) -> None:
    """A service that a good run has sent its own way is left alone."""
    scene.set(f"{ELSEWHERE} {WAIT}".format(pid_file))
    assert scene.verify().passed
    assert is_alive(read_pid(pid_file))


def test_a_person_in_the_worktree(scene: VerifyScene) -> None:
    """A user's process in a verify worktree is not one of the run's processes."""
    scene.set("true")
    scene.verify()
    scene.set("sleep 300", verify_timeout_s=1)
    person = subprocess.Popen(["sleep", "300"], cwd=scene.trees / "1")
    try:
        assert not scene.verify().passed
        assert person.poll() is None
    finally:
        person.kill()
        person.wait()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("kill -9 $PPID; sleep 300", "was killed by signal 9"),
        ("kill -9 0", "was killed by signal 9"),
        ("kill -9 $$", "ended with status 137"),
    ],
)
def test_suicide(scene: VerifyScene, command: str, reason: str) -> None:
    """A command that kills itself, our shell or the whole group has failed."""
    scene.set(command)
    verdict = scene.verify()
    assert not verdict.passed
    assert reason in verdict.reason


def test_leaving_kills(scene: VerifyScene, pid_file: Path) -> None:
    """Leaving a verifier while it runs leaves no process, no lock and no verdict."""
    scene.set(f"{OWN_SESSION} sleep 300".format(pid_file))
    with Verifier(scene.session()) as verifier:
        verifier.start(scene.tip(), label="it")
        wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    assert not is_alive(read_pid(pid_file))
    assert scene.runs() == []
    scene.set("true")
    with Verifier(scene.session()) as verifier:
        verdict = run(verifier, scene.tip())
        assert verdict.passed, output(verdict)


def test_sigterm_is_sent_first(
    scene: VerifyScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command may tidy up before it is killed."""
    ready, mark = tmp_path / "ready", tmp_path / "tidy"
    monkeypatch.setattr("gitworker.verify.run_processes.TERM_GRACE_S", 60)
    pass_time(monkeypatch, LIMIT_S, when=ready.exists)
    # The shell writes the mark itself: a process that tidies up gets SIGTERM too. It loops: if its
    # child gets the signal first, `wait` returns before the shell gets its own.
    command = f"trap ': >{mark}; exit 1' TERM; : >{ready}; while :; do sleep 300 & wait; done"
    scene.set(command, verify_timeout_s=LIMIT_S)
    assert not scene.verify().passed
    assert mark.exists()


def test_no_signal_reaches_the_caller(scene: VerifyScene) -> None:
    """A command that signals its group does not signal us."""
    before = signal.getsignal(signal.SIGTERM)
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        scene.set("kill -TERM 0; sleep 300")
        assert not scene.verify().passed
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == []
