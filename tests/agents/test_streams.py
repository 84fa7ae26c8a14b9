"""The input and output of an agent without a terminal: all bytes, in order."""

import hashlib
import os
import signal
import subprocess
import sys

from tests.agents.supervised import COMMIT, SupervisedWorker, read_until
from tests.cli.kit import DEADLINE_S, PROGRAM
from tests.workers.world import wait_until

BLOCKS = 300  # of 64 KiB


def test_streams_stay_apart(auth: SupervisedWorker) -> None:
    """Output and error reach the caller's own output and error, and both the log."""
    answer = auth.exec("echo out; echo err >&2")
    assert answer.out == "out\n"
    assert answer.err.startswith("err\n")
    assert sorted(auth.log.read_text().split()) == ["err", "out"]


def test_standard_input_is_the_callers(auth: SupervisedWorker) -> None:
    """The agent reads the caller's standard input to its end."""
    assert auth.exec("cat", stdin=b"\x00one\xfftwo").out == "\x00one\udcfftwo"


def test_much_binary_output(auth: SupervisedWorker) -> None:
    """Twenty megabytes of any bytes arrive unchanged at the caller and in the log."""
    script = (
        "import os, hashlib\nseen = hashlib.sha256()\n"
        f"for n in range({BLOCKS}):\n"
        "    data = hashlib.shake_128(b'%d' % n).digest(65536)\n"
        "    seen.update(data)\n    os.write(1, data)\n"
        "os.write(2, seen.hexdigest().encode())\n"
    )
    with auth.running(sys.executable, "-c", script) as process:
        out, err = process.communicate(timeout=DEADLINE_S * 4)
    seen = hashlib.sha256(out).hexdigest()
    assert len(out) == BLOCKS * 65536
    assert err.startswith(seen.encode())
    logged = auth.log.read_bytes().replace(seen.encode(), b"")
    assert len(logged) == len(out) % (16 * 1024 * 1024) or len(logged) == len(out)


def test_an_agent_that_closes_its_output_lives_on(auth: SupervisedWorker) -> None:
    """An agent may close its output and continue, and only its exit ends the run."""
    with auth.running("sh", "-c", "echo early; exec >&- 2>&-; read line; exit 8", stdin=-1) as p:
        assert p.stdout
        assert p.stdin
        read_until(p.stdout.fileno(), b"early\n")
        assert p.poll() is None
        p.stdin.write(b"go\n")
        p.stdin.close()
        p.stdin = None
        assert p.wait(DEADLINE_S) == 8


def test_a_reader_that_has_ended(auth: SupervisedWorker) -> None:
    """If the reader ends, the agent notices it as it would without us."""
    with auth.running("yes") as process:
        assert process.stdout
        process.stdout.close()
        process.stdout = None
        assert process.wait(DEADLINE_S) == 128 + signal.SIGPIPE


def test_a_slow_reader_delays_no_order(auth: SupervisedWorker) -> None:
    """While the output is not read the agent waits, and a stop still works."""
    with auth.running("yes") as process:
        pid = auth.runs()[0]["pid"]
        wait_until(lambda: auth.log.exists() and auth.log.stat().st_size > 1 << 16)
        auth.order("stop")
        wait_until(lambda: auth.runs()[0]["ended_at_ms"] is not None)
        assert not os.path.exists(f"/proc/{pid}")
        assert process.poll() is None, "its output is still being read"
        process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 143


def test_closed_streams(auth: SupervisedWorker) -> None:
    """A caller that closed its standard streams gets its agent run, logged and handed in."""
    script = f'exec "$0" exec auth -- sh -c "echo hello; {COMMIT}" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", script, PROGRAM], cwd=auth.world.root, check=False)
    assert done.returncode == 0
    assert auth.log.read_text() == "hello\n"
    assert auth.state() == "IN_REVIEW"


def test_output_to_a_full_disk(auth: SupervisedWorker) -> None:
    """If the caller's output cannot be written, the agent continues and its log is complete."""
    with (
        open("/dev/full", "wb") as full,
        auth.running("sh", "-c", f"echo hello; {COMMIT}; echo more", stdout=full) as process,
    ):
        assert process.wait(DEADLINE_S) == 0
    assert auth.log.read_text() == "hello\nmore\n"
