"""The target moves correctly in the main checkout, in another worktree, or without a checkout."""

import json
import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.landing.merge import Landed, merge
from gitworker.review.comments.send import reject
from gitworker.workers.approve import approve
from gitworker.workers.spawn import SpawnRequest, spawn
from tests.cli.kit import ok
from tests.hints.following import Printed, follow, note
from tests.workers.world import World


def refuse(world: World, code: str) -> str:
    """Expect that `auth` does not land, and that no ref, file or state changes; return the hint."""
    target, status = world.tip(), world.git("status", "--porcelain", "--ignored")
    with pytest.raises(Refused) as caught:
        world.land("auth")
    assert caught.value.code == code
    assert world.tip() == target
    assert world.git("status", "--porcelain", "--ignored") == status
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []
    return caught.value.hint or ""


def test_dirty_overlap(world: World) -> None:
    """Uncommitted work of the user's in a file that lands refuses the landing; later it lands."""
    world.approved("auth", "login", {"README": "mine\n"})
    Repo(world.root).write({"README": "the user's\n"})
    refuse(world, "would_overwrite")
    assert (world.root / "README").read_text() == "the user's\n"
    world.git("stash", "-q")
    world.land("auth")
    assert world.show("README") == "mine"


def test_the_file_in_the_way_is_named_until_it_lands(world: World) -> None:
    """All screens name it beside the next command, it is recorded once, and a new round ends it."""
    world.approved("auth", "login", {"README": "mine\n"})
    Repo(world.root).write({"README": "the user's\n"})
    refuse(world, "would_overwrite")
    refuse(world, "would_overwrite")
    why = "its last landing was refused: your uncommitted changes in"
    for screen in ("status", "inbox", "show auth"):
        said = ok(world.root, *screen.split())
        assert why in said, screen
        assert "main: README" in said, screen
        assert "git worker merge auth" in said, screen
    count = "SELECT COUNT(*) FROM messages WHERE payload LIKE '%landing_refused%'"
    assert world.query(count) == [(1,)]
    own = json.loads(ok(world.root, "--as", "auth", "show", "auth", "--json"))
    assert own["next"] == "git worker wait auth --for landed"
    reject(world.session(), "auth", note="More")
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")
    world.approve("auth")
    assert why not in ok(world.root, "status")
    refuse(world, "would_overwrite")
    assert why in ok(world.root, "status")
    world.git("checkout", "-q", "README")
    command = "git worker merge auth"
    assert follow(Printed([command], str(world.root)), command) is None
    note(command, "")
    assert world.show("README") == "mine"


def test_refused_after_the_branch_was_replayed(world: World) -> None:
    """A landing refused after its replay lands under the same approval once the way is free."""
    world.approved("auth", "login", {"README": "mine\n"})
    world.advance({"b": "2\n"})
    Repo(world.root).write({"README": "the user's\n"})
    refuse(world, "would_overwrite")
    world.git("checkout", "-q", "README")
    world.land("auth")
    assert world.show("README") == "mine"


def test_untracked_in_the_way(world: World) -> None:
    """An untracked file of the user is never overwritten."""
    world.approved("auth", "login", {"a": "1\n"})
    Repo(world.root).write({"a": "the user's\n"})
    refuse(world, "would_overwrite")
    assert (world.root / "a").read_text() == "the user's\n"


def test_ignored_in_the_way(world: World) -> None:
    """An ignored file is not overwritten either, though git itself would do so."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"lib.o": "tracked"})
    world.git("add", "-f", "lib.o", cwd=place)
    world.git("commit", "-qm", "A library", cwd=place)
    world.submit("auth")
    world.approve("auth")
    Repo(world.root).write({"lib.o": "the user's"})
    refuse(world, "would_overwrite")
    assert (world.root / "lib.o").read_text() == "the user's"


def test_other_changes_are_kept(world: World) -> None:
    """Work of the user's in other files stays: staged, unstaged, untracked, ignored."""
    world.approved("auth", "login", {"a": "1\n"})
    Repo(world.root).write(
        {"README": "unstaged\n", "src/app.py": "staged\n", "new": "untracked\n", "x.o": "ignored"}
    )
    world.git("add", "src/app.py")
    before = world.git("status", "--porcelain", "--ignored")
    world.land("auth")
    after = world.git("status", "--porcelain", "--ignored")
    assert set(before.splitlines()) == set(after.splitlines())
    assert (world.root / "README").read_text() == "unstaged\n"
    assert (world.root / "a").read_text() == "1\n"


