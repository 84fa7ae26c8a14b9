"""approve: only the commits that were handed in, or up to the commit that --at names."""

import os
from contextlib import closing

import apsw
import pytest

from gitworker.errors import Conflict, Invalid
from gitworker.journal.undo.undo import undo
from gitworker.observe.next_step.unsubmitted import read_unsubmitted
from gitworker.workers.approve import NotApproved, approve_all, waiting_workers
from gitworker.workers.start import start
from tests.hints.test_race_hints import put_git
from tests.workers.world import World, unchanged


def test_a_later_commit_is_refused(world: World) -> None:
    """Commits made after `done` are named, and the branch stays in review."""
    world.in_review("auth", "login", {"a": "1\n"})
    first = world.commit("auth", {"late": "x\n"}, "Late work")
    second = world.commit("auth", {"later": "x\n"}, "Later work")
    with unchanged(world, "later_commits", Conflict) as caught:
        world.approve("auth")
    assert caught.value.status == 3
    assert caught.value.detail.splitlines() == [
        f"  {first[:7]} Late work",
        f"  {second[:7]} Later work",
    ]
    assert f"git worker approve auth --at {second[:12]}" in (caught.value.hint or "")


def test_at_the_tip_settles_it(world: World) -> None:
    """--at with the newest commit approves all commits of the branch, and they land."""
    world.in_review("auth", "login", {"a": "1\n"})
    tip = world.commit("auth", {"late": "x\n"})
    assert world.approve("auth", at=tip[:9]).commit == tip
    world.land("auth")
    assert world.show("late") == "x"


def test_at_an_earlier_commit(world: World) -> None:
    """--at with an older commit is refused: the branch would keep the later ones."""
    world.in_review("auth", "login", {"a": "1\n"})
    first = world.tip("auth/login")
    late = world.commit("auth", {"late": "x\n"}, "Late work")
    with unchanged(world, "not_the_tip", Conflict) as caught:
        world.approve("auth", at=first)
    assert caught.value.detail == f"  {late[:7]} Late work"


def test_at_after_the_approval(world: World) -> None:
    """--at repeats the approval of the same commit, also as it was before, and of no other one."""
    world.in_review("auth", "login", {"a": "1\n"})
    before = world.tip("auth/login")
    world.advance({"b": "1\n"})
    world.approve("auth", at=before)
    assert world.tip("auth/login") != before
    for same in (before, "auth/login"):
        assert world.approve("auth", at=same).commit == world.tip("auth/login")
    with unchanged(world, "approved_at_another", Conflict):
        world.approve("auth", at="main")


def test_at_a_foreign_commit(world: World) -> None:
    """--at with a commit that is not the branch's own is wrong usage."""
    world.in_review("auth", "login", {"a": "1\n"})
    with unchanged(world, "not_on_branch", Invalid):
        world.approve("auth", at="main")


def test_a_commit_while_the_branch_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch that is named with --at and moves meanwhile is not called another branch."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    script = (
        f'case " $* " in *" auth/login^{{commit}} "*)'
        f" $git -C {place} commit -q --allow-empty -m Late;; esac"
    )
    monkeypatch.setenv("PATH", put_git(world, script)["PATH"])
    approved = world.drive("approve", "auth", "auth/login")
    assert approved.returncode == 0, approved.stderr
    assert world.git("log", "-1", "--format=%s", "auth/login") == "Late"


@pytest.mark.parametrize("change", ["--amend -q -m Other", "--amend -q --no-edit --author=E<e@x>"])
def test_an_amended_commit_is_a_later_one(world: World, change: str) -> None:
    """Another message or author was not handed in."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.git("commit", *change.split(" "), cwd=place)
    with unchanged(world, "later_commits", Conflict):
        world.approve("auth")
    trouble = read_unsubmitted(world.session(), world.worker("auth"))
    assert trouble is not None
    assert (trouble.code, trouble.command) == ("not_handed_in", "git worker done auth")
    assert "message of a commit of auth/login has changed since the hand-in" in trouble.words
    world.submit("auth")
    assert read_unsubmitted(world.session(), world.worker("auth")) is None
    world.approve("auth")


def test_a_rebase_of_the_author_is_no_other_text(world: World) -> None:
    """Screens report nothing about a branch that its author has only rebased."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")
    world.advance({"c": "1\n"})
    world.git("rebase", "-q", "main", cwd=place)
    assert read_unsubmitted(world.session(), world.worker("auth")) is None


def test_a_missing_commit(world: World) -> None:
    """A branch that lost one of several handed-in commits is refused as well."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    with unchanged(world, "later_commits", Conflict) as caught:
        world.approve("auth")
    assert "are not the ones that were handed in" in caught.value.message
    world.approve("auth", at="auth/login")


def test_a_rebase_is_no_later_commit(world: World) -> None:
    """The author's own rebase needs no new `done`, even if it drops a commit that has landed."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")
    world.git("cherry-pick", "auth/login~1")
    world.advance({"c": "1\n"})
    world.git("rebase", "-q", "main", cwd=place)
    assert world.approve("auth").unrequested == 0
    world.land("auth")


def test_a_withdrawn_approval_was_looked_at(world: World) -> None:
    """Commits that --at approved count as seen in the next approval; a further one does not."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.commit("auth", {"late": "x\n"})
    world.advance({"other": "1\n"})
    world.approve("auth", at="auth/login")
    world.commit("auth", {"later": "x\n"}, "Third")
    world.merge("auth")
    assert world.worker("auth").state == "IN_REVIEW"
    with pytest.raises(Conflict) as caught:
        world.approve("auth")
    assert [line.split()[1] for line in caught.value.detail.splitlines()] == ["Third"]
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=world.path("auth"))
    world.approve("auth")


def test_undo_keeps_the_rule(world: World) -> None:
    """After the undo of an approval the handed-in commit is approved again without --at."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "1\n"})
    world.approve("auth")
    undo(world.session())
    assert world.approve("auth").unrequested == 0


def test_a_stacked_branch(world: World) -> None:
    """Only the child's own commits count as later ones, and the parent's rebase does not."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth/login")
    start(world.session(), "ui", pid=os.getpid())
    world.commit("ui", {"ui": "1\n"})
    world.submit("ui")
    world.advance({"b": "1\n"})
    world.approve("auth")
    world.approve("ui")
    undo(world.session())
    late = world.commit("ui", {"late": "1\n"}, "Late")
    with pytest.raises(Conflict) as caught:
        world.approve("ui")
    assert caught.value.detail == f"  {late[:7]} Late"


def test_without_a_recorded_request(world: World) -> None:
    """Work whose request is not on record is approved as it is."""
    world.in_review("auth", "login", {"a": "1\n"})
    with closing(apsw.Connection(f"{world.state_dir}/bus.db")) as connection:
        connection.execute("DELETE FROM reviews")
    world.commit("auth", {"late": "x\n"})
    assert world.approve("auth").unrequested == 0


def test_all_that_wait(world: World) -> None:
    """`--all` takes every worker that waits for review, parents first; a refusal stops no other."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth/login")
    start(world.session(), "ui", pid=os.getpid())
    world.commit("ui", {"ui": "1\n"})
    world.submit("ui")
    world.in_review("late", "t3", {"late": "1\n"})
    world.commit("late", {"later": "1\n"})
    world.working("busy", "t4", {"d": "1\n"})
    session = world.session()
    assert waiting_workers(session) == ["auth", "ui", "late"]
    results = approve_all(session, waiting_workers(session))
    assert [isinstance(one, NotApproved) for one in results] == [False, False, True]
    assert waiting_workers(session) == ["late"]
