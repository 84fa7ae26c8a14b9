"""With `fleet.push_commits`, each commit is pushed in the background."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.fleet.push_commits import find_unpushed, push_commits
from tests.cli.kit import ok, run
from tests.fleet.test_hints import add_remote, join
from tests.store.machines import Machine
from tests.workers.world import World, wait_until

BRANCH = "refs/heads/auth/login"


@pytest.fixture
def remote(
    world: World, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The bare remote of a machine with a worker, whose hooks run."""
    monkeypatch.delenv("GITWORKER_HOOKS")
    world.session()
    made = add_remote(world, tmp_path)
    join(world, location)
    world.spawn("auth", "login")
    yield made
    Machine(world.state_dir).kill_link()


def pushed(world: World, remote: Path) -> str:
    """Return the commit of the worker's branch on the remote; empty without one."""
    return world.git("--git-dir", str(remote), "for-each-ref", "--format=%(objectname)", BRANCH)


def commit(world: World, name: str) -> str:
    """Commit a file as the worker, with the hooks; return the commit."""
    return world.commit("auth", {name: "x\n"})


def test_each_commit_is_pushed(world: World, remote: Path) -> None:
    """A commit is on the remote soon afterwards, also an amended one; without the setting none."""
    commit(world, "a")
    ok(world.root, "status")
    assert pushed(world, remote) == ""
    ok(world.root, "config", "fleet.push_commits", "true")
    tip = commit(world, "b")
    wait_until(lambda: pushed(world, remote) == tip)
    world.git("-C", str(world.path("auth")), "commit", "-q", "--amend", "-m", "Other words")
    tip = world.tip("auth/login")
    wait_until(lambda: pushed(world, remote) == tip)
    assert run(world.root, "fleet", "status", "--json").document["push_failure"] == ""


def test_a_push_that_is_not_possible(world: World, remote: Path) -> None:
    """It is shown by `fleet status` and `doctor` until a later push succeeds."""
    ok(world.root, "config", "fleet.push_commits", "true")
    away = remote.with_name("away.git")
    remote.rename(away)
    commit(world, "a")
    wait_until(lambda: run(world.root, "fleet", "status", "--json").document["push_failure"] != "")
    assert "commits are not pushed: " in ok(world.root, "fleet", "status")
    away.rename(remote)
    tip = commit(world, "b")
    wait_until(lambda: pushed(world, remote) == tip)
    wait_until(lambda: "commits are not" not in ok(world.root, "fleet", "status"))
    remote.rename(away)
    commit(world, "c")
    wait_until(lambda: "commits are not pushed" in run(world.root, "doctor").out)


def test_the_branch_has_a_remote_of_its_own(world: World, remote: Path) -> None:
    """With several remotes the branch goes to its own one, and no job is left over."""
    world.git("remote", "add", "other", str(remote.with_name("nowhere.git")))
    world.git("config", "branch.auth/login.remote", "origin")
    tip = commit(world, "a")
    session = world.session()
    push_commits(session)
    assert pushed(world, remote) == tip
    assert find_unpushed(session) == []
