"""Replace refs and grafts change neither a review nor a landing: both show the real commits."""

from collections.abc import Callable

import pytest

from gitworker.workers.approve import approve
from tests.cli.kit import ok
from tests.workers.world import World

GOOD, BAD = "print('good')\n", "print('bad')\n"


def _replaced_blob(world: World) -> None:
    harmless = world.git("rev-parse", "auth/login~1:src/new.py")
    world.git("replace", world.git("rev-parse", "auth/login:src/new.py"), harmless)


def _replaced_tree(world: World) -> None:
    harmless = world.git("rev-parse", "auth/login~1^{tree}")
    world.git("replace", world.git("rev-parse", "auth/login^{tree}"), harmless)


def _replaced_commit(world: World) -> None:
    tip = world.tip("auth/login")
    tree, parent = f"{tip}~1^{{tree}}", f"{tip}~1"
    world.git("replace", tip, world.git("commit-tree", tree, "-p", parent, "-m", "Harmless"))


def _grafted_parent(world: World) -> None:
    info = world.root / ".git/info"
    info.mkdir(exist_ok=True)
    (info / "grafts").write_text(f"{world.tip()} {world.tip('auth/login')}\n")


def _replaced_target(world: World) -> None:
    world.git("replace", "--graft", "main", "auth/login")


HIDE = (_replaced_blob, _replaced_tree, _replaced_commit, _grafted_parent, _replaced_target)


def _hand_in(world: World) -> None:
    world.working("auth", "login", {"src/new.py": GOOD})
    world.commit("auth", {"src/new.py": BAD}, "Change it")


@pytest.mark.parametrize("hide", HIDE)
@pytest.mark.parametrize("when", ["before done", "before approve", "after approve"])
def test_review_and_landing_see_the_same(
    world: World, hide: Callable[[World], None], when: str
) -> None:
    """A replacement at any moment leaves the diff, the approval and the landing as they are."""
    _hand_in(world)
    real = world.git("rev-parse", "auth/login^{tree}")
    if when == "before done":
        hide(world)
    world.submit("auth")
    if when == "before approve":
        hide(world)
    diff = ok(world.root, "diff", "auth")
    assert "+print('bad')" in diff
    approve(world.session(), "auth")
    if when == "after approve":
        hide(world)
    assert "+print('bad')" in ok(world.root, "diff", "auth")
    world.land("auth")
    assert world.git("--no-replace-objects", "rev-parse", "main^{tree}") == real
    assert (world.root / "src/new.py").read_text() == BAD


@pytest.mark.parametrize("hide", [_replaced_blob, _replaced_tree, _replaced_commit])
def test_unreviewed_content_does_not_land(world: World, hide: Callable[[World], None]) -> None:
    """Content that a replace ref substitutes for the approved content never lands."""
    world.working("auth", "login", {"src/new.py": BAD})
    world.commit("auth", {"src/new.py": GOOD}, "Change it")
    world.submit("auth")
    world.approve("auth")
    hide(world)
    world.land("auth")
    world.git("replace", "-d", *world.git("replace", "-l").split())
    assert world.show("src/new.py") == GOOD.strip()
    assert (world.root / "src/new.py").read_text() == GOOD


def test_no_git_maintenance_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command of ours starts git maintenance, which would treat grafted history as garbage."""
    trace = world.root.parent / "trace"
    place = world.working("auth", "login", {"src/new": "new\n"})
    world.advance({"README": "changed\n"})
    world.git("config", "maintenance.auto", "true")
    monkeypatch.setenv("GIT_TRACE", str(trace))
    ok(place, "sync")
    (place / "late").write_text("late\n")
    ok(world.root, "done", "auth", "--commit", "-m", "Late")
    world.approve("auth")
    world.land("auth")
    text = trace.read_text()
    assert all(f"trace: built-in: git {verb}" in text for verb in ("rebase", "commit", "merge"))
    assert not [
        line for line in text.splitlines() if " maintenance " in line or "gc --auto" in line
    ]
