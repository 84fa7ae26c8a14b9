"""Pumps: the end of an agent's output reaches the log and the caller, however slowly it is read."""

import os
from pathlib import Path

import pytest

from gitworker.agents import pump
from gitworker.agents.log import AgentLog
from gitworker.agents.pump import CHUNK, DRAIN_MS, Pump


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock in milliseconds that a test turns."""
    now = [0]
    monkeypatch.setattr(pump.clock, "monotonic_ms", lambda: now[0])
    return now


def drained(tmp_path: Path, chunks: int, sink: int) -> bytes:
    """Return the log after the end of an agent that has left so many chunks in its pipe."""
    read, write = os.pipe()
    pump_log = AgentLog(str(tmp_path / "log"), aside=str(tmp_path / "aside"), max_bytes=0)
    one = Pump(read, sink, pump_log, keeps_source=False)
    os.set_blocking(write, False)
    for _ in range(chunks):
        assert os.write(write, b"x" * (CHUNK // 4)) == CHUNK // 4
    os.close(write)
    one._drain()
    one.finish()
    pump_log.close()
    return (tmp_path / "log").read_bytes()


def test_a_slow_reader_loses_nothing(
    clock: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time spent waiting for the caller's reader does not count against the agent's last output."""
    monkeypatch.setattr(pump, "CHUNK", CHUNK // 4)
    got: list[bytes] = []

    def write_slowly(_: int, data: bytes) -> None:
        clock[0] += DRAIN_MS + 1
        got.append(data)

    monkeypatch.setattr(pump, "_write_all", write_slowly)
    assert len(drained(tmp_path, 4, 1)) == CHUNK
    assert len(b"".join(got)) == CHUNK


def test_who_writes_on_after_the_end_is_not_read_for_ever(
    clock: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that keeps the pipe and writes on and on is listened to for a bounded time."""
    monkeypatch.setattr(pump, "CHUNK", CHUNK // 4)
    poll = pump.select.poll

    class Waiting:
        def __init__(self) -> None:
            self._poll = poll()
            self.register = self._poll.register

        def poll(self, timeout: float) -> list[tuple[int, int]]:
            clock[0] += DRAIN_MS // 2
            return self._poll.poll(timeout)

    monkeypatch.setattr(pump.select, "poll", Waiting)
    sink = os.open(os.devnull, os.O_WRONLY)
    assert len(drained(tmp_path, 4, sink)) == CHUNK // 4
    os.close(sink)
