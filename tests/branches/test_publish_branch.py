"""done --push: a worker's branch on a remote, replaced only if it is ours."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.branches.publish_branch import PublishedBranch, choose_remote, publish_branch
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.model.ids import Oid
from gitworker.store.pushes import begin_push, published_tips
from tests.workers.damaging import PLACES
from tests.workers.world import World


def with_remote(world: World, name: str = "up") -> Repo:
    """Give the repository a bare remote and return that."""
    bare = Repo.make(world.root.parent / f"{name}.git", "--bare")
    world.git("remote", "add", name, str(bare.root))
    return bare


def publish(world: World, remote: str = "up") -> PublishedBranch:
    """Publish the worker's branch."""
    return publish_branch(world.session(), world.worker("auth"), remote)


def tips(world: World) -> list[Oid]:
    """Return the commit that a later push may replace."""
    with world.session().store.read() as reader:
        return published_tips(reader, "up", "auth/login")


def test_publish(world: World) -> None:
    """The branch is on the remote under its own name, and nothing else is."""
    bare = with_remote(world)
    world.working("auth", "login", {"a": "1\n"})
    world.git("tag", "-a", "v1", "-m", "v1", "auth/login")
    world.git("config", "push.followTags", "true")
    done = publish(world)
    assert done == ("up", "auth/login", world.tip("auth/login"))
    assert bare.git("for-each-ref", "--format=%(refname) %(objectname)") == (
        f"refs/heads/auth/login {done.commit}"
    )
    assert publish(world) == done
    assert tips(world) == [done.commit]


def test_rebased_branch_replaces_ours(world: World) -> None:
    """The push of a rebased branch replaces exactly the commit that we pushed."""
    bare = with_remote(world)
    place = world.working("auth", "login", {"a": "1\n"})
    publish(world)
    world.advance({"b": "2\n"})
    world.git("rebase", "-q", "main", cwd=place)
    publish(world)
    assert bare.head("auth/login") == world.tip("auth/login")


def theirs(world: World, bare: Repo) -> str:
    """Push onto the worker's branch by another user and return the commit."""
    other = world.root.parent / "other"
    world.git("clone", "-q", "-b", "auth/login", str(bare.root), str(other))
    tip = Repo(other).commit("Theirs", {"theirs": "t\n"})
    Repo(other).git("push", "-q")
    return tip


def test_commits_of_others_stay(world: World) -> None:
    """A foreign commit on that branch is never replaced; a branch that contains it is pushed."""
    bare = with_remote(world)
    place = world.working("auth", "login", {"a": "1\n"})
    publish(world)
    tip = theirs(world, bare)
    world.commit("auth", {"c": "3\n"}, "More")
    with pytest.raises(Conflict) as caught:
        publish(world)
    assert caught.value.code == "remote_has_others"
    assert bare.head("auth/login") == tip
    world.git("pull", "-q", "--rebase", "up", "auth/login", cwd=place)
    publish(world)
    assert bare.head("auth/login") == world.tip("auth/login")


def test_branch_that_was_pushed_by_hand(world: World) -> None:
    """A commit that the agent pushed itself is moved forward, and not replaced."""
    bare = with_remote(world)
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("push", "-q", "up", "auth/login", cwd=place)
    world.commit("auth", {"c": "3\n"}, "More")
    publish(world)
    assert bare.head("auth/login") == world.tip("auth/login")


def test_deleted_on_the_remote(world: World) -> None:
    """A branch that was deleted there, as after a pull request, is created again."""
    bare = with_remote(world)
    world.working("auth", "login", {"a": "1\n"})
    publish(world)
    bare.git("update-ref", "-d", "refs/heads/auth/login")
    world.commit("auth", {"c": "3\n"}, "More")
    publish(world)
    assert bare.head("auth/login") == world.tip("auth/login")


def test_push_without_an_answer(world: World) -> None:
    """A commit that a killed push may have left there may be replaced as well."""
    bare = with_remote(world)
    place = world.working("auth", "login", {"a": "1\n"})
    old = Oid(world.tip("auth/login"))
    with world.session().store.write() as writer:
        begin_push(writer, "up", "auth/login", oid=old, now=1)
        begin_push(writer, "up", "auth/login", oid=Oid("1" * 40), now=2)
    world.git("push", "-q", "up", "auth/login", cwd=place)
    world.git("commit", "-q", "--amend", "-m", "Amended", cwd=place)
    publish(world)
    assert bare.head("auth/login") == world.tip("auth/login")
    assert tips(world) == [world.tip("auth/login")]


def test_pre_push_hook_of_the_users(world: World) -> None:
    """The user's pre-push hook runs in the worker's worktree and may decline."""
    with_remote(world)
    said = world.root.parent / "said"
    hook = world.root / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\npwd >{said}\nexit 1\n")
    hook.chmod(0o755)
    place = world.working("auth", "login", {"a": "1\n"})
    with pytest.raises(GitWorkerError) as caught:
        publish(world)
    assert caught.value.code == "pre_push_declined"
    assert Path(said.read_text().strip()) == place


def test_a_remote_that_takes_no_pushes(world: World) -> None:
    """A bundle takes no pushes: the message names that beside the user's hook."""
    bundle = world.root.parent / "up.bundle"
    world.git("bundle", "create", "-q", str(bundle), "main")
    world.git("remote", "add", "up", str(bundle))
    world.working("auth", "login", {"a": "1\n"})
    with pytest.raises(GitWorkerError, match="or up takes no pushes"):
        publish(world)


def test_relative_address(world: World) -> None:
    """A relative address begins at the main checkout, wherever the worktree is."""
    bare = with_remote(world)
    world.git("remote", "set-url", "up", "../up.git")
    world.working("auth", "login", {"a": "1\n"})
    publish(world)
    assert bare.head("auth/login") == world.tip("auth/login")


def test_which_remote(world: World) -> None:
    """The named remote, else the one for landings, else the branch's own, else the only one."""
    world.spawn("auth", "login")
    with pytest.raises(Refused) as caught:
        choose_remote(world.session(), world.worker("auth"))
    assert caught.value.code == "no_remote"
    with_remote(world, "one")
    assert choose_remote(world.session(), world.worker("auth")) == "one"
    for name in ("two", "three"):
        with_remote(world, name)
    with pytest.raises(Refused) as caught:
        choose_remote(world.session(), world.worker("auth"))
    assert "one, three, two" in caught.value.message
    world.git("config", "branch.auth/login.remote", "three")
    assert choose_remote(world.session(), world.worker("auth")) == "three"
    world.git("config", "worker.merge.remote", "two")
    assert choose_remote(world.session(), world.worker("auth")) == "two"
    assert choose_remote(world.session(), world.worker("auth"), "one") == "one"
    with pytest.raises(Refused):
        choose_remote(world.session(), world.worker("auth"), "none")


@pytest.mark.parametrize("state", PLACES)
def test_publish_from_a_damaged_worktree(world: World, state: str) -> None:
    """A pre-push hook never runs in a directory that is not the worker's; the branch is pushed."""
    bare = with_remote(world)
    world.working("bob", "form", {"b": "1\n"})
    place = world.working("auth", "login", {"a": "1\n"})
    PLACES[state](world, place)
    seen = world.root.parent / "seen"
    hook = world.root / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\npwd -P >{seen}\n")
    hook.chmod(0o755)
    commit = publish(world).commit
    assert bare.head("auth/login") == commit
    assert seen.read_text().strip() == str(world.root)
