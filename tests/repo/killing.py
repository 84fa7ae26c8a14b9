"""Running a piece of the library in a process that is killed at a crash point."""

import os
import signal
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def run_killed(point: str, script: str, *args: str) -> None:
    """Run `script` with arguments; require that it was killed at the crash point `point`."""
    done = subprocess.run(
        [sys.executable, "-c", script, *args],
        env={**os.environ, "GITWORKER_CRASH_AT": point, "PYTHONPATH": str(PROJECT)},
        check=False,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
