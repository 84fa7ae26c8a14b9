"""Agents whose supervisor was killed keep running, are reported, and obey orders."""

import contextlib
import os
import signal
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitworker.agents.orphans import FOUND, OrphanSupervisor
from gitworker.clock import monotonic_ms, now_ms
from gitworker.liveness.start_daemon import is_daemon_running
from gitworker.processes.table import all_processes
from gitworker.store.sqlite.migrate import open_database
from tests.agents.supervised import SupervisedWorker, is_alive, is_stopped, read_until
from tests.cli.kit import ok
from tests.cli.terminal import on_terminal
from tests.workers.world import wait_until, without_heartbeat_daemon

COUNTING = (
    "sh", "-c",
    "exec 2> errors; trap 'echo x >> terms' TERM; : > terms; while :; do sleep 0.02; done",
)  # fmt: skip
TWO = 2


@dataclass(frozen=True)
class Orphan:
    """An agent without a supervisor, and a keeper that checks on request."""

    auth: SupervisedWorker
    pid: int
    keeper: OrphanSupervisor

    def look(self) -> bool:
        """Let the keeper check once; return whether it still has an agent to keep."""
        return look(self.auth, self.keeper)


def look(auth: SupervisedWorker, keeper: OrphanSupervisor) -> bool:
    """Let a keeper look once through a connection of its own."""
    store = open_database(auth.world.session().paths.database)
    try:
        return keeper.attend(store)
    finally:
        store.close()


@contextlib.contextmanager
def orphaned(
    auth: SupervisedWorker,
    *words: str,
    orders: tuple[str, ...] = (),
    began: str = "",
    options: tuple[str, ...] = (),
) -> Iterator[Orphan]:
    """Give an agent that got these orders before its supervisor was killed, without heartbeats.

    `began` is a file in the worktree whose existence shows that the agent has begun.
    """
    with (
        auth.running(*words, options=options, env=dict(os.environ)) as process,
        without_heartbeat_daemon(auth.world),
    ):
        wait_until(lambda: Path(auth.path, began).exists())
        for order in orders:
            before = len(auth.logs())
            auth.order(order)
            wait_until(lambda n=before: len(auth.logs()) > n)
        process.kill()
        process.wait()
        yield Orphan(auth, auth.runs()[-1]["pid"], OrphanSupervisor(auth.world.session))


def test_a_paused_agent_is_resumed(auth: SupervisedWorker) -> None:
    """An agent that its supervisor had stopped is resumed, which is reported once."""
    with orphaned(auth, "sleep", "60", orders=("pause",)) as orphan:
        wait_until(lambda: is_stopped(orphan.pid))
        assert orphan.look()
        wait_until(lambda: not is_stopped(orphan.pid))
        assert orphan.look()
        assert auth.runs()[0]["paused_at_ms"] is None
        assert [log for log in auth.logs() if log[1] == "orphan"] == [("warn", "orphan", FOUND)]
        assert [log[1] for log in auth.logs()] == ["agent_start", "pause", "orphan"]


def test_orders_are_obeyed(auth: SupervisedWorker) -> None:
    """A pause holds until a resume, an invalid order is reported, and a stop ends the task."""
    with orphaned(auth, "sleep", "60") as orphan:
        orphan.look()
        auth.order("pause", "lunch")
        orphan.look()
        wait_until(lambda: is_stopped(orphan.pid))
        assert auth.runs()[0]["paused_at_ms"] is not None
        orphan.look()
        assert is_stopped(orphan.pid), "it was paused by an order since"
        auth.order("resume")
        auth.foreign_order({"command": "dance"}, to="auth")
        orphan.look()
        wait_until(lambda: not is_stopped(orphan.pid))
        auth.order("stop", "enough")
        orphan.look()
        wait_until(lambda: not is_alive(orphan.pid))
        assert orphan.look(), "its end is reported by the keeper that sees it"
        assert not orphan.look()
    (found,) = auth.runs()
    assert found["ended_at_ms"]
    assert (found["exit_status"], found["reason"]) == (None, "stopped by hq: enough")
    (stopped,) = auth.world.messages("agent_stopped")
    assert (stopped["exit_status"], stopped["reason"]) == (None, "stopped by hq: enough")
    assert auth.world.states("auth", "t1") == ("FAILED", "BLOCKED")
    assert ("warn", "order", "dance is not an order") in auth.logs()
    assert auth.world.query("SELECT * FROM orphans") == []
    auth.world.require_sound()


