"""The benchmarks of tasks measure whole lives."""

from pathlib import Path

from benchmarks.cases.tasks import WINDOW, _pass, _session_of
from gitworker.model.ids import Oid
from tests.workers.world import World


def test_a_window_passes_the_machines(tmp_path: Path) -> None:
    """Each measured task takes every step from DEFINED to COMPLETED, and the log is legal."""
    world = World.make(tmp_path / "r")
    with _session_of(world.root) as session:
        for name in ("first", "second"):  # the second one finds the workers of the first
            assert _pass(session, Oid(world.tip()), tmp_path / f"{name}.jsonl") > 0
    steps = world.query(
        "SELECT to_state, COUNT(*) FROM transitions WHERE machine = 'task' GROUP BY to_state"
    )
    passed = ("READY", "ASSIGNED", "IN_PROGRESS", "VERIFYING", "COMPLETED")
    assert dict(steps) == dict.fromkeys(passed, 2 * WINDOW)
