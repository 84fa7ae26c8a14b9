"""undo leads a worker and its task back to their state before, by legal events that validate."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from gitworker.errors import Refused
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail, stop
from gitworker.lifecycle.moves import advance
from gitworker.model.worker import WorkerEvent
from gitworker.observe.workers.returned import returned_work
from gitworker.review.comments.send import reject
from gitworker.store.workers import load_worker, set_stale_from
from gitworker.workers.cancel import cancel, reset
from tests.workers.test_adopt import take
from tests.workers.world import World, newest, unchanged

WORK = {"a": "1\n"}


def assigned(world: World) -> None:
    """Assign the task only."""
    world.spawn("auth", "login")


def working(world: World) -> None:
    """Start and commit."""
    world.working("auth", "login", WORK)


def in_review(world: World) -> None:
    """Hand the work in."""
    world.in_review("auth", "login", WORK)


def approved(world: World) -> None:
    """Approve the work."""
    world.approved("auth", "login", WORK)


def failed(world: World) -> None:
    """Let the agent fail."""
    working(world)
    fail(world.session(), "auth", reason="stuck")


def stopped(world: World) -> None:
    """Stop the agent, so that its task is BLOCKED."""
    working(world)
    stop(world.session(), "auth", reason="stopped")


BEFORE = {
    "assigned": (assigned, ("ASSIGNED", "ASSIGNED")),
    "working": (working, ("WORKING", "IN_PROGRESS")),
    "in review": (in_review, ("IN_REVIEW", "AWAITING_APPROVAL")),
    "approved": (approved, ("APPROVED", "AWAITING_APPROVAL")),
    "failed": (failed, ("FAILED", "FAILED")),
}


@pytest.mark.parametrize("name", BEFORE)
@pytest.mark.parametrize("approval", [True, False])
def test_undo_of_cancel(world: World, name: str, approval: bool) -> None:
    """A cancelled worker has its former state again, with and without required approvals."""
    world.git("config", "worker.review.required", str(approval).lower())
    prepare, expected = BEFORE[name]
    prepare(world)
    before = world.states("auth", "login")
    assert before == expected or not approval
    review_state = world.worker("auth").review_state
    cancel(world.session(), "auth")
    undo(world.session())
    assert world.states("auth", "login") == before
    assert world.worker("auth").review_state == review_state
    world.require_sound()
    assert run_fsck(world.session()).findings == ()


@pytest.mark.parametrize("prepare", [failed, stopped])
def test_undo_of_reset(world: World, prepare: Callable[[World], None]) -> None:
    """A worker that was reset has failed again, with its error; it holds no claim."""
    prepare(world)
    before, error = world.states("auth", "login"), world.worker("auth").last_error
    reset(world.session(), "auth")
    undo(world.session())
    assert world.states("auth", "login") == before
    assert world.worker("auth").last_error == error
    assert world.task("login").assigned_agent_id is None
    world.require_sound()
    assert run_fsck(world.session()).findings == ()


def test_an_approval_survives_cancel_and_undo(world: World) -> None:
    """Work that was approved before the cancel lands after the undo."""
    approved(world)
    cancel(world.session(), "auth")
    undo(world.session())
    world.land("auth")
    assert world.show("a") == "1"


def test_returned_work(world: World) -> None:
    """An undone cancel keeps the reason for which the work was sent back, unless it has changed."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="Add a test")
    before = returned_work(world.worker("auth"))
    cancel(world.session(), "auth")
    undo(world.session())
    assert before is not None
    assert returned_work(world.worker("auth")) == before
    world.commit("auth", {"a": "2\n"})
    cancel(world.session(), "auth")
    undo(world.session())
    after = returned_work(world.worker("auth"))
    assert after is not None
    assert (after.reason, after.note) == ("withdrawn", "")


def test_a_slow_review(world: World) -> None:
    """A worker that became stale in review is in review again."""
    in_review(world)
    worker = world.worker("auth")
    with world.session().store.write() as writer:
        set_stale_from(writer, "auth", worker.state)
        advance(writer, load_worker(writer, "auth"), WorkerEvent.REVIEW_TIMEOUT, actor="hq")
    cancel(world.session(), "auth")
    undo(world.session())
    assert world.states("auth", "login") == ("IN_REVIEW", "AWAITING_APPROVAL")
    world.require_sound()


def test_a_record_of_an_earlier_version(world: World) -> None:
    """A cancel that recorded no state leads to WORKING, as that version did."""
    in_review(world)
    cancel(world.session(), "auth")
    with closing(apsw.Connection(f"{world.state_dir}/bus.db")) as connection:
        ((text,),) = connection.execute("SELECT data FROM operations WHERE kind = 'cancel'")
        data = {k: v for k, v in json.loads(text).items() if k not in ("state", "stale_from")}
        connection.execute("UPDATE operations SET data = ?", (json.dumps(data),))
    undo(world.session())
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")


def test_undo_after_undo(world: World) -> None:
    """The undo of a landing, and then of its approval, lead back step by step."""
    approved(world)
    world.land("auth")
    states = [undo(world.session()).worker.state.value for _ in range(2)]
    assert states == ["APPROVED", "IN_REVIEW"]
    world.require_sound()


def test_an_approval_that_was_replaced(world: World) -> None:
    """A landing whose approval is not the last verdict is undone to the review."""
    approved(world)
    world.land("auth")
    with closing(apsw.Connection(f"{world.state_dir}/bus.db")) as connection:
        connection.execute("UPDATE reviews SET verdict = 'requested'")
    assert undo(world.session()).worker.state == "IN_REVIEW"