def test_settings_that_would_do_something_else(world: World) -> None:
    """Settings of the user's that would stash or squash are not obeyed by a landing."""
    world.git("config", "merge.autoStash", "true")
    world.git("config", "branch.main.mergeOptions", "--squash")
    world.git("config", "merge.ff", "false")
    world.approved("auth", "login", {"a": "1\n"})
    assert world.land("auth").commit == world.tip()
    assert world.git("stash", "list") == ""


def test_merge_in_progress(world: World) -> None:
    """Nothing lands while the target's checkout has an open merge of the user."""
    world.approved("auth", "login", {"a": "1\n"})
    world.git("branch", "side")
    world.git("worktree", "add", "-q", str(world.root.parent / "side"), "side")
    Repo(world.root.parent / "side").commit("Side", {"README": "side\n"})
    world.advance({"README": "main\n"})
    assert Repo(world.root).run("merge", "side").returncode
    assert "merge --continue" in refuse(world, "operation_open")
    world.git("merge", "--abort")
    world.land("auth")


def test_detached_head(world: World) -> None:
    """If the main checkout is on no branch, the target moves and the checkout does not."""
    world.approved("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach")
    stood = world.tip("HEAD")
    world.land("auth")
    assert world.tip("HEAD") == stood
    assert world.show("a") == "1"
    assert world.git("status", "--porcelain") == ""


def test_checked_out_in_another_worktree(world: World) -> None:
    """A target that is checked out in a linked worktree moves there with its files."""
    other = world.root.parent / "other"
    world.git("switch", "-q", "-c", "desk")
    world.git("worktree", "add", "-q", str(other), "main")
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    assert (other / "a").read_text() == "1\n"
    assert world.git("status", "--porcelain", cwd=other) == ""
    assert not (world.root / "a").exists()


def test_checkout_that_is_not_mounted(world: World) -> None:
    """A target that is checked out on an unmounted path cannot be moved safely."""
    other = world.root.parent / "other"
    world.git("switch", "-q", "-c", "desk")
    world.git("worktree", "add", "-q", str(other), "main")
    world.approved("auth", "login", {"a": "1\n"})
    other.rename(world.root.parent / "unmounted")
    refuse(world, "checkout_missing")


def test_setting_target(world: World) -> None:
    """The setting worker.target selects the branch that work lands on."""
    world.git("branch", "release")
    world.git("config", "worker.target", "release")
    stood = world.tip("main")
    world.approved("auth", "login", {"a": "1\n"})
    done = world.land("auth")
    assert done.target == "refs/heads/release"
    assert world.tip("release") == done.commit
    assert world.tip("main") == stood


def test_bare_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything works in a bare repository, whose worktrees lie inside it."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    seed = World.make(tmp_path / "seed")
    seed.git("clone", "-q", "--bare", str(seed.root), str(tmp_path / "bare.git"))
    seed.git("checkout", "-q", "--detach")  # a machine of a fleet pushes to its only remote
    world = World(tmp_path / "bare.git")
    spawned = spawn(world.session(), SpawnRequest("auth", "login"))  # type: ignore[arg-type]
    Repo(Path(spawned.path)).commit("Work", {"a": "1\n"})
    assert world.drive("start", "auth", str(os.getpid())).returncode == 0
    world.submit("auth")
    approve(world.session(), "auth")
    (landed,) = merge(world.session(), ["auth"])
    assert isinstance(landed, Landed)
    assert world.show("a") == "1"
    assert world.git("config", "core.bare") == "true"
    world.require_sound()
