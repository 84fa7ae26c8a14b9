"""The oracle of the crash suite: which worktrees may exist without a worker."""

from pathlib import Path

import pytest

from gitworker.model.ids import Oid
from gitworker.repo.replay.scratch_rebase import rebase_in_scratch
from tests.crash.inventory import require_tidy, take
from tests.workers.planting import unowned_worktree
from tests.workers.world import World


def test_our_scratch_worktree_is_tidy(world: World) -> None:
    """The permanent worktree of a real rebase has no worker: a replay may need it after a fault."""
    world.in_review("auth", "login", {"a": "1\n"})
    before = take(world)
    session = world.session()
    rebase_in_scratch(
        session.git, target=Oid(world.tip()), topic=Oid(world.tip("auth/login")),
        scratch_dir=session.scratch_dir,
    )  # fmt: skip
    assert str(Path(session.scratch_dir, "rebase")) in world.worktrees()
    require_tidy(world, before)


def test_a_worktree_of_no_worker_is_named(world: World) -> None:
    """Any other worktree that no worker owns fails the oracle, which names it."""
    before = take(world)
    unowned_worktree(world)
    with pytest.raises(AssertionError, match="worktrees/knows"):
        require_tidy(world, before)
