"""Processes: running ones, the calling agent, and those in a directory."""

import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitworker.agents.process.agent_processes import adopt_orphans
from gitworker.liveness.processes import find_calling_agent, occupants_of, processes_in
from gitworker.processes.table import find_process, is_running
from tests.store.support import wait_until

NEAREST = Path(__file__).with_name("nearest.py")
PROBE = f"{shlex.quote(sys.executable)} {shlex.quote(str(NEAREST))}"
WORDS = [sys.executable, str(NEAREST)]
SLEEPER = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]


def sleeper(**options: object) -> "subprocess.Popen[str]":
    """Start a process that runs until its input ends."""
    process = subprocess.Popen(  # type: ignore[call-overload]
        SLEEPER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    assert process.stdout.readline() == "up\n"
    return process  # type: ignore[no-any-return]


CHAINS = {
    "bash -c": ["bash", "-c", f"{PROBE}; true"],
    "sh -c": ["sh", "-c", f"{PROBE}; true"],
    "login": ["bash", "-l", "-c", f"{PROBE}; true"],
    "login in one": ["bash", "-lc", f"{PROBE}; true"],
    "pipefail": ["bash", "-e", "-o", "pipefail", "-c", f"{PROBE}; true"],
    "no profile": ["bash", "--noprofile", "--norc", "-c", f"{PROBE}; true"],
    "nested": ["bash", "-c", f"sh -c {shlex.quote(PROBE + '; true')}; true"],
    "subshell": ["bash", "-c", f"({PROBE}; true); true"],
    "timeout": ["timeout", "60", *WORDS],
    "env": ["env", "A=b", "bash", "-c", f"{PROBE}; true"],
    "setsid": ["setsid", "-w", *WORDS],
    "xargs": ["xargs", *WORDS],
    "git alias": ["git", "-c", f"alias.probe=!{PROBE}; true", "probe"],
}


@pytest.mark.parametrize("chain", CHAINS)
def test_passing_shells_are_not_agents(chain: str) -> None:
    """`bash -c 'git worker start'`, however wrapped, binds to its caller, not to the shell."""
    done = subprocess.run(CHAINS[chain], input="", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(os.getpid())


@pytest.mark.parametrize("arguments", [[], ["-i"], ["--verbose", "-input"], ["+i", "x"]])
def test_scripts_are_not_agents(tmp_path: Path, arguments: list[str]) -> None:
    """A script is not an agent, whatever its options, run by its shebang or by a shell."""
    script = tmp_path / "run me.sh"
    script.write_text(f"#!/bin/bash\n{PROBE}\ntrue\n")
    script.chmod(0o755)
    for command in ([str(script)], ["bash", str(script)], ["bash", "-u", str(script)]):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(os.getpid()), command


def test_git_worker_itself_is_not_an_agent(tmp_path: Path) -> None:
    """Our own program between git and the caller is skipped."""
    program = tmp_path / "git-worker"
    program.write_text(f"import subprocess\nsubprocess.run({WORDS!r}, check=True)\n")
    command = [sys.executable, str(program), "start"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(os.getpid())


@pytest.mark.parametrize(
    "command",
    [["bash", "--norc", "-i"], ["bash", "--rcfile", os.devnull, "-i"], ["bash"], ["sh"]],
)
def test_an_interactive_shell_is_an_agent(command: list[str]) -> None:
    """A shell without a command or script of its own is an agent."""
    done = subprocess.run(
        command, input=f"echo $$\n{PROBE}\n", capture_output=True, text=True, check=True,
        start_new_session=True,
    )  # fmt: skip
    shell, nearest = done.stdout.split()
    assert nearest == shell


def test_an_editors_shell_is_an_agent(tmp_path: Path) -> None:
    """A shell that got only an initial file, as editors start theirs, is an agent."""
    begin = tmp_path / "begin"
    begin.write_text("")
    done = subprocess.run(
        ["bash", "--init-file", str(begin)], input=f"echo $$\n{PROBE}\n", capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    shell, nearest = done.stdout.split()
    assert nearest == shell


def test_an_orphan_has_no_agent() -> None:
    """If no ancestor is left but init, there is no agent."""
    adopt_orphans(adopting=False)  # another test of this process has supervised an agent
    done = subprocess.run(["sh", "-c", f"{PROBE} $$ &"], capture_output=True, text=True, check=True)
    if done.stdout.split()[-1] != "1":
        pytest.skip("orphans do not go to init here")
    assert done.stdout.split() == ["none", "1"]


def test_our_own_agent() -> None:
    """The nearest agent of a program that is not a shell is above it."""
    found = find_calling_agent()
    assert found is None or found.pid not in (os.getpid(), 1)


def test_a_process_is_known_by_its_start() -> None:
    """A pid counts as running only with the start time that was stored with it."""
    process = sleeper()
    found = find_process(process.pid)
    assert found is not None
    assert (found.parent, list(found.arguments)) == (os.getpid(), SLEEPER)
    assert is_running(process.pid, found.start) is True
    assert is_running(process.pid, None) is True
    assert is_running(process.pid, "1") is False
    process.communicate()
    assert find_process(process.pid) is None
    assert is_running(process.pid, found.start) is False


def test_a_zombie_does_not_run() -> None:
    """A process that has ended but was not waited for does not run."""
    process = sleeper()
    assert process.stdin is not None
    process.stdin.close()
    wait_until(lambda: is_running(process.pid, None) is False, "the process to end")
    assert process.wait() == 0


def test_a_name_with_blanks_and_brackets(tmp_path: Path) -> None:
    """A program whose name looks like the fields of /proc is read correctly."""
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/cat")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        wait_until(lambda: b") Z" in Path(f"/proc/{process.pid}/stat").read_bytes(), "exec")
        found = find_process(process.pid)
        assert found is not None
        assert found.parent == os.getpid()


def test_processes_in_a_directory(tmp_path: Path) -> None:
    """A process in a directory or below it is found, through links too; a neighbour is not."""
    inside, beside = tmp_path / "w", tmp_path / "w2"
    (inside / "deep").mkdir(parents=True)
    beside.mkdir()
    (tmp_path / "link").symlink_to(inside)
    placed = [sleeper(cwd=place) for place in (inside, inside / "deep", beside)]
    wanted = sorted(process.pid for process in placed[:2])
    assert sorted(processes_in(str(inside))) == wanted
    assert sorted(processes_in(str(tmp_path / "link"))) == wanted
    assert processes_in(str(tmp_path / "nowhere")) == []
    for process in placed:
        process.communicate()


def test_git_maintenance_is_waited_for(tmp_path: Path) -> None:
    """git's background process after a commit does not count as an occupant, unless it stays."""
    argv = ["git", "-c", "read -r line; :", "maintenance", "run", "--auto"]
    with subprocess.Popen(argv, executable="/bin/sh", cwd=tmp_path, stdin=subprocess.PIPE) as git:
        assert occupants_of(str(tmp_path), wait_ms=50) == [git.pid]
        assert git.stdin is not None
        threading.Timer(0.2, git.stdin.close).start()
        assert occupants_of(str(tmp_path), wait_ms=60_000) == []


@pytest.mark.parametrize("words", [("git", "log"), ("sh", "gc")], ids=" ".join)
def test_other_processes_are_not_waited_for(tmp_path: Path, words: tuple[str, str]) -> None:
    """Any other process in a directory is reported at once, even another command of git."""
    argv = [words[0], "-c", "read -r line; :", words[1]]
    with subprocess.Popen(argv, executable="/bin/sh", cwd=tmp_path, stdin=subprocess.PIPE) as other:
        assert other.stdin is not None
        end = threading.Timer(30, other.stdin.close)  # a wait for it would find no process
        end.start()
        assert occupants_of(str(tmp_path), wait_ms=60_000) == [other.pid]
        end.cancel()
