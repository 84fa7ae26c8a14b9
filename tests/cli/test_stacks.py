"""Stacks, adopted work and published branches on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import ok
from tests.conftest import git


def stacked(scene: Scene) -> Path:
    """A worker on top of another one; return its worktree."""
    scene.commit(scene.working("auth", "t1"), "one.txt")
    worktree = Path(ok(scene.root, "spawn", "ui", "t2", "--from", "auth"))
    ok(scene.root, "start", "ui", "--pid", str(scene.agent_pid))
    scene.commit(worktree, "two.txt")
    return worktree


def test_stack(scene: Scene) -> None:
    """status and show name the parent, diff shows the child's own commits only."""
    worktree = stacked(scene)
    assert "t2 on auth" in ok(scene.root, "status")
    shown = ok(scene.root, "show", "ui")
    assert "parent    " in shown
    assert "1 commit that would land" in shown
    document = json.loads(ok(scene.root, "show", "ui", "--json"))
    assert (document["parent"]["worker"], document["commits"]["own"]) == ("auth", 1)
    assert "one.txt" not in ok(scene.root, "diff", "ui")
    assert "auth/t1 is at" in ok(worktree, "sync")


def test_stack_lands_in_order(scene: Scene) -> None:
    """A child is refused before its parent, with the command that helps."""
    stacked(scene)
    for worker in ("auth", "ui"):
        ok(scene.root, "done", worker)
    answer = scene.run("approve", "ui")
    assert (answer.status, "hint: git worker approve auth ui" in answer.err) == (1, True)
    ok(scene.root, "approve", "auth", "ui")
    ok(scene.root, "merge", "--all")
    assert git(scene.root, "log", "-3", "--format=%s") == "Write two.txt\nWrite one.txt\nStart"


def test_withdrawn_parent(scene: Scene) -> None:
    """Approving a child whose parent was cancelled names the work that is missing."""
    stacked(scene)
    assert "ui is stacked on it and will land without it" in ok(scene.root, "cancel", "auth")
    ok(scene.root, "done", "ui")
    assert "without the commits of auth/t1, which was withdrawn" in ok(scene.root, "approve", "ui")


def test_take_parent(scene: Scene) -> None:
    """A child that takes its parent's commits is no longer stacked."""
    worktree = stacked(scene)
    ok(worktree, "sync", "--take-parent")
    assert json.loads(ok(scene.root, "show", "ui", "--json"))["parent"] is None
    assert scene.run("sync", "--take-parent", "--abort", cwd=worktree).status == 2


def test_adopt(scene: Scene) -> None:
    """adopt prints the worktree's path and reports the new name of the branch."""
    place = scene.root.parent / "by-hand"
    git(scene.root, "worktree", "add", "-q", "-b", "feature", str(place))
    refused = scene.run("adopt", "feature", "auth", "t1")
    assert (refused.status, "git worker adopt --rename feature auth t1" in refused.err) == (1, True)
    answer = scene.run("adopt", "--rename", str(place), "auth", "t1")
    assert answer.status == 0
    assert answer.out.strip() == str(place).replace(str(scene.root), "<root>")
    assert "renamed branch feature to auth/t1" in answer.err
    git(scene.root, "branch", "b/t2")
    document = json.loads(ok(scene.root, "adopt", "b/t2", "b", "t2", "--json"))
    assert (document["worker"], document["renamed_from"]) == ("b", None)


def test_adopt_and_back(scene: Scene) -> None:
    """An adoption can be undone until its worker has begun, which --start makes it do at once."""
    git(scene.root, "branch", "feature")
    ok(scene.root, "adopt", "--rename", "feature", "auth", "t1")
    assert "adopt" in ok(scene.root, "undo", "--list")
    assert json.loads(ok(scene.root, "undo", "--json"))["undone"] == "adopt"
    begun = ok(scene.root, "adopt", "--rename", "--start", "--json", "feature", "auth", "t1")
    assert json.loads(begun)["state"] == "WORKING"
    refused = scene.run("undo")
    assert (refused.status, "nothing to undo" in refused.err) == (4, True)


@pytest.fixture
def remote(scene: Scene) -> Path:
    """A bare remote of the repository."""
    place = scene.root.parent / "up.git"
    git(scene.root, "init", "-q", "--bare", str(place))
    git(scene.root, "remote", "add", "up", str(place))
    return place


def test_push(scene: Scene, remote: Path) -> None:
    """`done --push` submits and publishes, and reports both."""
    worktree = scene.working("auth", "t1")
    scene.commit(worktree, "one.txt")
    assert "published to up" in ok(worktree, "done", "--push")
    assert git(remote, "rev-parse", "auth/t1") == git(scene.root, "rev-parse", "auth/t1")


def test_failed_push(scene: Scene, remote: Path) -> None:
    """If the push fails, the work is submitted, the status is 1, and the reason is reported."""
    worktree = scene.working("auth", "t1")
    scene.commit(worktree, "one.txt")
    remote.rename(remote.with_name("elsewhere"))
    answer = scene.run("done", "--push", cwd=worktree)
    assert (answer.status, answer.out.startswith("auth is in review")) == (1, True)
    assert "handed in, but not published: up does not point to a repository" in answer.err
    ok(scene.root, "reject", "auth", "-m", "Again")
    document = json.loads(scene.run("done", "--push", "--json", "-m", "Yes", cwd=worktree).out)
    assert document["pushed_to"] is None
    assert document["push_error"]["code"] == "remote_not_found"


def test_push_to_nowhere(scene: Scene) -> None:
    """Without a remote nothing is submitted, and --remote alone is a usage error."""
    worktree = scene.working("auth", "t1")
    scene.commit(worktree, "one.txt")
    assert scene.run("done", "--push", cwd=worktree).status == 1
    assert scene.run("done", "--remote", "up", cwd=worktree).status == 2
    assert "WORKING" in ok(scene.root, "list")
