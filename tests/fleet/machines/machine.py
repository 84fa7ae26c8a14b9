"""Machines of a fleet: each one a clone of one bare remote, on a computer of its own."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from fixtures.repos import Content, Repo
from fixtures.wire import Wire
from tests.cli.forking import PROGRAM
from tests.cli.kit import Answer
from tests.fleet.machines.boxes import Box

LIMIT_S = 120
START = {"README": "one\ntwo\nthree\n", "src/app.py": "print('hello')\n", ".gitignore": "*.o\n"}


class Machine:
    """One machine: its clone, its computer and its wire to PostgreSQL."""

    def __init__(self, place: Path, name: str, *, server: str, schema: str) -> None:
        self.name, self.root, self._place = name, place / name, place
        host, options = server.partition("host=")[2].partition("&")[::2]
        self.wire = Wire(host)
        self.location = f"postgresql:///postgres?host={self.wire.directory}&{options}#{schema}"
        self.env: dict[str, str] = {}
        self.boot()
        Repo(place).git("clone", "-q", "remote.git", name)

    # ------------------------------------------------------------------ the computer
    def boot(self) -> None:
        """Start the computer, with a boot and a monotonic clock of its own."""
        self.box = Box(self.name, self._place, uptime_s=random.randrange(1000, 10_000_000))

    def crash(self) -> None:
        """Take the computer's power away."""
        self.box.kill()

    def end(self) -> None:
        """Kill everything."""
        self.box.kill()
        self.wire.close()

    # ------------------------------------------------------------------ commands
    def popen(
        self, *words: str, cwd: Path | None = None, **options: Any
    ) -> "subprocess.Popen[bytes]":
        """Start a program on this machine."""
        env = {**os.environ, **self.env, **options.pop("env", {})}
        return subprocess.Popen(
            self.box.words(words, cwd or self.root), env=env, stdin=subprocess.DEVNULL, **options
        )  # fmt: skip

    def run(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Answer:
        """Run `git-worker WORDS` on this machine."""
        process = self.popen(
            str(PROGRAM), *words, cwd=cwd, env=env or {}, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
        return Answer(process.returncode, out.decode(), err.decode())

    def ok(self, *words: str, **options: Any) -> str:
        """Run a command that must succeed; return its output, stripped."""
        answer = self.run(*words, **options)
        assert answer.status == 0, (self.name, words, answer)
        return answer.out.strip()

    def json(self, *words: str, **options: Any) -> Any:
        """Return the JSON of a command that must succeed."""
        return json.loads(self.ok(*words, "--json", **options))

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """Run git in the clone, outside of the computer; it must succeed and run no hook."""
        return Repo(cwd or self.root).git(*words)

    def commit(self, worker: str, message: str, files: Mapping[str, Content]) -> None:
        """Commit in a worker's worktree, as its agent does."""
        place = Path(self.ok("path", worker))
        Repo(place).write(files)
        for words in (("add", "--all"), ("commit", "-q", "-m", message)):
            process = self.popen("git", *words, cwd=place)
            assert process.wait(LIMIT_S) == 0

    def join(self) -> str:
        """Join the fleet under this machine's name."""
        return self.ok("fleet", "join", self.location, "--name", self.name)

    # ------------------------------------------------------------------ readers of the state
    @property
    def state(self) -> Path:
        """Return the state directory."""
        return self.root / ".git" / "worker-state"

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the replica."""
        connection = apsw.Connection(str(self.state / "bus.db"), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(5000)
        with closing(connection):
            return list(connection.execute(sql))

    def complaints(self) -> list[str]:
        """Return the lines of the log of background jobs."""
        path = self.state / "logs" / "background.log"
        return path.read_text().splitlines() if path.exists() else []

    def follows(self, other: "Machine") -> bool:
        """Return whether this clone's target is where the other's is."""
        return self.git("rev-parse", "main") == other.git("rev-parse", "main")

    def kill_link(self, *, older_s: int = 0) -> None:
        """Kill the link with -9, if it has lived for so many seconds."""
        find = f"pgrep --older {older_s} -f 'hookentry link'"
        self.popen("sh", "-c", f"kill -9 $({find})", stderr=-3).wait(LIMIT_S)


@contextmanager
def fleet_of(place: Path, server: str, *names: str) -> Iterator[list[Machine]]:
    """Give machines that have joined one fleet; end them afterwards."""
    schema = f"s{random.SystemRandom().randrange(1 << 60)}"
    origin = Repo.make(place / "seed")
    origin.commit("Start", START)
    origin.git("clone", "-q", "--bare", ".", str(place / "remote.git"))
    machines: list[Machine] = []
    try:
        for name in names:
            machines.append(Machine(place, name, server=server, schema=schema))
            machines[-1].ok("init")
            machines[-1].join()
        yield machines
    finally:
        for one in machines:
            one.end()


def wait_for(condition: Callable[[], Any], limit_s: float = LIMIT_S) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        signal.sigtimedwait([], 0.05)
