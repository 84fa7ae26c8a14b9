"""merge: approved work reaches the target by replay and fast-forward, and only as approved."""

from fixtures.repos import Repo
from gitworker.bus.drain import drain
from gitworker.errors import NotFound
from gitworker.fsck.fsck import run_fsck
from gitworker.landing.merge import Landed, NotLanded
from gitworker.lifecycle.moves import advance
from gitworker.model.worker import WorkerEvent
from tests.cli.kit import ok
from tests.workers.world import World, unchanged


def test_land(world: World) -> None:
    """A landed worker is COMPLETED, its commit is the target's tip, and it is cleaned up."""
    place = world.approved("auth", "login", {"a": "1\n"})
    before = world.tip()
    done = world.land("auth")
    assert world.tip() == done.commit
    assert world.tip("main~1") == before
    assert (done.kept, done.kept_why) == (None, None)
    assert world.states("auth", "login") == ("COMPLETED", "COMPLETED")
    assert (world.root / "a").read_text() == "1\n"
    assert world.git("status", "--porcelain") == ""
    assert not place.exists()
    assert world.worktrees() == []
    assert "refs/heads/auth/login" not in world.refs()
    assert world.worker("auth").worktree is None
    assert world.query("SELECT * FROM task_claims") == []


def test_landing_is_recorded(world: World) -> None:
    """A landing is recorded as a row with the old and the new commit of the target."""
    world.approved("auth", "login", {"a": "1\n"})
    before = world.tip()
    done = world.land("auth")
    row = "SELECT worker_id, task_id, branch, target_ref, target_old, target_new FROM landings"
    assert world.query(row) == [
        ("auth", "login", "auth/login", "refs/heads/main", before, done.commit)
    ]
    assert world.messages("x-target-moved") == []


def test_target_moved_after_the_approval(world: World) -> None:
    """A target that moved after the approval is noticed, reported and replayed onto."""
    world.approved("auth", "login", {"a": "1\n"})
    drain(world.session())
    seen = world.tip()
    moved = world.advance({"b": "2\n"})
    done = world.land("auth")
    assert world.tip("main~1") == moved
    assert world.show("a", done.commit) == "1"
    assert world.messages("x-target-moved") == [
        {"ref": "refs/heads/main", "from": seen, "to": moved}
    ]


def test_later_commit_withdraws_the_approval(world: World) -> None:
    """A commit after the approval was not reviewed: the worker is IN_REVIEW again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.commit("auth", {"late": "x\n"})
    refs = world.refs()
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert (result.error.code, result.error.status) == ("approval_withdrawn", 3)
    assert world.states("auth", "login") == ("IN_REVIEW", "AWAITING_APPROVAL")
    assert world.refs() == refs
    assert world.messages("review_result")[-1]["verdict"] == "withdrawn"
    assert world.worker("auth").review_state == "pending"
    world.approve("auth", at="auth/login")
    world.land("auth")
    assert world.show("late") == "x"


def test_dropped_commit_withdraws_the_approval(world: World) -> None:
    """A branch that lost an approved commit loses its approval."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "2\n"}, "The fix")
    world.submit("auth")
    world.approve("auth")
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert result.error.code == "approval_withdrawn"
    for words in (("show", "auth"), ("inbox",)):
        assert "the approval is withdrawn: " in ok(world.root, *words)
    world.approve("auth", at=world.tip("auth/login"))
    assert "the approval is withdrawn: " not in ok(world.root, "show", "auth")


def test_white_space_withdraws_the_approval(world: World) -> None:
    """A patch that differs in white space alone is another patch."""
    place = world.approved("auth", "login", {"src/app.py": "if x:\n    a()\n    b()\n"})
    Repo(place).write({"src/app.py": "if x:\n    a()\nb()\n"})
    world.git("commit", "-q", "-a", "--amend", "--no-edit", cwd=place)
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert result.error.code == "approval_withdrawn"


