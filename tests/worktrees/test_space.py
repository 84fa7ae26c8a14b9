"""The check of the disk space before a worktree is made."""

from pathlib import Path

import pytest

from gitworker.errors import Refused
from gitworker.worktrees.pool.keep_ready import keep_pool
from gitworker.worktrees.space.disk_space import CACHE, require_space
from gitworker.worktrees.space.rules_space import BLOCK, PER_FILE
from tests.workers.world import World, kept


def test_no_room(world: World) -> None:
    """A worktree that would leave too little free is refused, and nothing of it is left."""
    world.spawn("first", "t1")
    world.git("config", "worker.worktree.spare-bytes", str(10**15))
    with kept(world, "disk_space", Refused):
        world.spawn("auth", "login")
    world.git("config", "worker.worktree.spare-bytes", "0")
    world.spawn("auth", "login")


def test_the_pool_needs_room_too(world: World) -> None:
    """Nothing is parked on a full disk; a worktree that is parked already can be taken."""
    world.git("config", "worker.worktree.pool", "1")
    keep_pool(world.session())
    world.git("config", "worker.worktree.spare-bytes", str(10**15))
    world.spawn("auth", "login")
    with pytest.raises(Refused):
        keep_pool(world.session())


def test_measured_once(world: World, tmp_path: Path) -> None:
    """The size of a commit is measured once; with plenty of space, once for all commits."""
    session = world.session()
    tip = session.git.require_oid("HEAD")
    trace = tmp_path / "trace"
    require_space(session, tip)
    cache = Path(session.paths.root) / CACHE
    assert cache.read_text() == f"{tip} {3 * (BLOCK + PER_FILE)}\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITWORKER_TRACE", str(trace))
        require_space(session, tip)
        world.advance({"more": "x\n"})
        require_space(session, session.git.require_oid(tip))
    assert "ls-tree" not in trace.read_text()
    cache.write_text("garbage")
    require_space(session, tip)
    assert cache.read_text().startswith(tip)


@pytest.mark.parametrize(
    "key", ["extensions.partialClone", "remote.origin.promisor", "core.sparseCheckout"]
)
def test_repositories_that_cannot_be_measured(world: World, key: str) -> None:
    """Partial clones and sparse checkouts are not measured, which would fetch or overstate."""
    world.git("config", "core.repositoryFormatVersion", "1")
    world.git("config", key, "true")
    session = world.session()
    require_space(session, session.git.require_oid("HEAD"))
    assert not (Path(session.paths.root) / CACHE).exists()
