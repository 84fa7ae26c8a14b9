"""The module that starts processes: streams, statuses, timeouts, and inheritance."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker import proc
from gitworker.errors import Unavailable
from tests.cli import kit
from tests.store.support import wait_until

BIG = 3_000_000


def python(program: str, *arguments: str, **options: object) -> proc.Completed:
    """Run a Python program."""
    return proc.run([sys.executable, "-c", program, *arguments], **options)  # type: ignore[arg-type]


def test_output_and_status() -> None:
    """Both streams are collected separately, as bytes, and the status is the program's."""
    done = python("import sys, os; os.write(1, b'a\\xff'); sys.stderr.write(' e \\n'); sys.exit(3)")
    assert (done.status, done.out, done.err) == (3, b"a\xff", b" e \n")
    assert (done.text, done.complaint) == ("a\udcff", "e")
    assert done.argv[0] == sys.executable


def test_much_both_ways() -> None:
    """A program that reads and writes much more than a pipe holds never deadlocks."""
    done = proc.run(["cat"], stdin=bytes(BIG))
    assert (done.status, len(done.out), done.err) == (0, BIG, b"")
    program = (
        "import sys\ndata = sys.stdin.buffer.read()\nsys.stderr.buffer.write(data)\n"
        "sys.stdout.buffer.write(data[::-1])\n"
    )
    done = python(program, stdin=b"ab" * BIG)
    assert (done.out, done.err) == (b"ba" * BIG, b"ab" * BIG)


def test_output_before_input_is_read() -> None:
    """A program that writes everything before it reads anything does not deadlock either."""
    program = (
        f"import sys\nsys.stdout.buffer.write(bytes({BIG}))\nsys.stdout.flush()\n"
        "print(len(sys.stdin.buffer.read()))"
    )
    assert python(program, stdin=bytes(BIG)).out[BIG:] == f"{BIG}\n".encode()


def test_a_program_that_does_not_read() -> None:
    """Input that the program does not read is dropped without an error."""
    assert proc.run(["true"], stdin=bytes(BIG)).status == 0
    assert python("import os; os.close(0); print(1)", stdin=bytes(BIG)).out == b"1\n"


def test_no_input_is_the_end_of_input() -> None:
    """Without input a reading program reads the end of input at once."""
    assert proc.run(["cat"]).out == b""


def test_a_signal_is_a_negative_status() -> None:
    """A program that was killed has the signal's negative number as its status."""
    assert python("import os; os.kill(os.getpid(), 15)").status == -signal.SIGTERM


def test_a_timeout_kills(tmp_path: Path) -> None:
    """A program that takes too long is killed, is an error, and leaves no zombie."""
    pid_file = tmp_path / "pid"
    program = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.read(0, 1); os.pause()"
    )
    program = program.replace("os.pause()", "__import__('signal').pause()")
    with pytest.raises(Unavailable, match="did not finish within 0.5 s"):
        python(program, str(pid_file), timeout_s=0.5)
    if pid_file.exists() and (pid := pid_file.read_text()):  # it may not have come so far
        assert not Path(f"/proc/{pid}").exists()


def test_a_timeout_of_a_session(tmp_path: Path) -> None:
    """A program in a session of its own is killed together with its children."""
    child = tmp_path / "child"
    script = 'sleep 600 & echo $! >"$0.tmp"; mv "$0.tmp" "$0"; wait'
    running = proc.start(["sh", "-c", script, str(child)], new_session=True)
    kit.wait_until(child.exists)
    with pytest.raises(Unavailable, match="did not finish within 0.1 s"):
        running.finish(0.1)
    status = Path(f"/proc/{child.read_text().strip()}/stat")
    kit.wait_until(lambda: not status.exists() or status.read_text().split()[2] == "Z")


def test_a_timeout_of_a_writer() -> None:
    """A program that writes without end is killed at its timeout, too."""
    with pytest.raises(Unavailable, match="did not finish within 0.2 s"):
        proc.run(["sh", "-c", "while :; do echo x; done"], timeout_s=0.2)


def test_a_timeout_that_is_not_reached() -> None:
    """A program that ends within its timeout is not affected."""
    assert proc.run(["echo", "x"], timeout_s=60).out == b"x\n"


