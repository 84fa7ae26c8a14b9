"""Commands on a worktree that is not, or not provably, the worker's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from tests.workers.damaging import CODES, HEADS, PLACES, admin_of, bytes_below
from tests.workers.world import World

KEPT = {"main/notes": b"the user's own\n", "README": b"changed by the user\n"}


def _prepared(world: World) -> Path:
    """Return the worktree of `auth`, with uncommitted work in every checkout."""
    place = world.working("auth", "login", {"a": "1\n"})
    other = world.working("bob", "form", {"b": "1\n"})
    for name, content in KEPT.items():
        Repo(world.root).write({name: content})
    Repo(place).write({"a": "2\n", "new": "mine\n"})
    Repo(other).write({"b": "2\n", "theirs": "bob's\n"})
    return place


@contextmanager
def others_untouched(world: World) -> Iterator[None]:
    """Fail if the target, the worker `bob` or a file of the main checkout changes."""

    def picture() -> list[object]:
        refs = {name: oid for name, oid in world.refs().items() if "auth" not in name}
        index = [world.git("ls-files", "--stage", cwd=one) for one in (world.root, bob)]
        heads = [world.git("symbolic-ref", "HEAD", cwd=one) for one in (world.root, bob)]
        return [refs, index, heads, bytes_below(world.root), bytes_below(bob)]

    bob = world.path("bob")
    before = picture()
    yield
    assert picture() == before


@pytest.mark.parametrize("message", [None, "All of it"])
@pytest.mark.parametrize("state", PLACES)
def test_done_in_a_damaged_worktree(world: World, state: str, message: str | None) -> None:
    """`done` refuses a directory that is not the worker's worktree, whatever is wrong with it."""
    place = _prepared(world)
    branch = world.tip("auth/login")
    PLACES[state](world, place)
    with others_untouched(world), pytest.raises(GitWorkerError) as caught:
        world.submit("auth", commit_message=message)
    assert caught.value.code == CODES.get(state, f"worktree_{state}"), caught.value
    assert "git -C" not in (caught.value.hint or "")
    assert world.tip("auth/login") == branch
    assert world.stands("auth", "login")[0] == "WORKING"


@pytest.mark.parametrize("message", [None, "All of it"])
@pytest.mark.parametrize("state", HEADS)
def test_done_on_another_head(world: World, state: str, message: str | None) -> None:
    """`done` refuses a worktree whose HEAD is not the worker's branch, and commits nothing."""
    place = _prepared(world)
    Repo(place).commit("All", {})
    HEADS[state](world, place)
    Repo(place).write({"more": "mine\n"})
    with others_untouched(world), pytest.raises(GitWorkerError) as caught:
        world.submit("auth", commit_message=message)
    assert caught.value.code == "wrong_branch"
    assert (place / "more").read_text() == "mine\n"
    assert admin_of(world).is_dir()
