"""approve: the mandatory rebase, the record, and the conflict that sends a worker back."""

import shutil

import pytest

from fixtures.repos import Repo
from gitworker.bus.drain import drain
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.journal.settle import settle
from gitworker.journal.undo.undo import undo
from gitworker.repo.history.patch_ids import patch_ids
from gitworker.states.engine import InvalidTransition
from tests.workers.world import World, kept, unchanged


def test_no_rebase_needed(world: World) -> None:
    """A branch that is based on the target is approved without a rebase."""
    world.in_review("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    done = world.approve("auth", note="fine")
    assert (done.commit, done.rebased_from, done.rescue_ref) == (tip, None, None)
    assert done.worker.review_state == "approved"
    assert world.tip("auth/login") == tip
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")


def test_rebase(world: World) -> None:
    """A branch that lags behind is rebased, its worktree follows, and the old tip is rescued."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    old = world.tip("auth/login")
    target = world.advance({"b": "2\n"})
    done = world.approve("auth")
    assert done.rebased_from == old
    assert world.tip("auth/login") == done.commit
    assert world.tip(f"{done.commit}~1") == target
    assert (place / "b").read_text() == "2\n"
    assert world.git("status", "--porcelain", cwd=place) == ""
    assert done.rescue_ref is not None
    assert world.refs()[done.rescue_ref] == old


def test_record(world: World) -> None:
    """The review keeps reviewer, identity, commit, base and the patches that were approved."""
    world.in_review("auth", "login", {"a": "1\n"})
    target = world.advance({"b": "2\n"})
    done = world.approve("auth", note="good")
    session = world.session()
    view = world.view("auth", "reviews")
    del view["at"]
    assert view == {
        "worker_id": "auth", "task_id": "login", "review_state": "approved",
        "verdict": "approved", "reviewer": "Ada Tester <ada@example.org>", "identity": "hq",
        "commit": done.commit, "base": target, "note": "good",
        "patches": list(patch_ids(session.git, session.git.require_oid(target), done.commit)),
    }  # fmt: skip
    (result,) = world.messages("review_result")
    assert (result["verdict"], result["commit"]) == ("approved", done.commit)


def test_own_rebase_is_no_news(world: World) -> None:
    """The commits that the rebase made are not reported as progress again."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.approve("auth")
    world.commit("auth", {"c": "3\n"}, "Later")
    drain(world.session())
    subjects = [progress["subject"] for progress in world.messages("task_progress")]
    assert subjects == ["Work", "Later"]


def test_conflict(world: World) -> None:
    """A rebase that conflicts moves nothing; the worker is WORKING and gets the list of files."""
    place = world.in_review("auth", "login", {"README": "mine\n", "a": "1\n"})
    world.advance({"README": "theirs\n"})
    refs, tree = world.refs(), world.git("status", "--porcelain", cwd=place)
    with pytest.raises(Conflict) as caught:
        world.approve("auth")
    assert (caught.value.status, caught.value.code) == (3, "rebase_conflict")
    assert "README" in caught.value.detail
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.refs() == refs
    assert world.git("status", "--porcelain", cwd=place) == tree
    (result,) = world.messages("review_result")
    assert (result["verdict"], result["subject"]) == ("conflict", "Work")
    assert result["files"] == ["README"]
    assert world.worker("auth").review_state == "changes_requested"


def test_other_changes_are_kept(world: World) -> None:
    """Uncommitted work that does not overlap survives the rebase: staged, unstaged, untracked."""
    place = world.in_review("auth", "login", {"a": "1\n", "c": "1\n"})
    world.advance({"b": "2\n"})
    Repo(place).write({"a": "staged\n", "c": "unstaged\n", "new": "untracked\n", "x.o": "ignored"})
    world.git("add", "a", cwd=place)
    before = world.git("status", "--porcelain", "--ignored", cwd=place)
    world.approve("auth")
    assert world.git("status", "--porcelain", "--ignored", cwd=place) == before
    assert (place / "b").read_text() == "2\n"
    assert (place / "c").read_text() == "unstaged\n"
    assert world.git("show", ":a", cwd=place) == "staged"


def test_overlapping_changes_refuse(world: World) -> None:
    """Uncommitted work in a file that the rebase would change refuses it, and stays in review."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    Repo(place).write({"README": "uncommitted\n"})
    refs = world.refs()
    with kept(world, "would_overwrite"):
        world.approve("auth")
    assert {name for name in world.refs() if "rescue" not in name} == set(refs)
    assert (place / "README").read_text() == "uncommitted\n"
    assert world.states("auth", "login")[0] == "IN_REVIEW"


def test_file_in_the_way_refuses(world: World) -> None:
    """An ignored file that the rebase would overwrite refuses it."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    Repo(world.root).write({"lib.o": "theirs"})
    world.git("add", "-f", "lib.o")
    world.git("commit", "-qm", "A library")
    Repo(place).write({"lib.o": "mine"})
    with kept(world, "would_overwrite"):
        world.approve("auth")
    assert (place / "lib.o").read_text() == "mine"


def test_open_rebase_refuses(world: World) -> None:
    """While the agent's own rebase is open its branch is not moved."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.commit("auth", {"README": "mine\n"})
    world.git("branch", "side", world.tip())
    Repo(world.root).git("worktree", "add", "-q", str(world.root.parent / "side"), "side")
    Repo(world.root.parent / "side").commit("Side", {"README": "side\n"})
    assert Repo(place).run("rebase", "side").returncode
    world.advance({"b": "2\n"})
    with kept(world, "operation_open"):
        world.approve("auth", at="auth/login")
    with pytest.raises(Refused) as caught:
        world.approve("auth", at="auth/login")
    assert caught.value.hint == f"cd {place} && git worker sync --continue   # or: --abort"
    assert (place / "README").read_text().startswith("<<<<<<<")


def test_foreign_index_lock(world: World) -> None:
    """Another program's index.lock is never removed: the approval is a conflict to retry."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    lock = world.root / ".git" / "worktrees" / place.name / "index.lock"
    lock.write_text("")
    with kept(world, "index_locked", Conflict):
        world.approve("auth")
    assert lock.read_text() == ""
    lock.unlink()
    world.approve("auth")


def test_worktree_removed_by_hand(world: World) -> None:
    """Without its worktree a branch is still rebased, approved and landed."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.git("worktree", "remove", "--force", "--force", str(place))
    done = world.approve("auth")
    assert world.tip("auth/login") == done.commit
    world.land("auth")
    assert world.show("a") == "1"


def test_worktree_moved_with_mv(world: World) -> None:
    """No branch moves under a worktree that git works in elsewhere, till it is repaired."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    elsewhere = world.root.parent / "elsewhere"
    place.rename(elsewhere)
    with unchanged(world, "worktree_missing"):
        world.approve("auth")
    assert world.git("status", "--porcelain", cwd=elsewhere) == ""
    world.git("worktree", "repair", str(elsewhere))
    settle(world.session())
    world.approve("auth")
    assert (elsewhere / "b").read_text() == "2\n"
    assert world.git("status", "--porcelain", cwd=elsewhere) == ""


@pytest.mark.parametrize("lagging", [False, True])
def test_worktree_deleted_with_rm(world: World, lagging: bool) -> None:
    """A worktree deleted with plain rm needs a command to git if its branch moves."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    if lagging:
        world.advance({"b": "2\n"})
    shutil.rmtree(place)
    if lagging:
        with unchanged(world, "worktree_missing"):
            world.approve("auth")
        world.git("worktree", "remove", "--force", "--force", str(place))
    world.approve("auth")
    world.land("auth")
    assert world.show("a") == "1"


def test_commits_that_came_after_done(world: World) -> None:
    """An approval with `at` counts the commits without a review request; a rebase adds none."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.commit("auth", {"late": "x\n"})
    world.advance({"b": "2\n"})
    assert world.approve("auth", at="auth/login").unrequested == 1
    undo(world.session())
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    assert world.approve("auth").unrequested == 0
    undo(world.session())
    world.git("rebase", "-q", "main", cwd=place)
    assert world.approve("auth").unrequested == 0


def test_the_submitted_commit_is_missing(world: World) -> None:
    """If the submitted commit no longer exists, that is a change as well."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.git("commit", "-q", "--amend", "-m", "Another", cwd=place)
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    with unchanged(world, "later_commits", Conflict):
        world.approve("auth")
    assert world.approve("auth", at="auth/login").unrequested == 1


def test_branch_in_the_main_checkout(world: World) -> None:
    """A branch that its user took into another checkout moves there with its files."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.git("worktree", "remove", "--force", "--force", str(place))
    world.git("switch", "-q", "auth/login")
    world.approve("auth")
    assert world.git("status", "--porcelain") == ""
    assert (world.root / "b").read_text() == "2\n"
    world.git("switch", "-q", "main")


def test_a_deleted_branch(world: World) -> None:
    """A branch that was deleted by hand is reported as deleted, and nothing changes."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    with unchanged(world, "not_found", NotFound) as caught:
        world.approve("auth")
    assert "branch auth/login does not exist" in caught.value.message


def test_not_in_review(world: World) -> None:
    """Work that was not submitted is not approved."""
    world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "invalid_transition", InvalidTransition):
        world.approve("auth")


def test_unknown_worker(world: World) -> None:
    """A name that means no worker is not found."""
    with unchanged(world, "not_found", NotFound):
        world.approve("unknown")


def test_merged_target_is_flattened(world: World) -> None:
    """A branch into which the target was merged comes out as one line of its own commits."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.git("merge", "-q", "--no-edit", "main", cwd=place)
    world.advance({"c": "3\n"})
    done = world.approve("auth")
    assert world.git("rev-list", "--merges", f"main..{done.commit}") == ""
    assert world.git("rev-list", "--count", f"main..{done.commit}") == "1"


def test_a_branch_that_was_reset(world: World) -> None:
    """A submission that was reset away is not approved as if it had landed."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    with unchanged(world, "nothing_left"):
        world.approve("auth")
    world.git("reset", "-q", "--hard", "ORIG_HEAD", cwd=place)
    world.approve("auth")
    world.land("auth")
    assert world.show("a") == "1"


def test_patches_that_the_target_has(world: World) -> None:
    """A branch whose patches are all in the target is approved."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "1\n"})
    world.git("cherry-pick", "auth/login")
    world.git("rebase", "-q", "main", cwd=place)
    world.approve("auth")
    world.land("auth")


def test_approve_twice(world: World) -> None:
    """An approval that holds is not recorded again."""
    world.approved("auth", "login", {"a": "1\n"})
    before = world.picture()
    assert world.approve("auth").commit == world.tip("auth/login")
    assert world.picture() == before


def test_approve_after_later_commits(world: World) -> None:
    """A branch that has moved since its approval is refused until it is handed in again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.commit("auth", {"a": "2\n"})
    with unchanged(world, "moved_on", Conflict) as caught:
        world.approve("auth")
    assert caught.value.hint == "git worker done auth"
