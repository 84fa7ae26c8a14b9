"""Sandboxes and containers as agents run in them, made with unshare(1), without an agent."""

import functools
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.kit import DEADLINE_S, PROGRAM, Answer

PIDS = ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child")
BOX = (*PIDS, "--mount-proc")
BLIND = PIDS  # the outer /proc stays mounted: our own pid is not in it
OTHER_HOST = (
    "unshare", "--user", "--map-root-user", "--uts", "sh", "-c",
    'hostname elsewhere && exec "$@"', "sh",
)  # fmt: skip
MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")
KINDS = {"box": BOX, "blind": BLIND, "other-host": OTHER_HOST}


def inside(*words: str, box: tuple[str, ...] = BOX, cwd: Path, **env: str) -> Answer:
    """Run `git-worker WORDS` in a box, to its end."""
    done = subprocess.run(
        [*box, PROGRAM, *words], cwd=cwd, env={**os.environ, **env}, check=False,
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S * 4,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)


def mounted(script: str, *words: str) -> tuple[str, ...]:
    """Return the command line that mounts by a script and then runs a command there."""
    return (*MOUNTS, "sh", "-c", f'set -e; {script}\nexec "$@"', "sh", *words)


def read_only(*places: Path | str, writable: tuple[Path | str, ...] = ()) -> tuple[str, ...]:
    """Return a command line that runs a command with directories on a read-only mount.

    `writable` directories are bound over them again, as a sandbox opens a directory.
    """
    lines = []
    for place in map(str, places):
        quoted = shlex.quote(place)
        lines += [f"mount --bind {quoted} {quoted}"]
    opened = [shlex.quote(str(place)) for place in writable]
    lines += [f"mount --bind {place} {place}" for place in opened]
    for place in map(str, places):
        lines += [f"mount -o bind,remount,ro {shlex.quote(place)}"]
    return mounted("; ".join([*lines, 'cd "$PWD"']))


@functools.cache
def missing() -> str:
    """Return the reason if this system cannot make boxes; empty if it can."""
    if shutil.which("unshare") is None:
        return "unshare(1) is not installed"
    for box in (BOX, OTHER_HOST, MOUNTS):
        done = subprocess.run([*box, "true"], check=False, capture_output=True, text=True)
        if done.returncode:
            return f"the system refuses {' '.join(box[:5])}: {done.stderr.strip()}"
    return ""


def needs_boxes() -> pytest.MarkDecorator:
    """Return the mark of tests that need PID, mount and UTS namespaces."""
    return pytest.mark.skipif(bool(missing()), reason=missing() or "boxes can be made")
