"""The setup commands: their environment, the result of a failure, and the agreement they need."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from gitworker.errors import Refused
from gitworker.progress import Event, OutputLine
from gitworker.service.service import open_repository
from gitworker.workers.cancel import reset
from gitworker.worktrees.populate.setup_commands import finish_setups
from tests.workers.world import World, pass_time, unchanged, wait_until


def set_up(world: World, *commands: str, timeout_s: int = 60) -> World:
    """Configure the setup commands as their user does."""
    world.git("config", "worker.worktree.setup", "\n".join(commands))
    world.git("config", "worker.worktree.setup-timeout-s", str(timeout_s))
    return world


def logs(world: World) -> str:
    """Return all that setups have written."""
    return "".join(path.read_text() for path in (world.state_dir / "logs/setup").iterdir())


def shown(events: list[Event]) -> str:
    """Return the output that was reported."""
    return "\n".join(event.text for event in events if isinstance(event, OutputLine))


def test_commands(world: World) -> None:
    """The commands run in order in the worktree, know the worker, and are reported line by line."""
    events: list[Event] = []
    set_up(
        world, 'echo "$GITWORKER_ID $GITWORKER_TASK $GITWORKER_REPOSITORY" >seat.o',
        "cat seat.o; echo late >&2", "git rev-parse --show-toplevel >top.o",
    )  # fmt: skip
    place = Path(world.spawn("auth", "login", report=events.append).path)
    assert (place / "seat.o").read_text() == f"auth login {world.root}\n"
    assert (place / "top.o").read_text() == f"{place}\n"
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    assert f"auth login {world.root}\nlate" in shown(events)
    assert "late" in logs(world)
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def test_a_failure(world: World) -> None:
    """A command that fails ends the setup: FAILED, with the worktree kept and the log named."""
    set_up(world, "echo one >a.o; echo broken >&2; exit 3", "touch never.o")
    with pytest.raises(Refused) as caught:
        world.spawn("auth", "login")
    error = caught.value
    assert (error.code, error.status) == ("setup_failed", 1)
    assert "broken" in error.detail
    assert "git worker resume auth " in (error.hint or "")
    assert "logs/setup/" in (error.hint or "")
    assert world.states("auth", "login")[0] == "FAILED"
    assert (world.path("auth") / "a.o").exists()
    assert not (world.path("auth") / "never.o").exists()
    (failed,) = world.messages("task_failed")
    assert "status 3" in failed["reason"]
    reset(world.session(), "auth")
    set_up(world, "true")
    world.query("SELECT 1")
    assert world.worker("auth").state == "IDLE"


def test_resume_repeats_a_failed_setup(world: World) -> None:
    """A worker whose setup failed is taken up only after its setup has run."""
    set_up(world, "test -e ready")
    with pytest.raises(Refused):
        world.spawn("auth", "login")
    service = open_repository(str(world.root))
    with pytest.raises(Refused) as caught:
        service.resume("auth")
    assert (caught.value.code, world.states("auth", "login")[0]) == ("setup_failed", "FAILED")
    (world.path("auth") / "ready").touch()
    service.resume("auth")
    assert world.states("auth", "login")[0] == "WORKING"
    set_up(world, "false")
    service.resume("auth")


def test_a_time_limit(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setup that does not end is ended with all that it has started."""
    ready = tmp_path / "ready"
    set_up(world, f"sleep 600 & echo $! >pid.o; touch {ready}; wait", timeout_s=50)
    with monkeypatch.context() as patch:
        pass_time(patch, 50, when=ready.exists)
        with pytest.raises(Refused, match="50 s"):
            world.spawn("auth", "login")
    pid = int((world.path("auth") / "pid.o").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or is_zombie(pid))
    assert world.states("auth", "login")[0] == "FAILED"


def is_zombie(pid: int) -> bool:
    """Return whether a process only waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_its_log_is_deleted(world: World) -> None:
    """Deleting the log during the setup, as gc may do, fails no setup; output is still shown."""
    events: list[Event] = []
    logs_dir = world.state_dir / "logs"
    set_up(world, f"echo one; rm -r '{logs_dir}'; echo two")
    world.spawn("auth", "login", report=events.append)
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    assert "two" in shown(events)
    set_up(world, f"rm -r '{logs_dir}'; echo three; exit 4")
    with pytest.raises(Refused, match="status 4") as caught:
        world.spawn("bob", "other")
    assert "three" in caught.value.detail


def test_untrusted(world: World) -> None:
    """Commands that the repository brings are refused, before anything is made, until agreed to."""
    world.advance({".gitworker.toml": '[worktree]\nsetup = ["touch setup.o"]\n'})
    world.session()
    with unchanged(world, "untrusted"):
        world.spawn("auth", "login")


@pytest.mark.parametrize("point", ["setup.started", "setup.failed", "setup.closed"])
def test_killed(world: World, point: str) -> None:
    """A spawn that is killed while its setup runs leaves a FAILED worker, and nothing running."""
    ends = "exit 1" if point != "setup.started" else "true"
    set_up(world, f"echo $$ >pid.o; {ends}")
    done = world.drive("spawn", "auth", "login", GITWORKER_CRASH_AT=point)
    assert done.returncode == -signal.SIGKILL
    world.drive("recover_all")
    assert world.states("auth", "login")[0] == "FAILED"
    assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []


def test_a_process_that_left_the_session_of_a_killed_setup(world: World) -> None:
    """A daemon of a setup that was killed is ended, so that nothing holds the worktree."""
    set_up(world, "setsid sh -c 'echo $$ >pid.o; exec sleep 600' & sleep 600")
    file = world.root / "worktrees/login/pid.o"
    with subprocess.Popen(world.argv("spawn", "auth", "login"), cwd=world.root) as spawning:
        wait_until(lambda: file.exists() and bool(file.read_text().strip()))
        spawning.kill()
    pid = int(file.read_text())
    world.drive("recover_all")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or is_zombie(pid))
    reset(world.session(), "auth")
    assert world.worker("auth").state == "IDLE"


def test_a_running_setup_is_left_alone(world: World) -> None:
    """While a setup runs, other commands do not take it for dead."""
    set_up(world, "touch begun.o; until [ -e go.o ]; do sleep 0.02; done")
    with subprocess.Popen(world.argv("spawn", "auth", "login"), cwd=world.root) as spawning:
        begun = world.root / "worktrees/login/begun.o"
        wait_until(begun.exists)
        assert finish_setups(world.session()) == []
        assert world.drive("recover_all").stdout.strip() == ""
        assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
        begun.with_name("go.o").touch()
        assert spawning.wait(60) == 0
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
