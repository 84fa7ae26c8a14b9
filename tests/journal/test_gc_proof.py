"""gc verifies every item of the trash against the refs that keep its work."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker import clock
from gitworker.errors import Refused
from gitworker.journal.gc.gc import CollectedItems, gc, gc_daily, gc_request, preview_gc
from gitworker.journal.gc.gc_refs import expire
from gitworker.journal.gc.rules_gc import DAY_MS
from gitworker.journal.undo.undo import undo
from gitworker.store.heartbeats import record_heartbeat
from gitworker.workers.cancel import cancel
from gitworker.worktrees.trashing import set_aside
from tests.journal.test_gc import RESCUE, collect, rescues, trash
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World, newest, unchanged, wait_until


def held(done: CollectedItems) -> list[str]:
    """Return why removed worktrees stay."""
    return [item.holds for item in done.choice.held if item.kind == "trash"]


def slip_in(path: Path) -> None:
    """Write a file as if between the check and the rename, older than the end of the operation."""
    path.write_text("precious\n")
    long_ago = time.time() - 3600
    os.utime(path, (long_ago, long_ago))


@pytest.mark.parametrize("name", ["late", "a"])
def test_a_file_written_before_the_rename(world: World, name: str) -> None:
    """A file that is under no rescue ref keeps the cancelled worktree, however old the file is."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    (entry,) = trash(world)
    slip_in(entry / "tree" / name)
    assert held(collect(world)) == [f"the file {name}, which no ref keeps"]
    assert (entry / "tree" / name).read_text() == "precious\n"
    done = collect(world, unlanded=True)
    assert f"the file {name}, which no ref keeps" in [item.holds for item in done.choice.selected]
    assert trash(world) == []


def test_a_landed_worktree_is_looked_at_too(world: World) -> None:
    """A worktree that was clean when it landed is kept only if it has a new file."""
    place = world.approved("auth", "login", {"a": "1\n"})
    (place / "x.o").write_text("ignored\n")
    world.land("auth")
    (entry,) = trash(world)
    wait_until((entry / "landed").exists)
    slip_in(entry / "tree" / "late")
    assert held(collect(world)) == ["the file late, which no ref keeps"]
    (entry / "tree" / "late").unlink()
    assert held(collect(world)) == []
    assert trash(world) == []


