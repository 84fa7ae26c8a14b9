"""A landing on a remote is pushed first, by compare-and-set, and never lost on the way."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict, GitWorkerError
from gitworker.landing.merge import Landed, NotLanded
from gitworker.progress import Event, Notice
from tests.workers.world import World


@pytest.fixture
def remote(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Return the bare repository that landings are pushed to."""
    monkeypatch.setenv("GITWORKER_MERGE_REMOTE", "origin")
    bare = tmp_path / "bare.git"
    Repo(tmp_path).git("clone", "-q", "--bare", str(world.root), str(bare))
    world.git("remote", "add", "origin", str(bare))
    world.git("fetch", "-q", "origin")
    return Repo(bare)


def tip(repo: Repo) -> str:
    """Return the target's commit in a repository."""
    return repo.git("rev-parse", "main")


def push_from_elsewhere(remote: Repo, folder: Path) -> str:
    """Push a commit from another clone; return it."""
    Repo(folder.parent).git("clone", "-q", str(remote.root), str(folder))
    oid = Repo(folder).commit("Theirs", {"theirs": "1\n"})
    Repo(folder).git("push", "-q", "origin", "HEAD:main")
    return oid


def hook(remote: Repo, text: str) -> None:
    """Give the remote a pre-receive hook."""
    path = remote.root / "hooks" / "pre-receive"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def code(results: list[Landed | NotLanded]) -> str:
    """Return the error code of the one worker that did not land."""
    (result,) = results
    assert isinstance(result, NotLanded)
    return result.error.code


def test_the_remote_has_the_landed_commit(world: World, remote: Repo) -> None:
    """The push sends exactly the landed commit, and the journal is closed."""
    world.approved("auth", "t1", {"new": "1\n"})
    landed = world.land("auth")
    assert tip(remote) == world.tip() == landed.commit == world.tip("origin/main")
    assert world.query("SELECT status FROM operations WHERE kind = 'merge'") == [("done",)]
    world.require_sound()


def test_behind_the_remote(world: World, remote: Repo, tmp_path: Path) -> None:
    """Commits that others pushed are fetched first, and the local target follows."""
    world.approved("auth", "t1", {"new": "1\n"})
    theirs = push_from_elsewhere(remote, tmp_path / "clone")
    landed = world.land("auth")
    assert world.tip("main~1") == theirs
    assert tip(remote) == landed.commit
    assert (world.root / "theirs").read_text() == "1\n"


def test_another_push_is_faster(world: World, remote: Repo, tmp_path: Path) -> None:
    """A push that is too late is rebuilt on top of the commits of the others."""
    world.approved("auth", "t1", {"new": "1\n"})
    clone = tmp_path / "clone"
    Repo(tmp_path).git("clone", "-q", str(remote.root), str(clone))
    theirs = Repo(clone).commit("Theirs", {"theirs": "1\n"})
    once = tmp_path / "once"
    hook(
        remote,
        f"test -e {once} && exit 0; touch {once};"
        f' env -i PATH="$PATH" git -C {clone} push -q origin HEAD:main',
    )
    events: list[Event] = []
    (result,) = world.merge("auth", report=events.append)
    assert isinstance(result, Landed)
    assert world.tip("main~1") == theirs
    assert tip(remote) == result.commit
    assert any(
        "moved since it was fetched" in one.text for one in events if isinstance(one, Notice)
    )


def test_a_hook_declines(world: World, remote: Repo) -> None:
    """A remote that declines leaves everything as it was, and the worker APPROVED."""
    world.approved("auth", "t1", {"new": "1\n"})
    before = (world.tip(), tip(remote))
    hook(remote, "echo 'no landing on Saturdays' >&2; exit 1")
    results = world.merge("auth")
    assert code(results) == "remote_hook_declined"
    assert "no landing on Saturdays" in results[0].error.detail  # type: ignore[union-attr]
    assert (world.tip(), tip(remote)) == before
    assert world.states("auth", "t1")[0] == "APPROVED"
    assert world.query("SELECT 1 FROM operations WHERE status = 'open'") == []
    hook(remote, "exit 0")
    world.land("auth")


def test_an_unreachable_remote(world: World, remote: Repo) -> None:
    """A remote that cannot be reached stops the landing before any change."""
    world.approved("auth", "t1", {"new": "1\n"})
    remote.root.rename(remote.root.with_suffix(".away"))
    with pytest.raises(GitWorkerError) as caught:
        world.merge("auth")
    assert caught.value.code == "remote_not_found"
    assert world.states("auth", "t1")[0] == "APPROVED"
    assert world.query("SELECT 1 FROM operations WHERE status = 'open'") == []


def test_a_target_ahead_of_the_remote(world: World, remote: Repo) -> None:
    """Commits made only on the local target are not pushed, and the error names the remedy."""
    world.approved("auth", "t1", {"new": "1\n"})
    world.advance({"own": "1\n"})
    before = tip(remote)
    with pytest.raises(GitWorkerError) as caught:
        world.merge("auth")
    assert caught.value.code == "target_ahead"
    assert tip(remote) == before
    assert world.states("auth", "t1")[0] == "APPROVED"


def test_in_the_users_way(world: World, remote: Repo) -> None:
    """Nothing is pushed if the user's checkout could not follow."""
    world.approved("auth", "t1", {"README": "theirs\n"})
    (world.root / "README").write_text("the user's\n")
    before = tip(remote)
    assert code(world.merge("auth")) == "would_overwrite"
    assert tip(remote) == before
    assert (world.root / "README").read_text() == "the user's\n"


@pytest.mark.parametrize("point", ["merge.pushing", "merge.pushed", "merge.forwarded"])
def test_killed_around_the_push(world: World, remote: Repo, point: str) -> None:
    """Killed before, right after, or long after the push: the next merge ends it, once."""
    world.approved("auth", "t1", {"new": "1\n"})
    world.approved("docs", "t2", {"other": "1\n"})
    died = world.drive("merge", "auth", "docs", GITWORKER_CRASH_AT=point)
    assert died.returncode == -9
    world.merge(everything=True)
    assert tip(remote) == world.tip()
    assert world.git("rev-list", "--count", "main") == "3"
    assert world.states("auth", "t1") == ("COMPLETED", "COMPLETED")
    assert world.states("docs", "t2") == ("COMPLETED", "COMPLETED")
    assert world.query("SELECT 1 FROM operations WHERE status = 'open'") == []
    world.require_sound()


def test_no_guess_whether_a_push_arrived(world: World, remote: Repo) -> None:
    """Until the remote answers, an interrupted push blocks its worker."""
    world.approved("auth", "t1", {"new": "1\n"})
    world.drive("merge", "auth", GITWORKER_CRASH_AT="merge.pushed")
    assert tip(remote) != world.tip()
    with pytest.raises(Conflict, match="interrupted"):
        world.approve("auth")
    world.merge(everything=True)
    assert tip(remote) == world.tip()
