"""A computer within this one: its own host name, boot, processes and monotonic clock.

Its processes see no process outside. Killing its first process kills all of them at once, as the
loss of power does.
"""

import ctypes
import os
import signal
import subprocess
import uuid
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.cli.kit import wait_until
from tests.verify.scene import is_alive

PR_SET_PDEATHSIG = 1
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# The first process: it reaps nothing itself, the kernel does.
FIRST = f"""\
set -e
hostname "$1"
mount -t proc proc /proc
mount --bind "$2" {BOOT_ID}
trap '' CHLD
echo ready
exec sleep infinity
"""
SPACES = ("--uts", "--pid", "--mount", "--time")
AS_USER = () if os.geteuid() == 0 else ("--map-root-user",)
ENTERED_AS_USER = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")


@cache
def can_isolate() -> bool:
    """Return whether this computer lets us make such namespaces, and enter them."""
    words = ("unshare", *SPACES, *AS_USER, "--fork", "sh", "-c", "mount -t proc proc /proc")
    try:
        return subprocess.run(words, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _end_with_tests() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Box:
    """A running computer; `kill` takes its power away."""

    def __init__(self, host: str, directory: Path, *, uptime_s: int) -> None:
        boot = directory / f"boot-{uuid.uuid4()}"
        boot.write_text(f"{uuid.uuid4()}\n")
        clocks = ("--monotonic", str(uptime_s), "--boottime", str(uptime_s))
        self._process = subprocess.Popen(
            ["unshare", *SPACES, *AS_USER, *clocks, "--fork", "--kill-child",
             "sh", "-c", FIRST, "sh", host, boot],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=_end_with_tests,
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n", "the namespaces cannot be made"
        pid = self._process.pid
        self._first = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]

    def words(self, words: Sequence[str], cwd: Path) -> list[str]:
        """Return the command line that runs a command in a directory in there."""
        enter = ("nsenter", "-t", self._first, *SPACES, *ENTERED_AS_USER, "--")
        return [*enter, "sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *words]

    def kill(self) -> None:
        """Kill every process in there with -9; safe to repeat."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        wait_until(lambda: not is_alive(int(self._first)))  # its parent may be slow to reap it
