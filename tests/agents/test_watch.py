"""The supervisor's own work, seen from within: pauses, and processes that cannot be ended."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gitworker.agents import monitor
from gitworker.agents.monitor import Monitor
from gitworker.agents.orders import Order
from gitworker.errors import Unavailable
from gitworker.processes.table import find_start
from tests.agents.supervised import is_alive, is_stopped
from tests.workers.world import wait_until

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


class Bus:
    """A store that records whether an agent was stopped when its write lock was released."""

    defers_messages = False

    def __init__(self, pid: int, *, is_broken: bool = False) -> None:
        self.pid = pid
        self.is_broken = is_broken
        self.stood: list[bool] = []
        self.messages: list[str] = []

    @contextlib.contextmanager
    def read(self) -> Iterator["Bus"]:
        """Give itself."""
        yield self

    def rows(self, _query: str) -> list[dict[str, Any]]:
        """Know of no other run."""
        return []

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator["Bus"]:
        """Hold the write lock; an agent that is to be stopped is so before it is let go."""
        if self.is_broken:
            raise Unavailable("no database")
        before = is_stopped(self.pid)
        yield self
        if not durable and not before:
            wait_until(lambda: is_stopped(self.pid))
        self.stood += [before, is_stopped(self.pid)]

    def run(self, _query: str, **values: Any) -> int:
        """Record the published messages."""
        if "payload" in values:
            self.messages.append(json.loads(values["payload"])["message"])
        return 1


@pytest.fixture
def agent() -> Iterator[int]:
    """A process that minds no TERM, in a session of its own."""
    words = ["sh", "-c", STUBBORN]
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        os.killpg(process.pid, signal.SIGKILL)


def watching(bus: Bus) -> Monitor:
    """Return a watch over the agent of a bus."""
    post: Any = SimpleNamespace(store=bus)
    run: Any = SimpleNamespace(
        after=0, pid=bus.pid, pid_start=find_start(bus.pid), id=1, worker="auth", task="t1",
        worktree="/",
    )  # fmt: skip
    read, _ = os.pipe()
    signals: Any = SimpleNamespace(fileno=lambda: read, take=list)
    nothing: Any = SimpleNamespace()
    return Monitor(post, run, signals=signals, streams=nothing, heartbeats=nothing)


def test_a_pause_freezes_no_writer(agent: int) -> None:
    """An agent is stopped while its supervisor holds the write lock, so it holds none itself."""
    bus = Bus(agent)
    order = Order(seq=1, id="m", sender="hq", command="pause", reason=None)
    watching(bus)._carry_out(order)
    assert bus.stood[:2] == [False, True]


@pytest.mark.parametrize("is_broken", [False, True])
def test_processes_that_cannot_be_ended(
    agent: int, monkeypatch: pytest.MonkeyPatch, *, is_broken: bool
) -> None:
    """Processes that survive their time limit are reported if possible, and left alone."""
    monkeypatch.setattr(monitor, "REST_S", 0)
    monkeypatch.setattr(monitor, "LEFT_S", 0)
    bus = Bus(agent, is_broken=is_broken)
    watching(bus)._end_the_rest()
    assert is_alive(agent)
    assert bus.messages == ([] if is_broken else [f"could not be ended: process group {agent}"])
