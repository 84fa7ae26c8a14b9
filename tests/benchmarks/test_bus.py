"""Helpers of the bus's benchmarks: percentiles, speeds, a filled bus, failing processes."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.bus_scene import new_bus, percentile, speed, started, together
from benchmarks.cases.bus_poll import LIMIT, filled
from benchmarks.measure import Failed, Sample
from benchmarks.scene import Scene
from gitworker.bus import open_bus


def test_percentile() -> None:
    """A percentile is the value that so many percent of the values do not exceed."""
    values = [float(number) for number in range(1, 201)]
    assert percentile(values, 99) == 198.0
    assert percentile(values[::-1], 50) == 100.0
    assert percentile([3.0], 99) == 3.0


@pytest.mark.parametrize(("ours", "kept"), [(10.0, True), (12.4, True), (12.6, False)])
def test_speed(ours: float, kept: bool) -> None:
    """A promised speed is kept from so many times theirs on."""
    result = speed("x", ours=("a", Sample((ours,))), theirs=("b", Sample((10.0,))), at_least=0.8)
    assert result.kept is kept


def test_a_filled_bus_can_be_polled(tmp_path: Path) -> None:
    """A bus filled by one statement is like any other: half to a busy agent, a tenth to all."""
    filled(tmp_path / "bus", 1000).close()
    for agent, number in (("busy", 600), ("quiet", 101), ("unknown", 100)):
        with open_bus(str(tmp_path / "bus"), agent=agent) as bus:
            assert len(bus.poll(2 * number)) == number
            assert len(bus.poll(LIMIT)) == min(LIMIT, number)


def test_processes_begin_together(tmp_path: Path) -> None:
    """Ready processes begin at a signal and answer; a failing one raises."""
    scene = Scene(tmp_path, dict(os.environ))
    good = "import json; print('ready', flush=True); input(); print(json.dumps([1.5]), flush=True)"
    with started(scene, *[(sys.executable, "-c", good)] * 2) as processes:
        assert together(processes)[0] == [[1.5], [1.5]]
    bad = (sys.executable, "-c", "raise SystemExit(3)")
    with pytest.raises(Failed, match="did not begin"), started(scene, bad):
        pass
    mute = (sys.executable, "-c", "print('ready', flush=True)")
    with started(scene, mute) as processes, pytest.raises(Failed, match="gave no answer"):
        together(processes)


def test_a_new_bus_is_empty(tmp_path: Path) -> None:
    """A bus for a benchmark needs no repository and is empty."""
    with open_bus(str(new_bus(tmp_path / "bus")), agent="hq") as bus:
        assert bus.poll() == []
