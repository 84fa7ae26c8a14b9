"""A repository with workers in it: one line per operation, and readers of its state."""

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from fixtures.agents import drive
from fixtures.repos import Content, Repo
from gitworker import clock
from gitworker.app import open_session
from gitworker.bus.drain import drain
from gitworker.bus.files.export import export_logs
from gitworker.errors import GitWorkerError, Refused
from gitworker.landing.merge import Landed, NotLanded, merge
from gitworker.liveness.start_daemon import lock_path
from gitworker.model.ids import TaskId, WorkerId
from gitworker.progress import Progress, ignore
from gitworker.session import Session
from gitworker.states.log.validate import validate_log
from gitworker.store.tasks import StoredTask, find_task
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.approve import Approved, approve
from gitworker.workers.spawn import SpawnedWorker, SpawnRequest, spawn
from gitworker.workers.start import start
from gitworker.workers.submit import Submission, Submitted, submit

VOLATILE = {"heartbeats", "heartbeat_clocks", "export_positions", "export_state", "sqlite_sequence"}
CWD_LOCK = threading.Lock()  # all threads of a process share its directory
START = {"README": "one\ntwo\nthree\n", "src/app.py": "print('hello')\n", ".gitignore": "*.o\n"}


@dataclass(frozen=True)
class World:
    """The main checkout of a repository, on its target `main` with one commit."""

    root: Path

    @classmethod
    def make(cls, root: Path, *options: str) -> "World":
        """Make the repository with its first commit."""
        Repo.make(root, *options).commit("Start", START)
        return cls(root)

    @property
    def state_dir(self) -> Path:
        """Return the state directory."""
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir")) / (
            "worker-state"
        )

    # ------------------------------------------------------------------ git
    def git(self, *args: str, cwd: Path | str | None = None) -> str:
        """Run git in the main checkout, or elsewhere; fail the test if git fails."""
        return Repo(Path(cwd or self.root)).git(*args)

    def tip(self, revision: str = "main") -> str:
        """Return the commit that a revision names."""
        return self.git("rev-parse", "--verify", f"{revision}^{{commit}}")

    def show(self, path: str, revision: str = "main") -> str:
        """Return a file's text in a commit, stripped."""
        return self.git("show", f"{revision}:{path}")

    def refs(self) -> dict[str, str]:
        """Return every ref with the object that it points at."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def advance(self, files: Mapping[str, Content], message: str = "By another author") -> str:
        """Commit on the target in the main checkout, as its user does."""
        Repo(self.root).write(files)
        self.git("add", "--", *files)
        self.git("commit", "-q", "-m", message)
        return self.tip("HEAD")

    # ------------------------------------------------------------------ operations
    def session(
        self,
        cwd: Path | str | None = None,
        identity: str | None = None,
        *,
        report: Progress = ignore,
    ) -> Session:
        """Open a session as a command started in `cwd` does."""
        with CWD_LOCK, contextlib.chdir(cwd or self.root):
            return open_session(identity=identity, report=report)

    def spawn(
        self, worker: str, task: str, *, report: Progress = ignore, **wanted: Any
    ) -> SpawnedWorker:
        """Spawn a worker."""
        request = SpawnRequest(WorkerId(worker), TaskId(task), **wanted)
        return spawn(self.session(report=report), request)

    def path(self, worker: str) -> Path:
        """Return a worker's worktree."""
        place = self.worker(worker).worktree
        assert place is not None
        return Path(place)

    def commit(self, worker: str, files: Mapping[str, Content], message: str = "Work") -> str:
        """Commit files in a worker's worktree, as its agent does."""
        return Repo(self.path(worker)).commit(message, files)

    def working(self, worker: str, task: str, files: Mapping[str, Content]) -> Path:
        """Spawn, start and commit; return the worktree."""
        self.spawn(worker, task)
        start(self.session(), worker, pid=os.getpid())
        self.commit(worker, files)
        return self.path(worker)

    def submit(self, worker: str, **submission: Any) -> Submitted:
        """Hand a worker's branch in."""
        return submit(self.session(), worker, Submission(**submission))

    def approve(self, worker: str, **options: Any) -> Approved:
        """Approve a worker's work."""
        return approve(self.session(), worker, **options)

    def in_review(self, worker: str, task: str, files: Mapping[str, Content]) -> Path:
        """Bring a worker into review; return the worktree."""
        place = self.working(worker, task, files)
        self.submit(worker)
        return place

    def approved(self, worker: str, task: str, files: Mapping[str, Content]) -> Path:
        """Bring a worker to its approval; return the worktree."""
        place = self.in_review(worker, task, files)
        self.approve(worker)
        return place

    def merge(
        self, *workers: str, report: Progress = ignore, **options: Any
    ) -> list[Landed | NotLanded]:
        """Land workers and return the outcome of each."""
        return merge(self.session(report=report), list(workers), **options)

    def land(self, worker: str, **options: Any) -> Landed:
        """Land one worker; fail the test if it does not land."""
        (result,) = self.merge(worker, **options)
        if isinstance(result, NotLanded):
            raise result.error
        return result

    def drive(
        self, *words: str, cwd: Path | None = None, **env: str
    ) -> "subprocess.CompletedProcess[str]":
        """Run a use case in a process of its own."""
        return subprocess.run(
            self.argv(*words), cwd=cwd or self.root, env={**os.environ, **env}, check=False,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    @staticmethod
    def argv(*words: str) -> list[str]:
        """Return the command line that runs a use case."""
        return [sys.executable, str(drive.__file__), *words]

    # ------------------------------------------------------------------ readers of the state
    def worker(self, name: str) -> Worker:
        """Return a worker's row."""
        with self.session().store.read() as reader:
            found = find_worker(reader, name)
        assert found is not None, name
        return found

    def task(self, name: str) -> StoredTask:
        """Return a task's row."""
        with self.session().store.read() as reader:
            found = find_task(reader, name)
        assert found is not None, name
        return found

    def states(self, worker: str, task: str) -> tuple[str, str]:
        """Return a worker's state and a task's status as text."""
        return self.worker(worker).state.value, self.task(task).status.value

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Open the database through the one SQLite library of this process."""
        path = f"{self.state_dir}/bus.db"
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(5000)
        with contextlib.closing(connection):
            yield connection

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the database."""
        with self.reading() as connection:
            return connection.execute(sql).fetchall()

    def messages(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of the messages of one type, oldest first."""
        rows = self.query("SELECT type, payload FROM messages ORDER BY seq")
        return [json.loads(payload) for name, payload in rows if name == kind]

    def view(self, worker: str, folder: str = "workers") -> dict[str, Any]:
        """Return a worker's view, or its review's."""
        found: dict[str, Any] = json.loads((self.state_dir / folder / f"{worker}.json").read_text())
        return found

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return everything in the database except heartbeats and positions."""
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        with self.reading() as connection:
            return {
                name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)
                for (name,) in connection.execute(tables).fetchall()
                if name not in VOLATILE
            }

    def worktrees(self) -> list[str]:
        """Return the paths of the linked worktrees that git knows."""
        lines = self.git("worktree", "list", "--porcelain").splitlines()
        return [line[9:] for line in lines if line.startswith("worktree ")][1:]

    def picture(self) -> dict[str, object]:
        """Return all that a refused command must leave as it was."""
        status = ("status", "--porcelain=v2", "--untracked-files=all", "--ignored")
        places = [place for place in self.worktrees() if os.path.isdir(place)]
        return {
            "refs": self.refs(),
            "status": {place: self.git(*status, cwd=place) for place in (str(self.root), *places)},
            "worktrees": self.git("worktree", "list", "--porcelain"),
            "rows": self.rows(),
        }

    def require_sound(self, since: str | None = None) -> None:
        """Fail the test unless log, database and the target's history (since then) are right."""
        session = self.session()
        export_logs(session.store, session.paths)
        log = Path(session.paths.transition_log).read_text().splitlines()
        assert validate_log(log) == []
        assert self.query("PRAGMA integrity_check") == [("ok",)]
        history = f"{since}..{session.target}" if since else session.target
        assert self.git("rev-list", "--merges", history) == ""


def newest(world: World, kind: str) -> int:
    """Return the number of the newest operation of a kind."""
    rows = world.query(f"SELECT MAX(id) FROM operations WHERE kind = '{kind}'")
    return int(rows[0][0])


@contextlib.contextmanager
def unchanged(
    world: World, code: str | None = None, kind: type[GitWorkerError] = Refused
) -> Iterator["pytest.ExceptionInfo[GitWorkerError]"]:
    """Expect an error with that code, and that nothing at all has changed afterwards."""
    drain(world.session())
    before = world.picture()
    with pytest.raises(kind) as caught:
        yield caught
    assert code is None or caught.value.code == code, caught.value
    assert world.picture() == before


@contextlib.contextmanager
def kept(world: World, code: str, kind: type[GitWorkerError] = GitWorkerError) -> Iterator[None]:
    """Expect an error with that code that leaves at most a rescue ref and a closed journal."""
    before = essence(world)
    with pytest.raises(kind) as caught:
        yield
    assert caught.value.code == code, caught.value
    assert essence(world) == before
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def essence(world: World) -> tuple[object, ...]:
    """Return refs (rescues aside), files and states."""
    refs = {name: oid for name, oid in world.refs().items() if "/rescue/" not in name}
    rows = world.rows()
    return refs, world.picture()["status"], rows["workers"], rows["tasks"], rows["reviews"]


@contextlib.contextmanager
def without_heartbeat_daemon(world: World) -> Iterator[None]:
    """Hold the heartbeat daemon's lock, so that a test leaves no background process behind."""
    descriptor = os.open(lock_path(world.session().paths), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        wait_until(lambda: is_locked(descriptor))  # a check for a daemon holds it briefly
        yield
    finally:
        os.close(descriptor)


def is_locked(descriptor: int) -> bool:
    """Lock a file if no other process holds it; return whether that succeeded."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def is_at_work(root: Path) -> bool:
    """Return whether another process, such as a deletion, was started for a place or runs in it."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process may have ended
            seen = (place / "cmdline").read_bytes() + os.readlink(os.fsencode(place / "cwd"))
            if os.fsencode(root) in seen and place.name != str(os.getpid()):
                return True
    return False


def wait_until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Wait for a condition; fail the test if it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        select.select((), (), (), 0.005)


def pass_time(
    monkeypatch: pytest.MonkeyPatch, seconds: int, *, when: Callable[[], int | bool]
) -> None:
    """Let our monotonic clock jump ahead each time that `when` counts one more (True counts one).

    A time limit ends so only after the process under test has come as far as the test needs.
    """
    real = clock.monotonic_ms
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: real() + seconds * 1000 * when())
