"""The commits of each round stay until the task has ended, also if git forgets its reflogs."""

from pathlib import Path

import pytest

from gitworker.errors import NotFound
from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.journal.gc.gc import CollectedItems, gc, gc_request
from gitworker.journal.undo.undo import undo
from gitworker.review.compare import compare
from gitworker.review.page.page import read_page
from gitworker.store.workers import load_worker
from gitworker.workers.cancel import cancel
from tests.workers.world import World

ROUND = "refs/worker/round/auth/login/"


def forget(world: World) -> None:
    """Let git delete everything that no ref reaches, as its own gc does in the end."""
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")


def amend(world: World, text: str) -> str:
    """Replace auth's commit, hand it in again, and return the new tip."""
    place = world.path("auth")
    (place / "a").write_text(text)
    world.git("commit", "-qa", "--amend", "-m", "Work", cwd=place)
    world.submit("auth")
    return world.tip("auth/login")


def collect(world: World, **wanted: bool) -> CollectedItems:
    """Delete everything that is older than this moment and not needed."""
    session = world.session()
    return gc(session, gc_request(session, days=0, **wanted))


def rounds(world: World) -> dict[str, str]:
    """Return the refs of rounds by their number."""
    refs = world.refs()
    return {ref.removeprefix(ROUND): oid for ref, oid in refs.items() if ref.startswith(ROUND)}


def three_rounds(world: World) -> list[str]:
    """Hand in three versions of one commit; return their tips."""
    world.in_review("auth", "login", {"a": "1\n"})
    return [world.tip("auth/login"), amend(world, "2\n"), amend(world, "3\n")]


def test_rounds_are_compared_after_a_gc_of_git(world: World) -> None:
    """The commits of amended rounds survive expired reflogs and a pruning gc of git."""
    tips = three_rounds(world)
    forget(world)
    changes = compare(world.session(), "auth", "1..2").text
    assert changes.startswith(f"1:  {tips[0][:7]} < ")
    assert changes.endswith("    +2")
    assert rounds(world) == dict(zip("123", tips, strict=True))
    assert run_fsck(world.session()).findings == ()


def test_a_rebased_round_is_kept(world: World) -> None:
    """The commits of a round survive the rebase of its author onto a later target."""
    world.in_review("auth", "login", {"a": "1\n"})
    first = world.tip("auth/login")
    world.advance({"other": "x\n"})
    world.git("rebase", "-q", "main", cwd=world.path("auth"))
    world.submit("auth")
    forget(world)
    assert world.tip(f"{ROUND}1") == first
    assert compare(world.session(), "auth", "1..2").text == ""


def test_the_same_hand_in_again_has_one_ref(world: World) -> None:
    """A hand-in that adds a note only is the same round with the same ref."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.submit("auth", note="please")
    assert rounds(world) == {"1": world.tip("auth/login")}


def test_rounds_of_work_in_progress_are_kept(world: World) -> None:
    """gc deletes no round of a task that a worker has, however old, not even if asked to."""
    three_rounds(world)
    collect(world, unlanded=True)
    assert len(rounds(world)) == 3


def test_gc_deletes_the_rounds_of_landed_work(world: World) -> None:
    """After the landing gc deletes the refs, a look creates none again, and undo restores them."""
    three_rounds(world)
    world.approve("auth")
    world.land("auth")
    before = rounds(world)
    assert len(before) == 3
    done = collect(world)
    assert [item.kind for item in done.choice.selected].count("round") == 3
    session = world.session()
    with session.store.read() as reader:
        worker = load_worker(reader, "auth")
    read_page(session, worker)
    assert rounds(world) == {}
    assert run_fsck(world.session()).findings == ()
    undo(world.session())
    assert rounds(world) == before


def test_a_round_that_nothing_else_has_is_kept(world: World) -> None:
    """A round whose commits git would have deleted stays after the landing, until a user asks."""
    first = three_rounds(world)[0]
    forget(world)
    world.approve("auth")
    world.land("auth")
    done = collect(world)
    assert rounds(world) == {"1": first, "2": world.tip(f"{ROUND}2")}
    kept = [item.name for item in done.choice.held if item.kind == "round"]
    assert kept == [f"{ROUND}1", f"{ROUND}2"]
    collect(world, unlanded=True)
    assert rounds(world) == {}


def test_the_removal_rescues_the_commits_of_rounds(world: World) -> None:
    """A cancel keeps amended commits under a rescue ref, so that gc may delete their rounds."""
    tips = three_rounds(world)
    cancel(world.session(), "auth")
    collect(world)
    assert rounds(world) == {}
    forget(world)
    assert [world.tip(oid) for oid in tips] == tips
    collect(world, unlanded=True)
    assert [ref for ref in world.refs() if ref.startswith("refs/worker/")] == []


def test_all_refs_of_unlanded_work_are_deleted_at_once(world: World) -> None:
    """`gc --unlanded` deletes a rescue ref together with the round that it also keeps."""
    three_rounds(world)
    cancel(world.session(), "auth")
    collect(world, unlanded=True)
    assert [ref for ref in world.refs() if ref.startswith("refs/worker/")] == []


def test_a_hand_in_without_the_right_to_create_refs(world: World) -> None:
    """A worker that may not write below refs/worker/ hands in, and a reader creates the ref."""
    folder = world.root / ".git" / "refs" / "worker"
    folder.mkdir()
    blocker = folder / "round"
    blocker.write_text("")
    world.in_review("auth", "login", {"a": "1\n"})
    blocker.unlink()
    assert rounds(world) == {}
    compare(world.session(), "auth", "1..1")
    assert rounds(world) == {"1": world.tip("auth/login")}


def test_rounds_of_an_older_version(world: World) -> None:
    """The next hand-in creates the refs of earlier rounds, except those that git has deleted."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.git("update-ref", "-d", f"{ROUND}1")
    (place / "a").write_text("2\n")
    world.git("commit", "-qa", "--amend", "-m", "Work", cwd=place)
    forget(world)
    world.submit("auth")
    second = world.tip("auth/login")
    assert rounds(world) == {"2": second}
    with pytest.raises(NotFound, match="git has deleted one of them"):
        compare(world.session(), "auth", "1..2")
    world.git("update-ref", "-d", f"{ROUND}2")
    amend(world, "3\n")
    assert rounds(world) == {"2": second, "3": world.tip("auth/login")}


def test_fsck_repairs_the_file_of_a_round(world: World) -> None:
    """A damaged ref file of a round is pointed at the recorded commit again."""
    tips = three_rounds(world)
    path = Path(world.root, ".git", f"{ROUND}1")
    path.write_text("garbage\n")
    assert [one.code for one in run_fsck(world.session()).findings] == ["ref_damaged"]
    run_repair(world.session())
    assert rounds(world)["1"] == tips[0]
    assert run_fsck(world.session()).findings == ()
