"""A commit that git cannot check out is refused by every command that accepts work."""

import os
from contextlib import closing

import apsw
import pytest

from fixtures.hostile_trees import SHAPES, commit_tree, hostile_tree
from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.landing.merge import NotLanded
from gitworker.model.ids import TaskId, WorkerId
from gitworker.workers.adopt import AdoptRequest, adopt
from gitworker.workers.start import start
from tests.workers.world import World, unchanged

FEW = ("..", ".git", "empty", "below ..", "file and directory", "wrong order", "missing tree")


def plant(world: World, shape: str, branch: str = "auth/login") -> str:
    """Put a hostile commit on top of a branch by plumbing; return it."""
    repo, tip = Repo(world.root), world.tip(branch)
    bad = commit_tree(repo, hostile_tree(repo, shape), parent=tip)
    world.git("update-ref", f"refs/heads/{branch}", bad)
    return bad


@pytest.mark.parametrize("shape", FEW)
def test_done(world: World, shape: str) -> None:
    """`done` refuses it and names worker, commit and reason."""
    world.working("auth", "login", {"a": "1\n"})
    bad = plant(world, shape)
    with pytest.raises(Refused) as caught:
        world.submit("auth")
    assert caught.value.code == "unsafe_tree"
    assert "auth" in caught.value.message
    assert bad[:12] in caught.value.message
    assert world.worker("auth").state.value == "WORKING"


@pytest.mark.parametrize("shape", SHAPES)
def test_approve(world: World, shape: str) -> None:
    """`approve` refuses it, and the branch does not change."""
    world.in_review("auth", "login", {"a": "1\n"})
    bad = plant(world, shape)
    with pytest.raises(Refused) as caught:
        world.approve("auth")
    assert caught.value.code == "unsafe_tree"
    assert bad[:12] in caught.value.message
    assert world.tip("auth/login") == bad
    assert world.worker("auth").state.value == "IN_REVIEW"


@pytest.mark.parametrize("shape", FEW)
def test_merge_lands_the_others(world: World, shape: str) -> None:
    """A commit planted after the approval lands nowhere, and every other worker lands."""
    for worker, task in (("auth", "login"), ("ui", "form"), ("api", "rest")):
        world.approved(worker, task, {worker: "1\n"})
    bad = plant(world, shape)
    results = world.merge("auth", "ui", "api")
    assert [isinstance(one, NotLanded) for one in results] == [True, False, False]
    assert bad not in world.git("rev-list", "main")
    assert world.show("ui") == world.show("api") == "1"


@pytest.mark.parametrize("shape", FEW)
def test_an_approval_from_before(world: World, shape: str) -> None:
    """An approved commit that git cannot check out lands nowhere and blocks only its worker."""
    world.approved("auth", "login", {"a": "1\n"})
    world.approved("ui", "form", {"ui": "1\n"})
    bad = plant(world, shape)
    approve_by_hand(world, bad)
    results = world.merge("auth", "ui")
    assert [isinstance(one, NotLanded) for one in results] == [True, False]
    assert isinstance(results[0], NotLanded)
    assert results[0].error.code == "unsafe_tree"
    assert "auth" in results[0].error.message
    assert bad not in world.git("rev-list", "main")


def approve_by_hand(world: World, commit: str) -> None:
    """Make the newest approval one of this commit, as an older version could record it."""
    with closing(apsw.Connection(f"{world.state_dir}/bus.db")) as connection:
        connection.execute(
            "UPDATE reviews SET commit_oid = ?, patches = '[\"1\"]' WHERE worker_id = 'auth'"
            " AND verdict = 'approved'", (commit,),
        )  # fmt: skip


@pytest.mark.parametrize("shape", FEW)
def test_adopt(world: World, shape: str) -> None:
    """`adopt` refuses such a branch before anything is touched."""
    world.git("branch", "auth/login")
    plant(world, shape)
    with unchanged(world, code="unsafe_tree"):
        adopt(world.session(), AdoptRequest("auth/login", WorkerId("auth"), TaskId("login")))


@pytest.mark.parametrize("shape", ["..", "below .git", "missing tree"])
def test_the_parent_of_a_stack(world: World, shape: str) -> None:
    """A worker stacked on a branch that got such a commit is not replayed onto it."""
    world.approved("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth/login")
    world.commit("ui", {"ui": "1\n"})
    start(world.session(), "ui", pid=os.getpid())
    world.submit("ui")
    bad = plant(world, shape)
    with pytest.raises(Refused) as caught:
        world.approve("ui")
    assert caught.value.code == "unsafe_tree"
    assert bad[:12] in caught.value.message


@pytest.mark.parametrize("shape", FEW)
def test_a_start_from_it(world: World, shape: str) -> None:
    """`spawn --from` refuses such a branch with one message, by each of its names."""
    world.working("auth", "login", {"a": "1\n"})
    bad = plant(world, shape)
    refs = world.refs()
    for name in ("auth/login", "auth", "refs/heads/auth/login", bad):
        with pytest.raises(Refused) as caught:
            world.spawn("ui", "form", start=name)
        assert caught.value.code == "unsafe_tree"
        assert bad[:12] in caught.value.message
    assert world.refs() == refs
    assert len(os.listdir(world.root / "worktrees")) == len([".gitignore", "login"])
    assert world.spawn("ui", "form", start=f"{bad}^").base == world.tip(f"{bad}^")