@pytest.mark.parametrize("argv", [["no-such-program-anywhere"], ["/nowhere/at/all"], ["a\0b"]])
def test_a_missing_program(argv: list[str]) -> None:
    """A program that cannot be started is an error with its name; no descriptor leaks."""
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Unavailable, match="cannot run"):
        proc.run(argv)
    with pytest.raises(Unavailable, match="cannot run"):
        proc.run_attached(argv)
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_descriptor_leaks() -> None:
    """A hundred runs leave no further open files, and a child inherits none of ours."""
    before = len(os.listdir("/proc/self/fd"))
    with open(os.devnull) as ours:
        for _ in range(100):
            proc.run(["true"], stdin=b"x")
        done = python("import os, sys; print(os.path.exists('/proc/self/fd/' + sys.argv[1]))",
                      str(max(ours.fileno(), 20)))  # fmt: skip
    assert done.out == b"False\n"
    assert len(os.listdir("/proc/self/fd")) == before


def test_directory_and_environment(tmp_path: Path) -> None:
    """A command runs in the given directory, with exactly the given environment."""
    place = tmp_path / "with blank\nand line"
    place.mkdir()
    program = "import os; print(ascii(os.getcwd()), sorted(os.environ))"
    done = python(program, cwd=str(place), env={"A": "b", "LC_ALL": "C.UTF-8"})
    assert ascii(str(place)) in done.text
    assert "'A'" in done.text
    assert "HOME" not in done.text
    assert proc.run(["sh", "-c", 'printf "%s|" "$@"', "sh", "", "a b", "*", "$x"],
                    cwd=str(tmp_path)).text == "|a b|*|$x|"  # fmt: skip


def test_children_die_of_a_broken_pipe() -> None:
    """Python ignores SIGPIPE; its children get the default, as from a shell."""
    program = "import signal; print(signal.getsignal(signal.SIGPIPE))"
    status = (
        "import re; print(re.search(r'SigIgn:\\s*(\\w+)', open('/proc/self/status').read())[1])"
    )
    done = proc.run(["sh", "-c", "grep SigIgn /proc/$$/status; true"])
    assert int(done.text.split()[1], 16) & 1 << (signal.SIGPIPE - 1) == 0
    assert python(program).status == python(status).status == 0


@pytest.mark.parametrize("number", [3, 40])
def test_an_inherited_lock_is_handed_on(tmp_path: Path, number: int) -> None:
    """A descriptor that is passed on is open in the child, whatever its number."""
    program = (
        "import os, sys\nfrom gitworker import proc\n"
        "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\nnumber = int(sys.argv[2])\n"
        "if fd != number: os.dup2(fd, number, inheritable=False)\n"
        "print(proc.run(['sh', '-c', 'readlink /proc/self/fd/3 /proc/self/fd/4; true'],"
        " inherit_fd=number).text)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lock"), str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert str(tmp_path / "lock") in done.stdout


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_streams(tmp_path: Path, closed: str) -> None:
    """A caller whose own standard streams are closed still gets the right output."""
    out = tmp_path / "out"
    program = (
        "import sys\nfrom gitworker import proc\n"
        "done = proc.run(['sh', '-c', 'cat; echo err >&2'], stdin=b'in')\n"
        "open(sys.argv[1], 'wb').write(done.out + b'|' + done.err)\n"
    )
    command = f'"$0" -c "$1" "$2" {closed}'
    subprocess.run(["sh", "-c", command, sys.executable, program, str(out)], check=True)
    assert out.read_bytes() == b"in|err\n"


