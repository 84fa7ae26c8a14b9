"""Pumps: the end of an agent's output reaches the log and the caller, however slowly it is read."""

import fcntl
import itertools
import os
import struct
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.agents.process import copy_output
from gitworker.agents.process.agent_log import AgentLog
from gitworker.agents.process.copy_output import CHUNK, DRAIN_MS, Pump
from gitworker.agents.process.streams import _widen


@pytest.fixture
def sink() -> Iterator[tuple[int, int]]:
    """A pipe that takes all that these tests write."""
    read, write = os.pipe()
    _widen(read)
    yield read, write
    os.close(read)
    os.close(write)


def drained(tmp_path: Path, sink: int) -> int:
    """Return how much is logged of the four chunks that an agent has left in its pipe."""
    read, write = os.pipe()
    _widen(read)
    log = AgentLog(str(tmp_path / "log"), older=str(tmp_path / "aside"), max_bytes=0)
    one = Pump(read, sink, log, keeps_source=False)
    os.write(write, b"x" * 4 * CHUNK)
    os.close(write)
    one._drain()
    one.finish()
    log.close()
    return (tmp_path / "log").stat().st_size


def test_a_slow_reader_loses_nothing(
    sink: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time spent waiting for the caller's reader does not count against the agent's last output."""

    def now() -> int:
        (taken,) = struct.unpack("i", fcntl.ioctl(sink[0], termios.FIONREAD, bytes(4)))
        return int(taken) // CHUNK * (DRAIN_MS + 1)

    monkeypatch.setattr(copy_output.clock, "monotonic_ms", now)
    assert drained(tmp_path, sink[1]) == 4 * CHUNK


def test_endless_output_is_not_read_for_ever(
    sink: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output that continues after the agent's end is read for a bounded time."""
    times = itertools.count(0, DRAIN_MS // 2)
    monkeypatch.setattr(copy_output.clock, "monotonic_ms", lambda: next(times))
    assert drained(tmp_path, sink[1]) < 4 * CHUNK
