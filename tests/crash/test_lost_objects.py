"""After a kill and `git gc --prune=now`, unreferenced commits are either anchored or lost."""

import pytest

from tests.crash.inventory import require_nothing_lost, require_tidy, take
from tests.crash.operations import dirty_approval, dirty_review
from tests.workers.world import World

PREPARATIONS = {"approve": dirty_review, "merge": dirty_approval}


def kill(world: World, kind: str) -> str:
    """Kill an approve or a merge behind its journal and return the commit that it was to make."""
    assert world.drive(kind, "auth", GITWORKER_CRASH_AT=f"{kind}.journal").returncode == -9
    rows = world.query("SELECT data ->> 'new' FROM operations WHERE status = 'open'")
    return str(rows[0][0])


def collect(world: World) -> None:
    """Throw away at once whatever no ref leads to."""
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "--quiet", "--prune=now")


def has(world: World, commit: str) -> bool:
    """Return whether the repository holds a commit."""
    return world.git("cat-file", "--batch-check", "--batch-all-objects").find(commit) >= 0


@pytest.mark.parametrize("kind", PREPARATIONS)
def test_the_new_commits_are_anchored(world: World, kind: str) -> None:
    """The commits that the journal names survive a gc, and the operation can be repeated."""
    PREPARATIONS[kind](world)
    before = take(world)
    new = kill(world, kind)
    collect(world)
    assert has(world, new)
    assert world.drive("recover_all").stdout.strip() == kind
    require_nothing_lost(world, before)
    require_tidy(world, before)
    assert world.drive(kind, "auth").returncode == 0
    require_tidy(world, before)


@pytest.mark.parametrize("kind", PREPARATIONS)
def test_lost_commits_count_as_not_done(world: World, kind: str) -> None:
    """An operation whose commits were lost all the same, as in a power cut, did not happen."""
    PREPARATIONS[kind](world)
    before = take(world)
    new = kill(world, kind)
    world.git("update-ref", "-d", "refs/worker/landing/auth/login")
    collect(world)
    assert not has(world, new)
    assert world.drive("recover_all").stdout.strip() == kind
    require_nothing_lost(world, before)
    require_tidy(world, before)
    assert world.drive(kind, "auth").returncode == 0
    require_tidy(world, before)


def test_a_commit_on_top_of_the_old_ones(world: World) -> None:
    """An operation also did not happen if the agent has committed on top of the old commits."""
    dirty_review(world)
    new = kill(world, "approve")
    world.git("update-ref", "-d", "refs/worker/landing/auth/login")
    world.git("commit", "-q", "--allow-empty", "-m", "More", cwd=world.path("auth"))
    collect(world)
    assert not has(world, new)
    assert world.drive("recover_all").stdout.strip() == "approve"
    assert world.worker("auth").state == "IN_REVIEW"


@pytest.mark.parametrize("keep", [(), ("--keep",)])
def test_no_anchor_is_left(world: World, keep: tuple[str, ...]) -> None:
    """A landing leaves no anchor, whether its branch is deleted or kept."""
    dirty_approval(world)
    assert world.drive("merge", "auth", *keep).returncode == 0
    assert [name for name in world.refs() if name.startswith("refs/worker/landing/")] == []
