"""Run a command under `faults.c`: a fault happens at its Nth mutating system call."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workers.world import World

SOURCE = Path(__file__).parent / "faults.c"
STATE_BYTES = 64
BUG = 70
UNDER_A_LIMIT_S = 120


@dataclass(frozen=True)
class Fault:
    """A fault: a kind that `faults.c` knows, once or from then on."""

    kind: str
    lasts: bool = False

    def __str__(self) -> str:
        return f"{self.kind}{'+' if self.lasts else ''}"


@dataclass(frozen=True)
class Outcome:
    """How a command ended, the calls that counted, and whether one of them failed."""

    status: int
    out: str
    err: str
    calls: tuple[str, ...]
    was_hit: bool


def build(folder: Path) -> Path:
    """Compile the library; skip the test if that is not possible."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here")
    library = folder / "faults.so"
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SOURCE, "-ldl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"faults.c cannot be compiled here: {done.stderr}")
    return library


@dataclass(frozen=True)
class Injector:
    """The compiled library and a directory for its files."""

    library: Path
    folder: Path

    def run(
        self,
        world: World,
        *words: str,
        fault: Fault | None = None,
        at: int = 0,
        under: Path | None = None,
        cwd: Path | None = None,
    ) -> Outcome:
        """Run `git worker WORDS`; the fault meets call number `at` on a path below `under`.

        Without `under` all of the repository counts but the database.
        """
        state, log = self.folder / "state", self.folder / "log"
        state.write_bytes(bytes(STATE_BYTES))
        log.write_bytes(b"")
        env = {
            **os.environ,
            "LD_PRELOAD": str(self.library),
            "FAULTS_STATE": str(state),
            "FAULTS_LOG": str(log),
            "FAULTS_UNDER": str(under or world.root),
            "FAULTS_EXCEPT": "" if under else f"{world.state_dir}/bus.db",
            "FAULTS_AT": str(at),
            "FAULTS_KIND": "" if fault is None else fault.kind,
            "FAULTS_ON": "on" if fault is not None and fault.lasts else "",
        }
        done = subprocess.run(
            ["git-worker", *words], cwd=cwd or world.root, env=env, check=False, text=True,
            capture_output=True, timeout=UNDER_A_LIMIT_S, start_new_session=True,
        )  # fmt: skip
        calls = tuple(log.read_text(errors="replace").splitlines())
        was_hit = state.read_bytes()[8] != 0
        return Outcome(done.returncode, done.stdout, done.stderr, calls, was_hit)


def find_call(calls: tuple[str, ...], name: str) -> int:
    """Return the number of the first call of that name."""
    return next(number for number, call in enumerate(calls, 1) if call.split(" ")[2] == name)


def plainly(world: World, *words: str, cwd: Path | None = None) -> Outcome:
    """Run `git worker WORDS` with no fault."""
    done = subprocess.run(
        ["git-worker", *words], cwd=cwd or world.root, check=False, text=True,
        capture_output=True, timeout=UNDER_A_LIMIT_S,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr, (), False)
