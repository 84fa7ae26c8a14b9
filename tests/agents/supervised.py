"""A worker whose agents are started by whole `git-worker exec` processes."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitworker.bus.message_ids import new_id
from gitworker.processes.table import find_process, is_running
from gitworker.store.messages.mailbox import NewMessage, publish_message
from gitworker.store.sqlite.migrate import open_database
from tests.cli.kit import DEADLINE_S, PROGRAM, Answer, ok, run
from tests.workers.world import World, wait_until

END_WAIT_S = 15
COMMIT = "git commit -q --allow-empty -m Work"


@dataclass(frozen=True)
class SupervisedWorker:
    """The worker `auth` with the task `t1`."""

    world: World

    @property
    def path(self) -> Path:
        """Return the worktree."""
        return self.world.root / "worktrees" / "t1"

    @property
    def log(self) -> Path:
        """Return the agent's log."""
        return self.path / ".worker.log"

    def exec(self, script: str, *options: str, **more: Any) -> Answer:
        """Run a shell script as the worker's agent under supervision, to its end."""
        return run(self.world.root, "exec", "auth", *options, "--", "sh", "-c", script, **more)

    @contextlib.contextmanager
    def running(
        self, *words: str, options: tuple[str, ...] = (), **more: Any
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Give a supervisor whose agent has begun; both are ended afterwards, however it went."""
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        before = len(self.world.query("SELECT id FROM runs"))
        process = subprocess.Popen(
            [PROGRAM, "exec", "auth", *options, "--", *words],
            cwd=self.world.root,
            **{**streams, **more},
        )
        try:
            wait_until(lambda: self._has_begun(before) or process.poll() is not None)
            yield process
        finally:
            for found in self.runs()[before:]:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(found["pid"], 9)
            if process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=DEADLINE_S)
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=DEADLINE_S)

    def _has_begun(self, before: int) -> bool:
        """Return whether a new run exists whose process has passed its start gate."""
        agent = find_process(self.runs()[-1]["pid"]) if len(self.runs()) > before else None
        return agent is not None and not any("read -r go" in word for word in agent.arguments)

    def order(self, command: str | None, reason: str = "", *, key: str = "command") -> str:
        """Send the worker's supervisor a `cmd` message."""
        payload = {key: command, "reason": reason}
        body = json.dumps({key: value for key, value in payload.items() if value})
        return ok(self.world.root, "msg", "send", "cmd", body, "--to", "auth")

    def foreign_order(self, payload: dict[str, str], *, to: str | None) -> None:
        """Publish a `cmd` message as a program that checks nothing."""
        message = NewMessage(new_id(), "cmd", ts_ms=1, sender="hq", to=to)
        message.payload = json.dumps(payload)
        publish_message(self.world.session().store, message)

    def runs(self) -> list[dict[str, Any]]:
        """Return the rows of runs, oldest first."""
        names = ("id", "pid", "command", "ended_at_ms", "exit_status", "reason", "paused_at_ms")
        rows = self.world.query(f"SELECT {', '.join(names)} FROM runs ORDER BY id")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def logs(self) -> list[tuple[str, str, str]]:
        """Return level, event and message of every `log` message."""
        return [(m["level"], m["event"], m["message"]) for m in self.world.messages("log")]

    def state(self) -> str:
        """Return the worker's state."""
        return self.world.worker("auth").state.value


def end_runs(state: Path) -> None:
    """End the supervisors of a repository, also those that wait for a next round, and the agents.

    A supervisor ends its agent; one that does not end is killed.
    """
    database = state / "bus.db"
    if not database.exists():
        return
    names = ("supervisor_pid", "supervisor_start", "pid", "pid_start")
    rows = open_database(str(database)).execute(f"SELECT {', '.join(names)} FROM runs")
    supervisors = [(row["supervisor_pid"], row["supervisor_start"]) for row in rows]
    _signal(supervisors, signal.SIGTERM)
    _signal([*supervisors, *((row["pid"], row["pid_start"]) for row in rows)], signal.SIGKILL)


def _signal(processes: list[tuple[int | None, str | None]], number: int) -> None:
    """Send a signal to the processes that still run, and wait for their end."""

    def running() -> list[int]:
        return [pid for pid, start in processes if pid and start and is_running(pid, start)]

    for pid in running():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    deadline = time.monotonic() + END_WAIT_S
    while running() and time.monotonic() < deadline:
        select.select((), (), (), 0.05)


def is_alive(pid: int) -> bool:
    """Return whether a process runs; zombies do not count."""
    return find_process(pid) is not None


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal, or waits for a child that is.

    A shell waits this way between vfork and exec, if it was stopped at that moment.
    """
    state = _state(pid)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return state == "T" or (state == "D" and "T" in map(_state, map(int, children)))


def _state(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended meanwhile
        return ""
    return text.rpartition(")")[2].split()[0]


def read_until(fd: int, wanted: bytes) -> bytes:
    """Read a descriptor until it has given these bytes, with a deadline."""
    found = b""
    while wanted not in found:
        assert select.select([fd], [], [], DEADLINE_S)[0], found
        data = os.read(fd, 65536)
        assert data, found
        found += data
    return found