def test_an_amended_commit_is_kept(world: World) -> None:
    """A commit that only the worktree's reflog holds gets a rescue ref before the removal."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("commit", "-q", "--amend", "-m", "Better words", cwd=place)
    dropped = world.commit("auth", {"b": "2\n"}, "Dropped")
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    kept = world.git("for-each-ref", "--format=%(refname)", "refs/worker/rescue/auth/login")
    assert kept == "refs/worker/rescue/auth/login/1"
    assert dropped in world.git("rev-list", kept).split()
    assert len(world.git("rev-list", kept, "^main").split()) == 3  # one joins both
    assert run_fsck(world.session()).findings == ()


def test_own_rebase_after_approval_still_lands(world: World) -> None:
    """An agent that rebased its approved branch itself, patches unchanged, still lands."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.git("rebase", "-q", "main", cwd=place)
    world.land("auth")
    assert world.show("a") == "1"


def test_patch_that_is_upstream_already(world: World) -> None:
    """A patch that the target has by now is dropped, and the rest lands under the approval."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "2\n"}, "Second")
    world.submit("auth")
    world.approve("auth")
    world.advance({"c": "3\n"})
    world.git("cherry-pick", world.tip("auth/login~1"))
    picked = world.tip()
    world.land("auth")
    assert world.tip("main~1") == picked
    assert world.git("log", "--format=%s", f"{picked}..main") == "Second"
    assert not place.exists()


def test_upstream_patch_dropped_by_the_agent(world: World) -> None:
    """An agent's own rebase that drops patches of the target does not withdraw the approval."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "2\n"}, "Second")
    world.submit("auth")
    world.approve("auth")
    world.advance({"c": "3\n"})
    world.git("cherry-pick", world.tip("auth/login~1"))
    world.git("rebase", "-q", "main", cwd=place)
    world.land("auth")
    assert world.show("b") == "2"


def test_all_of_it_is_upstream(world: World) -> None:
    """If the target already has every patch, the landing is recorded and no ref moves."""
    world.approved("auth", "login", {"a": "1\n"})
    world.advance({"c": "3\n"})
    world.git("cherry-pick", world.tip("auth/login"))
    tip = world.tip()
    assert world.land("auth").commit == tip == world.tip()
    assert world.worker("auth").state == "COMPLETED"


def test_conflict(world: World) -> None:
    """A conflict at the landing returns the worker to WORKING, and no ref moves."""
    world.approved("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    refs = world.refs()
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert (result.error.code, result.error.status) == ("rebase_conflict", 3)
    assert world.refs() == refs
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")


def test_everything(world: World) -> None:
    """With everything all approved workers land, the oldest approval first; others stay."""
    for number, name in enumerate(("zoe", "bob", "amy")):
        world.approved(name, f"t{number}", {name: "1\n"})
    world.in_review("eve", "t9", {"eve": "1\n"})
    results = world.merge(everything=True)
    assert [result.worker_id for result in results if isinstance(result, Landed)] == [
        "zoe", "bob", "amy",
    ]  # fmt: skip
    assert world.worker("eve").state == "IN_REVIEW"


def test_one_that_fails_stops_no_other(world: World) -> None:
    """A worker that cannot land is reported and the others land all the same."""
    world.approved("auth", "login", {"README": "mine\n"})
    world.approved("docs", "words", {"docs": "1\n"})
    world.advance({"README": "theirs\n"})
    first, second = world.merge("auth", "docs")
    assert isinstance(first, NotLanded)
    assert isinstance(second, Landed)


def test_not_approved(world: World) -> None:
    """Work without an approval does not land."""
    world.in_review("auth", "login", {"a": "1\n"})
    with unchanged(world):
        world.land("auth")


def test_unknown_worker(world: World) -> None:
    """An unknown name stops the whole command before anything lands."""
    world.approved("auth", "login", {"a": "1\n"})
    with unchanged(world, "not_found", NotFound):
        world.merge("auth", "unknown")


def test_approval_without_a_record(world: World) -> None:
    """An APPROVED worker without a recorded verdict cannot land."""
    world.in_review("auth", "login", {"a": "1\n"})
    with world.session().store.write() as writer:
        advance(writer, world.worker("auth"), WorkerEvent.APPROVE, actor="hq")
    with unchanged(world) as caught:
        world.land("auth")
    assert "no approval on record" in caught.value.message


def test_branch_deleted(world: World) -> None:
    """An approved branch that was deleted by hand is reported as missing."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    with unchanged(world, "not_found", NotFound):
        world.land("auth")


def test_without_required_review(world: World) -> None:
    """If no review is required, the verification completes the task."""
    world.git("config", "worker.review.required", "false")
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    assert world.states("auth", "login") == ("COMPLETED", "COMPLETED")
