"""The changes between two commits are read once."""

import pytest

from gitworker.errors import NotFound
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git
from gitworker.review.patch import read_patch
from tests.workers.world import World


def test_known_changes_need_no_git(world: World) -> None:
    """Changes that were read are known without git; those of another context are not."""
    base = Oid(world.git("rev-parse", "main"))
    tip = Oid(world.advance({"a.txt": "1\n"}))
    git = Git(str(world.root))
    (file,) = read_patch(git, base, tip)
    assert file.path == "a.txt"
    objects = world.root / ".git" / "objects"
    objects.rename(world.root.with_name("objects"))
    objects.mkdir()
    assert read_patch(git, base, tip) == (file,)
    with pytest.raises(NotFound):
        read_patch(git, base, tip, context=0)
    objects.rmdir()
    world.root.with_name("objects").rename(objects)