def test_uncommitted_work_under_a_rescue_ref_allows_the_deletion(world: World) -> None:
    """A file that the rescue ref holds byte for byte does not keep the worktree, flagged or not."""
    place = world.working("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    world.git("update-index", "--assume-unchanged", "a", cwd=place)
    (place / "a").write_text("hidden\n")
    cancel(world.session(), "auth")
    assert held(collect(world)) == []
    assert trash(world) == []


def test_a_repository_inside(world: World) -> None:
    """A repository in the worktree is in no commit of ours, so it keeps the worktree."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo.make(place / "inside").commit("Precious", {"n": "1\n"})
    cancel(world.session(), "auth")
    assert held(collect(world)) == ["the repository inside, which no ref keeps"]
    undo(world.session(), newest(world, "cancel"))
    assert Repo(place / "inside").git("log", "--format=%s") == "Precious"


def test_a_submodule_is_no_repository_inside(world: World, tmp_path: Path) -> None:
    """A submodule does not keep a removed worktree: its commits were saved at the removal."""
    Repo.make(tmp_path / "sub").commit("Sub", {"s": "1\n"})
    world.git("submodule", "--quiet", "add", str(tmp_path / "sub"), "sub")
    world.git("commit", "-q", "-m", "Add it")
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place / "sub").commit("Own", {"own": "1\n"})
    cancel(world.session(), "auth")
    assert held(collect(world)) == []


def test_a_worktree_that_cannot_be_compared_stays(world: World) -> None:
    """gc deletes nothing if git cannot read the commit that should hold the work."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    (entry,) = trash(world)
    (entry / "admin" / "HEAD").write_text("nothing that git understands\n")
    assert held(collect(world)) == ["files that git cannot compare with the kept commit"]


def test_commits_of_an_open_operation(world: World) -> None:
    """The commits of an autostash and of a reset get a rescue ref when the worktree is deleted."""
    place = world.working("auth", "login", {"a": "1\n"})
    dropped = Repo(place).commit("Dropped", {"b": "1\n"})
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    Repo(place).commit("Mine", {"README": "mine\n"})
    Repo(world.root).worktree(world.root.parent / "side", "-b", "side").commit(
        "Side", {"README": "side\n"}
    )
    Repo(place).write({"a": "uncommitted\n"})
    assert Repo(place).run("rebase", "--autostash", "side").returncode
    admin = Path(world.git("rev-parse", "--absolute-git-dir", cwd=place))
    stashed = (admin / "rebase-merge" / "autostash").read_text().strip()
    cancel(world.session(), "auth")
    assert rescues(world) == ["auth/login/1", "auth/login/2"]
    kept = world.git("rev-list", "--glob", f"{RESCUE}*").split()
    assert {dropped, stashed} <= {*kept}
    assert held(collect(world)) == []


def test_a_ref_of_the_worktree_keeps_it(world: World) -> None:
    """A commit that only the removed worktree's own ref leads to is not deleted with it."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    (entry,) = trash(world)
    lone = world.git("commit-tree", "-p", "HEAD", "-m", "lone", "HEAD^{tree}")
    (entry / "admin" / "refs" / "worktree").mkdir(parents=True)
    (entry / "admin" / "refs" / "worktree" / "mine").write_text(f"{lone}\n")
    assert held(collect(world)) == ["commits that no ref reaches"]


@pytest.mark.parametrize("touched", [False, True])
def test_a_worktree_that_the_pool_parked(world: World, touched: bool) -> None:
    """gc deletes a parked worktree once it contains no user files."""
    session = world.session()
    shelf = world.root / "worktrees" / ".pool" / "parked-1"
    shelf.mkdir(parents=True)
    world.git("worktree", "add", "-q", "--detach", str(shelf / "tree"))
    os.rename(world.root / ".git/worktrees/tree", shelf / "admin")
    (shelf / "tree" / "x.o").write_text("ignored\n")
    if touched:
        slip_in(shelf / "tree" / "mine")
    set_aside(session, str(shelf), shelf.name)
    done = collect(world)
    assert held(done) == (["the file mine, which no ref keeps"] if touched else [])
    assert len(trash(world)) == touched


@pytest.mark.parametrize(
    ("other", "landed"),
    [
        ("if x:\n    one()\n    two()\n", True),
        ("if x:\n    one()\ntwo()\n", False),
    ],
)
def test_white_space_is_no_trifle(world: World, other: str, landed: bool) -> None:
    """A commit has landed by its patch only if the target's patch has the same white space."""
    world.advance({"m.py": "if x:\n    one()\n"})
    world.working("auth", "login", {"m.py": "if x:\n    one()\n    two()\n"})
    world.advance({"m.py": other})
    cancel(world.session(), "auth")
    collect(world)
    assert rescues(world) == ([] if landed else ["auth/login/1"])


def test_a_landing_that_was_dropped(world: World) -> None:
    """A commit that was dropped from the target has not landed, so its rescue ref is kept."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    world.land("auth")
    world.git("reset", "-q", "--hard", "HEAD~1")
    collect(world)
    assert rescues(world) == ["auth/login/1"]


def test_a_commit_that_loses_its_branch_meanwhile(world: World) -> None:
    """A rescue ref whose branch is deleted during the gc is restored, unless it was named."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    ref = f"{RESCUE}auth/login/1"
    refs = {ref: world.tip(ref)}
    assert expire(world.session(), refs, unlanded=()) == {}
    assert rescues(world) == ["auth/login/1"]
    assert expire(world.session(), refs, unlanded=[ref]) == refs
    assert rescues(world) == []


def test_a_bisect_keeps_nothing(world: World) -> None:
    """A ref that git deletes by itself does not count as another place of a commit."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    world.git("update-ref", "refs/bisect/bad", f"{RESCUE}auth/login/1")
    collect(world)
    assert rescues(world) == ["auth/login/1"]


def test_an_empty_commit_has_not_landed_by_another(world: World) -> None:
    """A commit without a patch cannot be found in the target, so it has not landed."""
    world.spawn("auth", "login")
    Repo(world.path("auth")).commit("What I found out")
    world.git("commit", "-q", "--allow-empty", "-m", "Other")
    cancel(world.session(), "auth")
    collect(world)
    assert rescues(world) == ["auth/login/1"]


def test_undo_if_the_name_is_used_again(world: World) -> None:
    """A rescue ref whose number another rescue uses now is restored under the next number."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    old = world.tip("auth/login")
    world.approve("auth")
    number = collect(world, unlanded=True).number
    world.git("update-ref", f"{RESCUE}auth/login/1", "main")
    undo(world.session(), number)
    assert rescues(world) == ["auth/login/1", "auth/login/2"]
    assert world.tip(f"{RESCUE}auth/login/1") == world.tip("main")
    assert world.tip(f"{RESCUE}auth/login/2") == old


def test_undo_alone_skips_an_automatic_gc(world: World) -> None:
    """An automatic gc, and one that expired no ref, are undone only by their number."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    world.land("auth")
    (world.state_dir / "logs" / "old.log").write_text("x")
    number = collect(world).number
    undo(world.session(), number)
    session = world.session()
    request = gc_request(session, days=0)
    by_itself = gc(session, request, by_itself=True).number
    (world.state_dir / "logs" / "old.log").write_text("x")
    collect(world)
    assert undo(world.session()).kind == "merge"
    assert undo(world.session(), by_itself).kind == "gc"


def test_the_daily_gc(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daily gc follows the settings, and a budget deletes nothing of the last day."""
    world.git("config", "worker.gc.max-bytes", "1")
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    assert gc_daily(world.session()).number is None
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + 2 * DAY_MS))
    session = world.session()
    with session.store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
    done = gc_daily(session)
    assert [item.kind for item in done.choice.selected if item.kind != "log"] == ["trash"]


def test_a_clock_that_jumps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the wall clock was set forward, gc deletes nothing by age and reports no deletion."""
    session = world.session()
    with session.store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + 400 * DAY_MS))
    session = world.session()
    with unchanged(world, "clock_jumped"):
        gc(session, gc_request(session))
    with pytest.raises(Refused, match="clock has moved"):
        preview_gc(session, gc_request(session))
    assert preview_gc(session, gc_request(session, days=0)).choice.selected


def test_two_at_once(world: World) -> None:
    """An item that another gc deletes between check and lock is not recorded or reported twice."""
    for name in ("auth", "docs"):
        world.approved(name, f"t-{name}", {name: "1\n"})
        (world.path(name) / "x.o").write_text("ignored\n")
        cancel(world.session(), name)
        world.git("branch", f"kept-{name}", f"{RESCUE}{name}/t-{name}/1")
    rivals = [
        subprocess.Popen(world.argv("gc"), cwd=world.root, stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [rival.wait() for rival in rivals] == [0] * 4
    rows = world.query("SELECT data FROM operations WHERE kind = 'gc'")
    operations = [json.loads(data) for (data,) in rows]
    taken = sorted(name for one in operations for name in (*one["refs"], *one["entry_paths"]))
    assert len(taken) == len(set(taken)) == 6  # of each: a rescue ref, a round and a worktree
