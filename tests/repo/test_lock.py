"""The lock of commands that change git: waited for, and held by a git that outlives its command."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from gitworker.errors import Conflict
from gitworker.repo.plumbing.repository_lock import descriptor_of, hold, is_held

HOLDER = """
import os, subprocess, sys
from gitworker.repo.plumbing.repository_lock import descriptor_of, hold
with hold(sys.argv[1], name="landing"):
    fd = descriptor_of(sys.argv[1])
    subprocess.Popen(["cat", sys.argv[2]], pass_fds=[fd], stdout=subprocess.DEVNULL)
    print("held", flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_held_lock_is_a_conflict(tmp_path: Path) -> None:
    """The second holder is refused in time, and not after the first has released the lock."""
    lock = str(tmp_path / "locks" / "landing")
    with hold(lock, name="landing"):
        assert descriptor_of(lock) is not None
        second = hold(lock, name="landing", timeout_s=0.05)
        with pytest.raises(Conflict, match="another command has held the landing lock"), second:
            raise AssertionError("held twice")
    assert descriptor_of(lock) is None
    with hold(lock, name="landing", timeout_s=0):
        pass


def test_filelock_and_hold_exclude_each_other(tmp_path: Path) -> None:
    """A process that takes the file by filelock is waited for, and waits for us."""
    path = str(tmp_path / "landing")
    theirs = FileLock(path)
    second = hold(path, name="landing", timeout_s=0.05)
    with (
        theirs.acquire(timeout=0),
        pytest.raises(Conflict, match="has held the landing lock"),
        second,
    ):
        raise AssertionError("held twice")
    with hold(path, name="landing"), pytest.raises(Timeout):
        theirs.acquire(timeout=0.05)
    with theirs.acquire(timeout=0):
        pass


def test_a_waiter_gets_the_lock(tmp_path: Path) -> None:
    """A waiter gets the lock when its holder has released it, and releases it in turn."""
    path = str(tmp_path / "landing")
    waits = threading.Event()

    def wait_for_it() -> None:
        waits.set()
        with hold(path, name="landing", timeout_s=60):
            got.append(is_held(path))

    got: list[bool] = []
    waiter = threading.Thread(target=wait_for_it)
    with hold(path, name="landing"):
        waiter.start()
        assert waits.wait(60)
        assert not got
    waiter.join(60)
    assert got == [True]
    assert not is_held(path)


def test_a_file_that_cannot_be_locked_is_reported(tmp_path: Path) -> None:
    """A symbolic link in the lock's place is not followed, and no lock is held."""
    path = tmp_path / "landing"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), hold(str(path), name="landing"):
        raise AssertionError("held")
    assert not (tmp_path / "elsewhere").exists()


def test_a_child_of_a_killed_holder_holds_on(tmp_path: Path) -> None:
    """The lock stays held until the processes that the killed holder started have ended."""
    lock, gate = str(tmp_path / "landing"), tmp_path / "gate"
    os.mkfifo(gate)
    holder = subprocess.run(
        [sys.executable, "-c", HOLDER, lock, str(gate)], stdout=subprocess.PIPE, check=False
    )
    assert holder.stdout == b"held\n"
    message = "a git process of a killed command still holds"
    second = hold(lock, name="landing", timeout_s=0)
    with pytest.raises(Conflict, match=message) as caught, second:
        raise AssertionError("held beside the child")
    assert caught.value.code == "locked"
    gate.write_text("")
    with hold(lock, name="landing", timeout_s=60):
        pass
