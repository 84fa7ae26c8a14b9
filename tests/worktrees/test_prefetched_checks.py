"""Early checks of worktrees that will be deleted: their results, and when these expire."""

import pytest

from fixtures.repos import Repo
from gitworker import clock
from gitworker.worktrees.prefetched_checks import (
    FRESH_MS,
    THREADS,
    PrefetchedChecks,
    start_checks,
    start_early_checks,
)
from tests.workers.world import World


@pytest.mark.parametrize("is_calm", [False, True])
def test_a_check_finds_dirty_worktrees(world: World, is_calm: bool) -> None:
    """An untracked file and a changed one make a worktree dirty, a landing commit does not."""
    clean = world.approved("auth", "login", {"a": "1\n"})
    untracked = world.approved("docs", "guide", {"b": "1\n"})
    changed = world.approved("api", "paging", {"c": "1\n"})
    Repo(untracked).write({"new": "new\n"})
    Repo(changed).write({"c": "2\n"})
    workers = [world.worker(name) for name in ("auth", "docs", "api")]
    found = PrefetchedChecks(world.session(), workers, is_calm=is_calm).results()
    assert found == {"auth": False, "docs": True, "api": True}, clean


def test_a_check_counts_for_its_own_workers_and_not_for_long(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that lands other workers, or runs over a second later, checks again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.approved("docs", "guide", {"b": "1\n"})
    auth, docs = world.worker("auth"), world.worker("docs")
    session, now = world.session(), clock.monotonic_ms()
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: now)
    checks = PrefetchedChecks(session, [auth])
    assert checks.results() == {"auth": False}
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: now + FRESH_MS)
    assert checks.covers([auth])
    assert not checks.covers([docs])
    assert not checks.covers([auth, docs])
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: now + FRESH_MS + 1)
    assert not checks.covers([auth])


def test_no_early_check_if_it_would_take_long(world: World) -> None:
    """No early check for many worktrees, before verify commands, or for unapproved work."""
    world.in_review("auth", "login", {"a": "1\n"})
    assert not start_early_checks(world.session(), [world.worker("auth")])
    world.approve("auth")
    auth = world.worker("auth")
    session = world.session()
    assert start_early_checks(session, [auth])
    assert start_checks(session, [auth]).results() == {"auth": False}
    assert not start_early_checks(session, [auth] * (THREADS + 1))
    verified = session.settings._replace(verify_commands=("true",))
    assert not start_early_checks(session._replace(settings=verified), [auth])


def test_work_that_comes_after_the_check_is_not_lost(world: World) -> None:
    """A file written while the commits land is in the trash, and undo restores it."""
    place = world.approved("auth", "login", {"a": "1\n"})
    hook = world.root / ".git/hooks/post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho late >'{place}/late'\n")
    hook.chmod(0o755)
    world.land("auth")
    assert not place.exists()
    world.drive("undo")
    assert (place / "late").read_text() == "late\n"