def test_attached(tmp_path: Path) -> None:
    """A command on our own streams reads and writes them, and its status is returned."""
    program = (
        "import sys\nfrom gitworker import proc\nsys.exit(proc.run_attached(['sh', '-c',"
        " 'cat; echo err >&2; pwd; echo $A; exit 5'], cwd=sys.argv[1], env={'A': 'b'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], input="in\n", capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (5, f"in\n{tmp_path}\nb\n", "err\n")


def test_detached(tmp_path: Path) -> None:
    """A detached command has its own session and no streams, and we do not wait for it."""
    report = tmp_path / "report"
    program = (
        "import os, sys\nlinks = [os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)]\n"
        "text = f'{os.getsid(0) == os.getpid()} {links} {os.getcwd()}'\n"
        "open(sys.argv[1] + '.new', 'w').write(text)\nos.rename(sys.argv[1] + '.new', sys.argv[1])"
    )
    pid = proc.spawn_detached([sys.executable, "-c", program, str(report)])
    wait_until(report.exists, "the detached process")
    os.waitpid(pid, 0)
    assert report.read_text() == f"True {['/dev/null'] * 3} /"


def test_every_command_can_be_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GITWORKER_TRACE gets a line for each process, so that tests can count them."""
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    proc.run(["true", "a b", "new\nline"])
    proc.run_attached(["true"])
    os.waitpid(proc.spawn_detached(["true", "x"]), 0)
    assert trace.read_text() == "true a b new\\nline\ntrue\ntrue x\n"


def test_an_interrupt_kills_the_child() -> None:
    """On an interrupt the command is killed before the interrupt is raised."""
    program = (
        "import os, signal, sys\nfrom gitworker import proc\n"
        "try:\n    proc.run([sys.executable, '-c', 'import os, signal;"
        " os.kill(os.getppid(), signal.SIGINT); signal.pause()'])\n"
        "except KeyboardInterrupt:\n"
        "    try:\n        os.waitpid(-1, 0)\n"
        "    except ChildProcessError:\n        print('alone')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "alone\n"


def test_to_the_end(tmp_path: Path) -> None:
    """A run that must not be cut off is traced like any other, in its own session."""
    done = proc.run_to_end(["sh", "-c", "cat; echo out; echo err >&2; exit 3"])
    assert (done.status, done.out, done.err) == (3, b"out\n", b"err\n")
    session = "import os; print(os.getsid(0) == os.getsid(os.getppid()))"
    assert proc.run_to_end([sys.executable, "-c", session]).out == b"False\n"
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Unavailable, match="cannot run"):
        proc.run_to_end(["no-such-program-anywhere"])
    assert len(os.listdir("/proc/self/fd")) == before


DRIVER = """
import fcntl, os, sys
from gitworker import proc
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
if fd != int(sys.argv[3]): os.dup2(fd, int(sys.argv[3]), inheritable=False); os.close(fd)
proc.run_to_end(["sh", "-c", sys.argv[2]], lock_fd=int(sys.argv[3]))
print("ended")
"""


@pytest.mark.parametrize("number", [3, 40])
def test_to_the_end_without_us(tmp_path: Path, number: int) -> None:
    """If our whole process group is killed, it keeps working, with the lock, until it ends."""
    begun, go, lock = tmp_path / "begun", tmp_path / "go", tmp_path / "lock"
    os.mkfifo(begun)
    os.mkfifo(go)
    work = f"sleep 1000 & echo $! >{tmp_path}/daemon; echo >{begun}; cat {go}; echo {'x' * 99999}"
    work += f"; echo done >{tmp_path}/done"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(lock), work, str(number)], start_new_session=True
    )
    begun.read_text()
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    with open(lock) as held:
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            go.write_text("")
            fcntl.flock(held, fcntl.LOCK_EX)  # the daemon that it started does not hold it
            assert (tmp_path / "done").exists()
        finally:
            os.kill(int((tmp_path / "daemon").read_text()), signal.SIGKILL)


HASTY = """
import os, signal, sys
from gitworker import proc

def interrupt(frame, event, function):
    if event == "c_return" and function is os.posix_spawnp:
        os.kill(os.getpid(), signal.SIGINT)

sys.setprofile(interrupt)
try:
    proc.run_to_end(["sh", "-c", "sleep 0.3; echo >done"])
except KeyboardInterrupt:
    sys.exit(0 if os.path.exists("done") else "it was raised too early")
sys.exit("it was not raised")
"""


def test_an_interrupt_waits_whenever_it_comes(tmp_path: Path) -> None:
    """Ctrl-C is held back from the moment when there is a process to wait for."""
    command = [sys.executable, "-c", HASTY]
    done = subprocess.run(
        command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_waits_for_the_end(tmp_path: Path) -> None:
    """Ctrl-C is raised when the work has ended; a second one at once."""
    begun, go, lock = tmp_path / "begun", tmp_path / "go", tmp_path / "lock"
    os.mkfifo(begun)
    os.mkfifo(go)
    command = [sys.executable, "-c", DRIVER, str(lock), f"echo >{begun}; cat {go}", "40"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun.read_text()
    first.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(0.3)
    go.write_text("")
    out, err = first.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert "ended" not in out
    second = subprocess.Popen(command, stderr=subprocess.PIPE)
    begun.read_text()
    while second.poll() is None:
        second.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            second.wait(0.05)
    second.communicate()
    go.write_text("")
