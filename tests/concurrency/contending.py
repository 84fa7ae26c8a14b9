"""A process that contends for tasks: `contending.py STATE_DIR NAME SEED RECORD`.

It takes any task that is not completed, works for a while, completes it under its epoch and
releases it, until all tasks are completed. While it holds a task its wall clock jumps, and
sometimes it stops (SIGSTOP) for longer than its lease, or dies (SIGKILL); every eighth process dies
with its first task, so that every contest has a death. It appends its claims and refusals to the
record, each line one write, times by CLOCK_MONOTONIC:

T task epoch name from until    it has the task, at most until then
N task epoch name from until    it has renewed it
R task epoch name at -          it is about to give it back
L task epoch name at -          it came late and was refused
"""

import os
import random
import signal
import sys

from gitworker import clock
from gitworker.claims import Claims
from gitworker.claims.leases import require_valid
from gitworker.errors import Conflict
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database

LEASE_S = 0.15
JUMPS_MS = (-3_600_000, -120_000, 0, 120_000, 3_600_000)
DOOMED = 8  # of so many processes one dies with its first task
LATE = {"claim_lost", "claim_expired"}
TASKS = "SELECT id FROM tasks WHERE NOT EXISTS (SELECT 1 FROM grants WHERE grants.task = tasks.id)"
GRANT = "INSERT INTO grants (task, epoch, name) VALUES (:task, :epoch, :name)"
LOOK = "SELECT 1 FROM grants WHERE task = :task"


class Contender:
    """One process, its claims, its clocks and its record."""

    def __init__(self, state: str, name: str, seed: str, record: str) -> None:
        self.chance = random.Random(seed)
        self.name = name
        self.doomed = int(name.removeprefix("w")) % DOOMED == 0
        self.record = os.open(record, os.O_WRONLY | os.O_APPEND)
        self.mono_ms = 0
        self.jump_ms = 0
        self.turn_clocks()
        self.store = open_database(f"{state}/bus.db")
        self.claims = Claims(self.store, StatePaths(state), holder=name)

    def turn_clocks(self) -> None:
        """Let the wall clock jump, and store the last value of CLOCK_MONOTONIC."""
        real_now_ms, real_mono_ms = clock.now_ms, clock.monotonic_ms

        def monotonic_ms() -> int:
            self.mono_ms = real_mono_ms()
            return self.mono_ms

        clock.now_ms = lambda: real_now_ms() + self.jump_ms
        clock.monotonic_ms = monotonic_ms

    def run(self) -> None:
        """Go on until every task has been acted on."""
        while tasks := [row["id"] for row in self.store.execute(TASKS)]:
            self.chance.shuffle(tasks)
            for task in tasks[:50]:
                self.jump_ms = self.chance.choice(JUMPS_MS)
                try:
                    self.contend(task)
                except Conflict as error:
                    if error.code in LATE:
                        self.note("L", task, 0)
                    elif error.code != "claimed":
                        raise

    def contend(self, task: str) -> None:
        """Take one task, complete it unless it is completed, and release it."""
        epoch = self.claims.take(task, ttl_s=LEASE_S).epoch
        self.note("T", task, epoch, lease=True)
        if not self.store.execute(LOOK, {"task": task}):
            self.suffer()
            if self.chance.random() < 0.2:
                self.claims.renew(task, epoch=epoch)
                self.note("N", task, epoch, lease=True)
                self.suffer()
            with self.store.write() as writer:
                require_valid(writer, task, self.name, epoch=epoch)
                writer.execute(GRANT, {"task": task, "epoch": epoch, "name": self.name})
        clock.monotonic_ms()
        self.note("R", task, epoch)
        self.claims.release(task, epoch=epoch)

    def suffer(self) -> None:
        """Have a clock that jumps; rarely stop for longer than a lease, more rarely die."""
        self.jump_ms = self.chance.choice(JUMPS_MS)
        fate = self.chance.random()
        if self.doomed or fate < 0.004:
            os.kill(os.getpid(), signal.SIGKILL)
        elif fate < 0.03:
            os.kill(os.getpid(), signal.SIGSTOP)

    def note(self, kind: str, task: str, epoch: int, *, lease: bool = False) -> None:
        """Append a line to the record."""
        until = self.mono_ms + int(LEASE_S * 1000) if lease else "-"
        line = f"{kind} {task} {epoch} {self.name} {self.mono_ms} {until}\n"
        os.write(self.record, line.encode())


if __name__ == "__main__":
    Contender(*sys.argv[1:]).run()