def test_the_time_limit_holds(auth: SupervisedWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent is stopped at the time limit of its run, though its supervisor has died."""
    with orphaned(auth, "sleep", "60", options=("--time-limit", "3600")) as orphan:
        orphan.look()
        orphan.look()
        assert is_alive(orphan.pid)
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(now_ms() + 3_601_000))
        orphan.look()
        wait_until(lambda: not is_alive(orphan.pid))
        orphan.look()
    assert auth.runs()[0]["reason"] == "the time limit of 3600 s was reached"
    assert auth.world.states("auth", "t1") == ("FAILED", "BLOCKED")


def test_a_resume_wakes_one_that_stopped_itself(auth: SupervisedWorker) -> None:
    """A resume continues an agent that has stopped itself."""
    with orphaned(auth, "sleep", "60") as orphan:
        orphan.look()
        os.kill(orphan.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(orphan.pid))
        auth.order("resume")
        orphan.look()
        wait_until(lambda: not is_stopped(orphan.pid))


def test_one_that_does_not_stop_is_killed(auth: SupervisedWorker) -> None:
    """An agent that ignores TERM is killed once the grace of now is over, not an earlier one."""
    auth.world.git("config", "worker.agent.stop-grace-s", "600")
    with orphaned(auth, *COUNTING, began="terms") as orphan:
        orphan.look()
        auth.world.git("config", "worker.agent.stop-grace-s", "1")
        auth.order("stop")
        auth.order("stop", "again")
        orphan.look()
        wait_until(lambda: terms(auth) == 1)
        wait_until(lambda: not (orphan.look() and is_alive(orphan.pid)))
        wait_until(lambda: not orphan.look())
    assert terms(auth) == 1
    assert auth.runs()[0]["reason"] == "stopped by hq"


def test_a_stop_is_seen_through(auth: SupervisedWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the supervisor was killed between TERM and KILL, the agent is killed all the same."""
    monkeypatch.setenv("GITWORKER_AGENT_STOP_GRACE_S", "600")
    with orphaned(auth, *COUNTING, orders=("stop",), began="terms") as orphan:
        wait_until(lambda: terms(auth) == 1)
        orphan.look()
        assert is_alive(orphan.pid)
        monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: monotonic_ms() + 600_000)
        wait_until(lambda: not (orphan.look() and is_alive(orphan.pid)))
        wait_until(lambda: not orphan.look())
    assert terms(auth) == 1
    assert [event for _, event, _ in auth.logs()].count("stop") == 1
    assert auth.runs()[0]["reason"] == "stopped by hq"
    assert auth.world.states("auth", "t1") == ("FAILED", "BLOCKED")


def test_orders_count_once(auth: SupervisedWorker) -> None:
    """Orders sent before the run, or already carried out, are not carried out again."""
    auth.order("stop", "too early")
    with orphaned(auth, "sleep", "60", orders=("resume", "pause", "resume")) as orphan:
        orphan.look()
        orphan.look()
        events = [event for _, event, _ in auth.logs()]
        assert events == ["agent_start", "resume", "pause", "resume", "orphan"]
        assert is_alive(orphan.pid)


