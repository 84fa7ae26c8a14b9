"""A window's end is recorded with its landings, and a kill leaves no window open for good."""

import pytest

from tests.landing.test_queue import approve_each, landed, verified, windows
from tests.workers.world import World

__all__ = ["verified"]
QUEUE = "refs/worker/queue"
KILLED = -9


@pytest.mark.parametrize(
    ("point", "recorded", "has_ref"),
    [("merge.forwarded", (2, 0, None), True), ("merge.recorded", (2, 2, "landed"), False)],
)
def test_a_kill_beside_the_landing(
    verified: World, point: str, recorded: tuple[int, int, str | None], has_ref: bool
) -> None:
    """The window has landed as soon as its workers have; an open one ends with the next window."""
    approve_each(verified, amy="1", bob="2")
    assert verified.drive("merge", "--all", GITWORKER_CRASH_AT=point).returncode == KILLED
    assert windows(verified) == [recorded]
    assert (QUEUE in verified.refs()) is has_ref
    approve_each(verified, cat="3")
    assert landed(verified.merge(everything=True)) == ["cat"]
    first = (*recorded[:2], recorded[2] or "cut_off")
    assert windows(verified) == [first, (1, 1, "landed")]
    assert QUEUE not in verified.refs()
    verified.require_sound()


def test_a_kill_after_the_end_of_a_window_that_fails(verified: World) -> None:
    """The end of a window with a worker that fails is recorded once that one was sent back."""
    approve_each(verified, amy="1", bob="BAD")
    died = verified.drive("merge", "--all", GITWORKER_CRASH_AT="queue.closed")
    assert died.returncode == KILLED
    assert windows(verified) == [(2, 1, "failed")]
    assert verified.worker("bob").state == "WORKING"
    assert QUEUE not in verified.refs()
    verified.require_sound()
