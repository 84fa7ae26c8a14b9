"""The place of a benchmark: a hermetic environment, repositories, workers in them."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import carriers, run, settled, time_process

GIT_CONFIG = """\
[user]
\tname = Ada Tester
\temail = ada@example.org
[init]
\tdefaultBranch = main
[advice]
\tdetachedHead = false
[gc]
\tauto = 0
"""
MEMORY = "/dev/shm"
MEMORY_NEEDED = 10 << 30  # landing: a hundred worktrees of 13,000 files
PYTHON = sys.executable
BIN = Path(sys.executable).parent


@dataclass
class Scene:
    """One benchmark's folder and environment; `residents` are background processes that stay."""

    folder: Path
    env: Mapping[str, str]
    rounds: float = 1.0
    residents: set[int] = field(default_factory=set)

    def count(self, rounds: int) -> int:
        """Return the number of rounds after the command line's factor, at least 3."""
        return max(3, round(rounds * self.rounds))

    def git(self, cwd: Path, *args: str) -> str:
        """Run git and return its output."""
        return run(["git", *args], cwd, self.env)

    def worker(self, cwd: Path, *args: str) -> str:
        """Run `git-worker` and return its output."""
        return run(["git-worker", *args], cwd, self.env)

    def time(self, cwd: Path, *argv: str) -> float:
        """Return how long a command takes, in milliseconds."""
        return time_process(argv, cwd, self.env)

    def settle(self) -> None:
        """Wait until background work has ended."""
        settled(f"GITWORKER_BENCH={self.folder}", self.residents)

    def settle_disk(self) -> None:
        """Settle, and write dirty pages, so that no measurement pays for another's files."""
        self.settle()
        os.sync()

    def age(self, *trees: Path) -> None:
        """Make worktrees look older than a second, as those in ordinary use are.

        git reads a file again at every status while it is as young as the index (racy-git in git's
        own documentation), which work of more than a second never meets.
        """
        time.sleep(1.1)
        for tree in trees:
            self.git(tree, "status", "--porcelain")

    def small_repository(self, name: str) -> Path:
        """Make a repository of a few dozen files and return its root."""
        root = self.folder / name
        root.mkdir()
        self.git(root, "init", "-q")
        for number in range(40):
            file = root / f"dir{number % 8}" / f"file{number}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(f"line {line} of {number}\n" for line in range(30)))
        self.git(root, "add", ".")
        self.git(root, "commit", "-qm", "Start")
        return root

    def spawn(self, root: Path, worker: str, task: str) -> Path:
        """Give a worker a task and return its worktree."""
        return Path(self.worker(root, "spawn", worker, task).splitlines()[-1])


@contextmanager
def open_scene(rounds: float = 1.0, *, large: bool = False) -> Iterator[Scene]:
    """Yield a scene whose folder and background processes are removed afterwards.

    A `large` one checks out many thousands of files, and is in memory if there is room.
    """
    folder = Path(tempfile.mkdtemp(prefix="gitworker-bench-", dir=scratch_place(large=large)))
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    env = {
        "PATH": f"{BIN}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "GITWORKER_BENCH": str(folder),
    }
    scene = Scene(folder, env, rounds)
    before = dict(os.environ)
    try:
        os.environ.clear()  # for measurements in this process
        os.environ.update(env)
        yield scene
    finally:
        os.environ.clear()
        os.environ.update(before)
        _end(scene)
        shutil.rmtree(folder, ignore_errors=True)


def scratch_place(*, large: bool) -> str:
    """Return the folder of scenes: the temporary one, or for large scenes memory if there is room.

    A commit is measured on a disk, as users have it, with the fsync of each moved ref. Checkouts
    of 13,000 files are not: a disk that is shared or throttled turns half a second into ten, and
    the comparison is between programs. TMPDIR overrides this.
    """
    if large and "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
        free = os.statvfs(MEMORY)
        if free.f_bavail * free.f_frsize > MEMORY_NEEDED:
            return MEMORY
    return tempfile.gettempdir()


def commit(scene: Scene, cwd: Path, file: str, *, message: str, text: str = "more\n") -> None:
    """Append to a file and commit it, hooks and all."""
    path = cwd / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        stream.write(text)
    scene.git(cwd, "add", "--", file)
    scene.git(cwd, "commit", "-qm", message)


def _end(scene: Scene) -> None:
    """End the background processes of the scene; they carry its folder in their environment."""
    for pid in carriers(f"GITWORKER_BENCH={scene.folder}"):
        try:
            os.kill(pid, 15)
        except ProcessLookupError:
            continue