def test_two_keepers_signal_once(auth: SupervisedWorker) -> None:
    """Of two that look at the same moment one carries an order out."""
    with orphaned(auth, *COUNTING, began="terms") as orphan:
        orphan.look()
        for _ in range(5):
            auth.order("resume")
        auth.order("stop")
        keepers = [OrphanSupervisor(auth.world.session) for _ in range(TWO)]
        barrier = threading.Barrier(TWO)

        def at_once(keeper: OrphanSupervisor) -> None:
            barrier.wait()
            look(auth, keeper)

        threads = [threading.Thread(target=at_once, args=(keeper,)) for keeper in keepers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_until(lambda: bool(terms(auth)))
        assert [event for _, event, _ in auth.logs()].count("stop") == 1
        orphan.look()
        assert terms(auth) == 1


def test_a_worker_that_was_moved_on(auth: SupervisedWorker) -> None:
    """If another command ended the worker's task, the end of its orphan changes nothing."""
    with orphaned(auth, "sleep", "60") as orphan:
        orphan.look()
        ok(auth.world.root, "fail", "auth", "-m", "No idea")
        auth.order("stop")
        orphan.look()
        wait_until(lambda: not is_alive(orphan.pid))
        wait_until(lambda: not orphan.look())
    assert auth.world.states("auth", "t1") == ("FAILED", "FAILED")
    assert auth.runs()[0]["reason"] == "stopped by hq"


def test_an_order_alone_starts_its_execution(auth: SupervisedWorker) -> None:
    """After kill -9 of the supervisor a stop message alone ends the agent."""
    with auth.running("sleep", "60") as process:
        process.kill()
        process.wait()
        (before,) = auth.runs()
        assert not is_daemon_running(auth.world.session().paths)
        auth.order("stop", "enough")
        wait_until(lambda: not is_alive(before["pid"]))
        wait_until(lambda: auth.runs()[0]["ended_at_ms"] is not None)
        wait_until(lambda: not is_daemon_running(auth.world.session().paths))
    assert auth.runs()[0]["reason"] == "stopped by hq: enough"
    assert auth.world.states("auth", "t1") == ("FAILED", "BLOCKED")


def test_any_command_finds_it(auth: SupervisedWorker) -> None:
    """The next command resumes a paused agent, and any later command finds its end."""
    with auth.running("sh", "-c", "echo ready; sleep 60", stdin=-1) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        pid = auth.runs()[0]["pid"]
        auth.order("pause")
        wait_until(lambda: is_stopped(pid))
        process.kill()
        process.wait()
        ok(auth.world.root, "list")
        wait_until(lambda: not is_stopped(pid))
    wait_until(lambda: auth.runs()[0]["ended_at_ms"] is not None)
    wait_until(lambda: not is_daemon_running(auth.world.session().paths))
    assert auth.state() == "WORKING", "until it has been silent for long"


def terms(auth: SupervisedWorker) -> int | None:
    """Return how often the agent got TERM, or None before it counts."""
    path = Path(auth.path, "terms")
    return path.read_text().count("x") if path.exists() else None


PRINTING = (
    "sh", "-c",
    "echo begun | tee begun; while ! test -e go; do sleep 0.02; done; "
    "for n in 1 2 3 4 5; do echo line $n; echo error $n >&2; done; touch survived; sleep 600",
)  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_output_survives_the_supervisor(auth: SupervisedWorker, options: tuple[str, ...]) -> None:
    """An agent that prints after the death of its supervisor keeps running, and is logged."""
    with auth.running(*PRINTING, options=options) as process:
        wait_until(lambda: auth.log.exists() and auth.log.read_text() == "begun\n")
        process.kill()
        process.wait()
        (auth.path / "go").touch()
        wait_until(lambda: (auth.path / "survived").exists())
        assert is_alive(auth.runs()[-1]["pid"])
        wait_until(lambda: auth.log.read_text().count("\n") == 1 + 2 * 5)
    assert sorted(auth.log.read_text().splitlines()[1:])[0] == "error 1"


def test_the_heir_ends_with_the_agent(auth: SupervisedWorker) -> None:
    """No process of the supervisor remains, whether it was killed or ended by itself."""
    assert auth.exec("echo fine").status == 0
    with auth.running(*PRINTING) as process:
        wait_until(lambda: auth.log.exists() and "begun" in auth.log.read_text())
        heirs = [one.pid for one in all_processes() or () if one.parent == process.pid]
        process.kill()
        process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in heirs))
    assert len(heirs) == TWO


def test_a_terminal_survives_the_supervisor(auth: SupervisedWorker) -> None:
    """If its supervisor is killed, an agent is not hung up, and the terminal's modes return."""
    words = ("exec", "auth", "--", *PRINTING)
    with on_terminal(auth.world.root, *words) as terminal:
        modes = termios.tcgetattr(terminal.fd)
        terminal.read_until("begun")
        wait_until(lambda: termios.tcgetattr(terminal.fd) != modes)
        terminal.process.kill()
        terminal.process.wait()
        wait_until(lambda: termios.tcgetattr(terminal.fd) == modes)
        (auth.path / "go").touch()
        wait_until(lambda: (auth.path / "survived").exists())
        assert is_alive(auth.runs()[-1]["pid"])
        wait_until(lambda: "error 5" in auth.log.read_text())
        os.killpg(auth.runs()[-1]["pid"], signal.SIGKILL)
