"""What a supervisor does itself, watched from within: pausing, and what cannot be ended."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gitworker.agents import watch
from gitworker.agents.watch import Watch
from gitworker.errors import Unavailable


class Bus:
    """A store that knows whether somebody writes; `is_broken` lets nobody."""

    def __init__(self, *, is_broken: bool = False) -> None:
        self.is_held = False
        self.is_broken = is_broken
        self.told: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def write(self, *, durable: bool = True) -> Iterator["Bus"]:
        """Hold the write lock."""
        assert not self.is_held
        if self.is_broken:
            raise Unavailable("gone")
        self.is_held = True
        yield self
        self.is_held = False

    def run(self, query: str, **values: Any) -> int:
        """Keep what is written."""
        self.told.append({"query": query, **values})
        return 1


def watching(bus: Bus) -> Watch:
    """Return a watch over no agent, on a bus."""
    post: Any = SimpleNamespace(store=bus)
    run: Any = SimpleNamespace(after=0, pid=7, id=1, worker="auth", task="t1")
    read, _ = os.pipe()
    signals: Any = SimpleNamespace(fileno=lambda: read, take=list)
    streams: Any = SimpleNamespace(restore=lambda: None, resume=lambda: None)
    return Watch(post, run, signals=signals, streams=streams)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The signals that the agent is sent, and whether the bus was held then."""
    sent: list[tuple[int, bool]] = []
    bus.is_held = False
    monkeypatch.setattr(watch, "signal_all", lambda _, number: sent.append((number, bus.is_held)))
    return sent


bus = Bus()


def test_a_pause_freezes_nobody_who_writes(sent: list[tuple[int, bool]]) -> None:
    """An agent is stopped while its supervisor holds the write lock: none of its processes does."""
    order: Any = {
        "id": "m", "from_agent": "hq", "command": "pause", "reason": None, "payload_ref": None,
    }  # fmt: skip
    watching(bus)._obey(order)
    assert sent == [(signal.SIGSTOP, True)]
    assert not bus.is_held


def test_suspending_freezes_nobody_who_writes(
    sent: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is with ^Z, and the supervisor has let go of the lock before it stops itself."""
    stops: list[tuple[int, bool]] = []
    monkeypatch.setattr(os, "kill", lambda _, number: stops.append((number, bus.is_held)))
    watching(bus)._suspend()
    assert sent == [(signal.SIGSTOP, True), (signal.SIGCONT, False)]
    assert stops == [(signal.SIGSTOP, False)]


def test_suspending_without_a_bus(
    sent: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the bus cannot be written, ^Z works all the same."""
    monkeypatch.setattr(os, "kill", lambda *_: None)
    watching(Bus(is_broken=True))._suspend()
    assert [number for number, _ in sent] == [signal.SIGSTOP, signal.SIGCONT]


@pytest.mark.parametrize("is_broken", [False, True])
def test_what_cannot_be_ended(
    sent: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch, *, is_broken: bool
) -> None:
    """A process that stays, as one that we may not signal does, is told of and left alone."""
    monkeypatch.setattr(watch, "groups_of", lambda _: {78, 77})
    monkeypatch.setattr(watch, "REST_S", 0)
    monkeypatch.setattr(watch, "LEFT_S", 0.1)
    there = Bus(is_broken=is_broken)
    watching(there)._end_the_rest()
    assert (signal.SIGKILL, False) in sent
    told = [one["message"] for one in there.told if "message" in one]
    assert told == ([] if is_broken else ["could not be ended: process group 77, 78"])
