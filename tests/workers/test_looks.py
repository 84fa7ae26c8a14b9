"""Looks at worktrees that are about to go: what they find, and when they no longer count."""

import pytest

from fixtures.repos import Repo
from gitworker.workers.looks import LOOKERS, Looks, look_early
from tests.workers.world import World, wait_until


@pytest.mark.parametrize("is_calm", [False, True])
def test_a_look_tells_who_is_dirty(world: World, is_calm: bool) -> None:
    """An untracked file and a changed one make a worktree dirty, a landing commit does not."""
    clean = world.approved("auth", "login", {"a": "1\n"})
    untracked = world.approved("docs", "guide", {"b": "1\n"})
    changed = world.approved("api", "paging", {"c": "1\n"})
    Repo(untracked).write({"new": "new\n"})
    Repo(changed).write({"c": "2\n"})
    workers = [world.worker(name) for name in ("auth", "docs", "api")]
    found = Looks(world.session(), workers, is_calm=is_calm).results()
    assert found == {"auth": False, "docs": True, "api": True}, clean


def test_a_look_counts_for_its_own_workers_and_not_for_long(world: World) -> None:
    """Whoever lands others, or later than a second after, looks again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.approved("docs", "guide", {"b": "1\n"})
    auth, docs = world.worker("auth"), world.worker("docs")
    look = Looks(world.session(), [auth])
    assert look.serves([auth])
    assert not look.serves([docs])
    assert not look.serves([auth, docs])
    wait_until(lambda: not look.serves([auth]), seconds=30)


def test_nobody_looks_early_at_what_takes_long(world: World) -> None:
    """Neither at many worktrees nor before verify commands run."""
    world.approved("auth", "login", {"a": "1\n"})
    auth = world.worker("auth")
    session = world.session()
    assert look_early(session, [auth]) is not None
    assert look_early(session, [auth] * (LOOKERS + 1)) is None
    verified = session.settings._replace(verify_commands=("true",))
    assert look_early(session._replace(settings=verified), [auth]) is None


def test_work_that_comes_after_the_look_is_not_lost(world: World) -> None:
    """What is written while the commits are on the way is in the trash, and undo brings it back."""
    place = world.approved("auth", "login", {"a": "1\n"})
    hook = world.root / ".git/hooks/post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho late >'{place}/late'\n")
    hook.chmod(0o755)
    world.land("auth")
    assert not place.exists()
    world.drive("undo")
    assert (place / "late").read_text() == "late\n"
