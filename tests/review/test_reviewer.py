"""reject, and which users may judge."""

import pytest

from gitworker.errors import Refused
from gitworker.landing.merge import merge
from gitworker.review.comments.send import reject
from gitworker.states.engine import InvalidTransition
from gitworker.workers.approve import approve
from tests.workers.world import World, unchanged


def test_reject(world: World) -> None:
    """A rejected worker is WORKING again and gets the requested changes."""
    world.in_review("auth", "login", {"a": "1\n"})
    rejected = reject(world.session(), "auth", note="more tests")
    assert rejected.review_state == "changes_requested"
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    (result,) = world.messages("review_result")
    (comment,) = result.pop("comments")
    assert result == {
        "verdict": "changes_requested", "note": "more tests",
        "reviewer": "Ada Tester <ada@example.org>",
    }  # fmt: skip
    assert (comment["number"], comment["path"], comment["text"]) == (1, None, "more tests")
    view = world.view("auth", "reviews")
    assert (view["verdict"], view["note"]) == ("changes_requested", "more tests")
    assert view["commit"] == world.tip("auth/login")


def test_second_round(world: World) -> None:
    """After a rejection the worker submits again, and the round is no retry."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="more")
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")
    world.approve("auth")
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    assert world.task("login").retry_count == 0


def test_reject_of_work_in_progress(world: World) -> None:
    """Work that was not submitted cannot be rejected."""
    world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "invalid_transition", InvalidTransition):
        reject(world.session(), "auth", note="no")


def test_no_worker_judges_itself(world: World) -> None:
    """A worker can neither approve nor reject nor merge its own work."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    mine = world.session(place)
    with unchanged(world, "not_allowed"):
        approve(mine, "auth")
    with unchanged(world, "not_allowed"):
        reject(mine, "auth", note="no")
    world.approve("auth")
    with unchanged(world, "not_allowed"):
        merge(mine, ["auth"])
    with unchanged(world, "not_allowed"):
        merge(mine, [], everything=True)


def test_review_self(world: World) -> None:
    """With review.self a worker may judge and land its own work."""
    world.git("config", "worker.review.self", "true")
    place = world.in_review("auth", "login", {"a": "1\n"})
    approve(world.session(place), "auth")
    merge(world.session(place), ["auth"])
    assert world.worker("auth").state == "COMPLETED"


def test_team_decides_not_the_worker(world: World) -> None:
    """The settings file counts from the target's commit, never from a worker's branch."""
    place = world.in_review("auth", "login", {".gitworker.toml": "[review]\nself = true\n"})
    with unchanged(world, "not_allowed"):
        approve(world.session(place), "auth")


def test_reviewer_without_a_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A review by a user without a git identity is refused."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.git("config", "--global", "--unset", "user.name")
    world.git("config", "--global", "--unset", "user.email")
    world.git("config", "user.useConfigOnly", "true")
    with unchanged(world, "refused", Refused):
        world.approve("auth")


def test_reject_twice(world: World) -> None:
    """Work that was sent back is not sent back again."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="more tests")
    before = world.picture()
    assert reject(world.session(), "auth", note="more tests").state == "WORKING"
    assert world.picture() == before


def test_reject_after_the_approval(world: World) -> None:
    """Approved work can be sent back; the approval is withdrawn first."""
    world.approved("auth", "login", {"a": "1\n"})
    assert reject(world.session(), "auth", note="one more test").state == "WORKING"
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    events = world.query(
        "SELECT event FROM transitions WHERE machine = 'worker' ORDER BY seq DESC LIMIT 2"
    )
    assert events == [("request_changes",), ("approval_withdrawn",)]
