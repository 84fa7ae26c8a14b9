"""Commands on a worktree that is not, or not provably, the worker's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from tests.cli.kit import Answer, run
from tests.workers.damaging import CODES, HEADS, PLACES, admin_of, bytes_below
from tests.workers.world import World


def _prepared(world: World) -> Path:
    """Return the worktree of `auth`, with uncommitted work in every checkout."""
    place = world.working("auth", "login", {"a": "1\n"})
    other = world.working("bob", "form", {"b": "1\n"})
    Repo(world.root).write({"main/notes": "the user's own\n", "README": "changed by the user\n"})
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
    assert world.states("auth", "login")[0] == "WORKING"


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


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("state", HEADS)
def test_approve_on_another_head(world: World, state: str, later: bool) -> None:
    """`approve` refuses a worktree on another branch; the hint leads to an approval."""
    world.working("bob", "form", {"b": "1\n"})
    place = world.in_review("auth", "login", {"a": "1\n"})
    if later:
        world.advance({"later": "1\n"})
    HEADS[state](world, place)
    with others_untouched(world):
        answer = run(world.root, "approve", "auth")
    assert answer.status == 1, answer
    assert "not on auth/login" in answer.err
    hint = answer.err.split("hint: ")[1].split("   # ")[0]
    world.git(*hint.split()[1:])
    assert world.approve("auth").worker.state == "APPROVED"


WORKING = (
    ("done", "auth"), ("done", "auth", "--commit", "-m", "All"), ("cancel", "auth"),
    ("exec", "auth", "--", "sh", "-c", "echo hello >written"),
)  # fmt: skip
READING = (("show", "auth"), ("status",), ("diff", "auth"), ("list",), ("fsck",), ("doctor",))


def _answer(world: World, *words: str) -> Answer:
    """Run a command and check the form of its refusal."""
    answer = run(world.root, *words)
    assert answer.status in (0, 1, 3, 4), answer
    assert "Traceback" not in answer.err, answer
    assert f"git -C {world.root}/worktrees/login" not in answer.err, answer
    assert "git add" not in answer.err, answer
    return answer


@pytest.mark.parametrize("state", sorted(PLACES.keys() - {"moved"}))
def test_verbs_of_a_working_worker(world: World, state: str) -> None:
    """Every verb on a damaged worktree refuses with the reason, and every look reports it."""
    place = _prepared(world)
    PLACES[state](world, place)
    before = bytes_below(place)
    with others_untouched(world):
        for words in WORKING:
            answer = _answer(world, *words)
            assert answer.status == 1, (words, answer)
            assert "hint:" in answer.err, (words, answer)
        sync = run(world.root, "sync", env={"GITWORKER_ID": "auth"})
        assert sync.status == 1, sync
        for words in READING:
            _answer(world, *words)
        shown = run(world.root, "show", "auth")
        assert shown.status == 0
        assert str(place) in shown.out
    assert bytes_below(place) == before
    assert world.states("auth", "login")[0] == "WORKING"
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


@pytest.mark.parametrize("state", sorted(PLACES.keys() - {"moved"}))
def test_landing_a_damaged_worktree(world: World, state: str) -> None:
    """A worker whose worktree is damaged does not land, and the reason is reported."""
    place = _prepared(world)
    Repo(place).commit("All", {})
    world.submit("auth")
    world.approve("auth")
    PLACES[state](world, place)
    before = bytes_below(place)
    with others_untouched(world):
        answer = _answer(world, "merge", "auth")
    assert answer.status == 1, answer
    assert "hint:" in answer.err, answer
    assert bytes_below(place) == before
    assert world.states("auth", "login")[0] == "APPROVED"


@pytest.mark.parametrize("state", sorted(PLACES.keys() - {"moved"}))
def test_rebasing_a_damaged_worktree(world: World, state: str) -> None:
    """An approval or an undo that would have to move the worktree's files is refused."""
    place = _prepared(world)
    Repo(place).commit("All", {})
    world.submit("auth")
    world.git("stash", "--include-untracked")
    world.advance({"later": "1\n"})
    world.approve("auth")
    approved = world.tip("auth/login")
    PLACES[state](world, place)
    before = bytes_below(place)
    with others_untouched(world):
        assert _answer(world, "undo").status == 1
        assert world.tip("auth/login") == approved
    assert bytes_below(place) == before
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


@pytest.mark.parametrize("state", sorted(PLACES.keys() - {"moved"}))
def test_resetting_a_damaged_worktree(world: World, state: str) -> None:
    """`reset` of a failed worker and `recycle` of a landed one leave the directory alone."""
    place = _prepared(world)
    PLACES[state](world, place)
    before = bytes_below(place)
    with others_untouched(world):
        assert _answer(world, "fail", "auth", "-m", "lost").status == 0
        assert _answer(world, "reset", "auth").status == 1
    assert bytes_below(place) == before