# ---------------------------------------------------------------------------- skipping
def cancelled_docs(world: World) -> int:
    """Cancel `docs`; return the number of that operation."""
    world.working("docs", "guide", {"d": "1\n"})
    cancel(world.session(), "docs")
    return newest(world, "cancel")


def test_skipped_operations(world: World) -> None:
    """Without a number, undo skips operations that can never be undone, and says why."""
    cancelled_docs(world)
    approved(world)
    world.land("auth")
    world.advance({"later": "1\n"})
    landing, approval = newest(world, "merge"), newest(world, "approve")
    done = undo(world.session())
    assert (done.kind, done.worker.worker_id, done.worker.state) == ("cancel", "docs", "WORKING")
    merged, approving = (one.words for one in done.skipped)
    assert merged.startswith(
        f"skipped merge {landing} of auth: the landing cannot be undone: main has moved since"
        " (to revert it: git revert "
    )
    assert approving == (
        f"skipped approve {approval} of auth: the approve cannot be undone before the later merge"
        f" ({landing})"
    )


def test_a_worker_that_has_continued(world: World) -> None:
    """The cancel of a worker that has another task now is skipped."""
    cancelled_docs(world)
    working(world)
    cancel(world.session(), "auth")
    world.spawn("auth", "other")
    done = undo(world.session())
    assert done.worker.worker_id == "docs"
    assert [one.error.code for one in done.skipped] == ["moved_on"]


def test_an_obstacle_is_not_skipped(world: World) -> None:
    """If the user can repair the cause, undo refuses and skips nothing."""
    cancelled_docs(world)
    approved(world)
    world.land("auth")
    (world.root / "a").write_text("in the way\n")
    with unchanged(world, "would_overwrite", Refused):
        undo(world.session())
    world.git("checkout", "--", "a")
    assert undo(world.session()).worker.worker_id == "auth"


def test_an_obstacle_names_the_older_operation(world: World) -> None:
    """A refusal that is seen before anything is locked names the older operation's number."""
    number = cancelled_docs(world)
    world.git("branch", "feature", "main")
    adopted = take(world, "feature")
    (Path(adopted.spawned.path) / "new").write_text("mine\n")
    with unchanged(world, "worktree_changed", Refused) as caught:
        undo(world.session())
    error = caught.value
    assert error.message.endswith(f"operation that can be undone is cancel {number} of docs")
    assert error.hint
    assert error.hint.endswith(f"or undo the older one: git worker undo {number}")


def test_an_older_landing_needs_its_number(world: World) -> None:
    """A newer operation is not skipped to move the target back."""
    world.working("docs", "guide", {"d": "1\n"})
    approved(world)
    world.land("auth")
    cancel(world.session(), "docs")
    world.git("branch", "docs/guide", "main^")
    number = newest(world, "merge")
    with unchanged(world, "branch_moved", Refused) as caught:
        undo(world.session())
    assert caught.value.message.endswith(f"that can be undone is merge {number} of auth")
    assert undo(world.session(), number).worker.state == "APPROVED"


def test_an_operation_of_another_caller_needs_its_number(world: World) -> None:
    """The caller's own operation is not skipped to undo the one of another caller."""
    place = world.spawn("web", "page").path
    world.working("docs", "guide", {"d": "1\n"})
    cancel(world.session(place), "docs")
    number = newest(world, "cancel")
    working(world)
    cancel(world.session(), "auth")
    world.spawn("auth", "other")
    with unchanged(world, "moved_on", Refused) as caught:
        undo(world.session())
    assert caught.value.message.endswith(f"that can be undone is cancel {number} of docs")


def test_a_number_skips_nothing(world: World) -> None:
    """An operation that is named is undone or refused."""
    world.working("docs", "guide", {"d": "1\n"})
    cancel(world.session(), "docs")
    approved(world)
    world.land("auth")
    world.advance({"later": "1\n"})
    ((number,),) = world.query("SELECT MAX(id) FROM operations WHERE kind = 'merge'")
    with unchanged(world, "landed_for_good", Refused):
        undo(world.session(), number)


def test_nothing_can_be_undone(world: World) -> None:
    """If no operation can be undone, the newest one gives the reason."""
    approved(world)
    world.land("auth")
    world.advance({"later": "1\n"})
    with unchanged(world, "landed_for_good", Refused):
        undo(world.session())


def test_a_worker_skips_the_operations_of_others(world: World) -> None:
    """A worker undoes its own newest operation, not the newer one of another caller."""
    working(world)
    place = world.spawn("docs", "guide").path
    world.working("web", "page", {"w": "1\n"})
    cancel(world.session(place), "web")
    cancel(world.session(), "auth")
    done = undo(world.session(place))
    assert done.worker.worker_id == "web"
    assert [one.error.code for one in done.skipped] == ["not_allowed"]


@pytest.mark.parametrize("point", ["undo.journal", "undo.rewound", "undo.returned"])
def test_a_repeated_undo_after_a_kill(world: World, point: str) -> None:
    """A killed undo that is run again is finished, and no older operation is undone with it."""
    approved(world)
    world.land("auth")
    assert world.drive("undo", GITWORKER_CRASH_AT=point).returncode == -9
    done = undo(world.session())
    assert (done.kind, done.worker.worker_id, done.skipped) == ("merge", "auth", ())
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    assert undo(world.session()).kind == "approve"
