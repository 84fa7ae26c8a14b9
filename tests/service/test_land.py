"""land: approve the work that waits for review and merge it; a refusal merges nothing."""

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.journal.undo.undo import undo
from gitworker.model.outcome import Landed, NotLanded
from gitworker.service.land import land
from tests.workers.world import World, unchanged


def test_work_in_review_lands(world: World) -> None:
    """A worker in review is approved and lands; the approval is on record."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    (result,) = land(world.session(), ["auth"], note="Good")
    assert isinstance(result, Landed)
    assert world.tip() == result.commit
    assert world.states("auth", "login") == ("COMPLETED", "COMPLETED")
    assert not place.exists()
    assert [one["verdict"] for one in world.messages("review_result")] == ["approved"]
    world.require_sound()


def test_the_branch_is_replayed_once(world: World) -> None:
    """The handed-in commits are approved where they are; an undo gives them back, approved."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    tip = world.tip("auth/login")
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, Landed)
    assert result.commit != tip
    assert world.view("auth", "reviews")["commit"] == tip
    rescues = [ref for ref in world.refs() if ref.startswith("refs/worker/rescue/")]
    assert [world.refs()[ref] for ref in rescues] == [tip]
    undo(world.session())
    assert world.states("auth", "login")[0] == "APPROVED"
    assert world.tip("auth/login") == tip
    (again,) = land(world.session(), ["auth"])
    assert isinstance(again, Landed)


def test_lines_beside_those_of_the_target(world: World) -> None:
    """Commits whose patch changes by the rebase land, too, and the approval covers them."""
    lines = [f"{number}\n" for number in range(8)]
    world.advance({"f": "".join(lines)})
    world.in_review("auth", "login", {"f": "".join([*lines[:6], "mine\n", lines[7]])})
    world.advance({"f": "".join(["theirs\n", *lines[1:]])})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, Landed)
    assert world.view("auth", "reviews")["commit"] == result.commit
    assert world.show("f").split()[::6] == ["theirs", "mine"]


def test_uncommitted_work_in_the_way(world: World) -> None:
    """Uncommitted work that the rebase would overwrite refuses the approval and stays."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    Repo(place).write({"README": "unfinished\n"})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, NotLanded)
    assert result.error.code == "would_overwrite"
    assert world.worker("auth").state == "IN_REVIEW"
    assert (place / "README").read_text() == "unfinished\n"


def test_uncommitted_work_beside(world: World) -> None:
    """Other uncommitted work does not stop the landing; a rescue ref keeps it."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    Repo(place).write({"README": "unfinished\n"})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, Landed)
    assert result.left_out is not None
    assert result.left_out.files == ("README",)
    assert world.show("README", result.left_out.kept_in) == "unfinished"


def test_a_target_that_cannot_follow(world: World) -> None:
    """Work in the way in the target's checkout leaves the approval, and the next try lands."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"b": "2\n"})
    tip = world.tip("auth/login")
    Repo(world.root).write({"README": "unfinished\n"})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, NotLanded)
    assert result.error.code == "would_overwrite"
    assert world.worker("auth").state == "APPROVED"
    assert world.tip("auth/login") == tip
    world.git("checkout", "-q", "README")
    assert isinstance(land(world.session(), ["auth"])[0], Landed)
    world.require_sound()


def test_approved_work_lands(world: World) -> None:
    """A worker that is approved already is not approved again."""
    world.approved("auth", "login", {"a": "1\n"})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, Landed)
    assert len(world.messages("review_result")) == 1


def test_a_later_commit_is_not_merged(world: World) -> None:
    """Work with a commit that was not handed in is neither approved nor merged."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.commit("auth", {"late": "1\n"})
    before = world.tip()
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, NotLanded)
    assert (result.error.code, result.error.status) == ("later_commits", 3)
    assert world.tip() == before
    assert world.worker("auth").state == "IN_REVIEW"


def test_a_conflict_goes_back(world: World) -> None:
    """Work that conflicts returns to its author, and the others land."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.in_review("docs", "guide", {"guide": "1\n"})
    world.advance({"README": "theirs\n"})
    results = land(world.session(), ["auth", "docs"])
    assert [type(one) for one in results] == [NotLanded, Landed]
    assert world.worker("auth").state == "WORKING"


def test_work_that_was_not_handed_in(world: World) -> None:
    """A worker that is still at work is reported."""
    world.working("auth", "login", {"a": "1\n"})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, NotLanded)
    assert result.error.code == "invalid_transition"


def test_own_work_is_refused_before_any_change(world: World) -> None:
    """A worker lands neither its own work nor the work named beside it."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.in_review("docs", "guide", {"guide": "1\n"})
    with unchanged(world, "not_allowed", Refused):
        land(world.session(identity="auth"), ["docs", "auth"])


def test_untrusted_commands_refuse_before_the_approval(world: World) -> None:
    """Without trust in the verify commands nothing is approved."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({".gitworker.toml": '[verify]\ncommands = ["true"]\n'})
    with unchanged(world, "untrusted", Refused):
        land(world.session(), ["auth"])


def test_a_failed_verification(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that fails the verify commands is approved first and then returns to its author."""
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", "test ! -e bad")
    world.in_review("auth", "login", {"bad": "1\n"})
    (result,) = land(world.session(), ["auth"])
    assert isinstance(result, NotLanded)
    assert result.error.code == "verify_failed"
    assert world.worker("auth").state == "WORKING"


def test_all(world: World) -> None:
    """`land --all` takes reviews and approved work; a refused worker is reported and stays."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.approved("docs", "guide", {"guide": "1\n"})
    world.in_review("late", "t3", {"late": "1\n"})
    world.commit("late", {"later": "1\n"})
    results = land(world.session(), [], everything=True)
    landed = {one.worker_id: isinstance(one, Landed) for one in results}
    assert landed == {"late": False, "auth": True, "docs": True}
    assert land(world.session(), [], everything=True)[0].worker_id == "late"


@pytest.mark.parametrize("keep", [True, False])
def test_keep(world: World, keep: bool) -> None:
    """`keep` leaves worktree and branch in their places."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    land(world.session(), ["auth"], keep=keep)
    assert place.exists() is keep
