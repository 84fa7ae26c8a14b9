"""Signals to a supervisor, and the processes that an agent leaves behind."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.agents.supervised import COMMIT, SupervisedWorker, is_alive, is_stopped, read_until
from tests.cli.kit import DEADLINE_S
from tests.workers.world import wait_until

ORPHAN = """
import os, sys, time
if os.fork() == 0:
    {first}
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        {second}
        os.close(1); os.close(2)
        time.sleep(60)
    os._exit(0)
os.wait()
{last}
"""


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR2"])
def test_signals_are_passed_on(auth: SupervisedWorker, name: str) -> None:
    """A signal to the supervisor reaches the agent, whose end it is that decides."""
    script = f"trap 'echo {name}; exit 9' {name}; echo ready; while :; do sleep 0.02; done"
    with auth.running("sh", "-c", script) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.stdout.read() == f"{name}\n".encode()
        assert process.wait(DEADLINE_S) == 9
    assert auth.runs()[0]["reason"] == "it ended with status 9"


def test_the_end_by_a_signal(auth: SupervisedWorker) -> None:
    """An agent that a signal ends gives the exit status that a shell would give."""
    with auth.running("sleep", "60") as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130
    assert auth.runs()[0]["reason"] == "it was ended by SIGINT"


def test_an_agent_that_stopped_itself_hears_its_end(auth: SupervisedWorker) -> None:
    """A signal that is to end it lets an agent go on that has stopped itself."""
    with auth.running("sh", "-c", "trap 'exit 9' TERM; kill -STOP $$; sleep 60") as process:
        pid = auth.runs()[0]["pid"]
        wait_until(lambda: is_stopped(pid))
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 9


def test_ignored_signals_stay_ignored(auth: SupervisedWorker) -> None:
    """Under nohup neither the supervisor nor the agent minds a hang-up."""
    script = "echo ready; read line; exit 4"
    words = (sys.executable, "-c", f"import os; os.execvp('sh', ['sh', '-c', {script!r}])")

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with auth.running(*words, stdin=-1, preexec_fn=ignore) as process:
        assert process.stdout
        assert process.stdin
        read_until(process.stdout.fileno(), b"ready\n")
        process.send_signal(signal.SIGHUP)
        os.kill(auth.runs()[0]["pid"], signal.SIGHUP)
        process.stdin.write(b"\n")
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 4


def test_suspending_suspends_both(auth: SupervisedWorker) -> None:
    """TSTP stops the supervisor and its agent; CONT lets both go on."""
    script = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.02; done"
    with auth.running("sh", "-c", script) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        pid = auth.runs()[0]["pid"]
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: is_stopped(process.pid) and is_stopped(pid))
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: not is_stopped(pid))
        os.kill(pid, signal.SIGUSR1)
        assert process.wait(DEADLINE_S) == 5


def daemon(started: Path, streams: str = "") -> str:
    """Return a script that starts a daemon elsewhere and prints its pid once it runs there."""
    begin = f"cd / && exec setsid sh -c ': >{started}; exec sleep 64' {streams}"
    return f"({begin} & echo $!); until test -e {started}; do sleep 0.02; done"


def test_remaining_processes_are_ended(auth: SupervisedWorker, tmp_path: Path) -> None:
    """Processes in other groups or sessions, or that ignore TERM, end with the agent."""
    script = (
        "set -m; (trap '' TERM; exec sleep 61) & echo $!; sleep 62 & echo $!;"
        " (setsid sleep 63 >/dev/null 2>&1 & echo $!);"
        f" {daemon(tmp_path / 'started', '>/dev/null 2>&1')}; {COMMIT}"
    )
    answer = auth.exec(script)
    assert answer.status == 0
    *ours, away = map(int, answer.out.split())
    assert not any(map(is_alive, ours))
    assert is_alive(away), "a process in another directory, like a daemon, is left alone"
    os.kill(away, signal.SIGKILL)


def test_orders_reach_other_sessions(auth: SupervisedWorker) -> None:
    """A pause, a stop and the final kill reach the agent's processes in other sessions."""
    env = {**os.environ, "GITWORKER_AGENT_STOP_GRACE_S": "1"}
    child = "echo $$; trap '' TERM; while :; do sleep 0.05; done"
    script = f'setsid sh -c "{child.replace("$", chr(92) + "$")}" & wait'
    with auth.running("sh", "-c", script, env=env) as process:
        assert process.stdout
        pid = int(read_until(process.stdout.fileno(), b"\n"))
        auth.order("pause")
        wait_until(lambda: is_stopped(pid))
        auth.order("resume")
        wait_until(lambda: not is_stopped(pid))
        auth.order("stop")
        assert process.wait(DEADLINE_S) == 143
        assert not is_alive(pid)


def test_orphans_are_reaped_while_the_agent_runs(auth: SupervisedWorker) -> None:
    """A grandchild whose parent has ended becomes the supervisor's child and leaves no zombie."""
    script = ORPHAN.format(first="", second="os.setsid()", last="sys.stdin.read()")
    with auth.running(sys.executable, "-c", script, stdin=-1) as process:
        assert process.stdout
        assert process.stdin
        orphan = int(read_until(process.stdout.fileno(), b"\n"))
        parent = f"/proc/{orphan}/stat"

        def adopted() -> bool:
            with open(parent, encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[1] == str(process.pid)

        wait_until(adopted)
        os.kill(orphan, signal.SIGKILL)
        wait_until(lambda: not os.path.exists(parent))
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 0


def test_an_open_pipe_does_not_keep_the_supervisor(auth: SupervisedWorker, tmp_path: Path) -> None:
    """A daemon of the agent that holds its output open does not keep the supervisor."""
    answer = auth.exec(f"echo $$; {daemon(tmp_path / 'started')}; {COMMIT}; echo last")
    lines = answer.out.split()
    assert (answer.status, lines[-1]) == (0, "last")
    os.kill(int(lines[1]), signal.SIGKILL)
