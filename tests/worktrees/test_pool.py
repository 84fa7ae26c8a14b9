"""The pool: spawns that take a parked worktree are spawns like any other, only faster."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.repo.pool.parked import claim, list_parked
from gitworker.worktrees.pool.hand_out import open_pool, pool_root
from gitworker.worktrees.pool.keep_ready import empty_pool, keep_pool, pool_state
from tests.cli.kit import run
from tests.workers.world import World, is_at_work, kept, wait_until

FAR_AWAY = "src/deep/down"


@pytest.fixture
def pooled(world: World) -> World:
    """A repository with one parked worktree."""
    world.advance({f"{FAR_AWAY}/x": "x\n", "gone": "soon\n"})
    return with_pool(world, 1)


def with_pool(world: World, size: int) -> World:
    """Set the pool's size and bring it there."""
    world.git("config", "worker.worktree.pool", str(size))
    keep_pool(world.session())
    return world


def parked(world: World) -> list[Path]:
    """Return the parked worktrees."""
    return [Path(one.tree) for one in list_parked(open_pool(world.session()))]


def content(place: Path) -> dict[str, object]:
    """Return the state of a worktree, without the parts that differ between any two."""
    admin = Path(Repo(place).git("rev-parse", "--absolute-git-dir"))
    return {
        "index": Repo(place).git("ls-files", "--stage", "-v"),
        "status": Repo(place).git("status", "--porcelain", "--ignored", "-uall"),
        "files": sorted(str(p.relative_to(place)) for p in place.rglob("*")),
        "admin": sorted(p.name for p in admin.iterdir() if p.name != "index"),
        "config": (admin / "config.worktree").read_text(),
        "pointers": (
            (admin / "commondir").read_text(),
            (admin / "gitdir").read_text().replace(place.name, "TASK"),
            (place / ".git").read_text().replace(admin.name, "TASK"),
        ),
        "head": Repo(place).git("rev-parse", "HEAD"),
    }


def trashed(world: World) -> str:
    """Return the text of all files in the trash, once the running deletions have ended."""
    wait_until(lambda: not is_at_work(world.root))
    trash = world.root / "worktrees" / ".trash"
    return "".join(
        path.read_text(errors="replace") for path in sorted(trash.rglob("*")) if path.is_file()
    )


def test_a_taken_worktree_is_as_a_fresh_one(world: World) -> None:
    """A worktree that spawn takes from the pool is equal to one that git makes."""
    fresh = content(Path(world.spawn("first", "t1").path))
    with_pool(world, 1)
    spawned = world.spawn("second", "t2")
    assert parked(world) == []
    assert content(Path(spawned.path)) == fresh
    assert world.git("symbolic-ref", "HEAD", cwd=spawned.path) == "refs/heads/second/t2"
    assert spawned.path in world.worktrees()
    assert world.session(spawned.path).actor == "second"
    assert world.git("worktree", "prune", "--dry-run", "--verbose") == ""
    world.commit("second", {"a": "1\n"})
    world.git("fsck", "--strict")


def test_parked_worktrees_have_no_owner(pooled: World) -> None:
    """git lists no parked worktree, shows none, and cleans none away."""
    assert pooled.worktrees() == []
    assert pooled.git("status", "--porcelain", "--untracked-files=all") == ""
    pooled.git("clean", "-fdx")
    assert len(parked(pooled)) == 1
    assert pooled.spawn("auth", "login").path in pooled.worktrees()
    assert parked(pooled) == []


def test_no_pool_leaves_no_trace(world: World) -> None:
    """Without a pool nothing is made, not even its directory."""
    keep_pool(world.session())
    world.spawn("auth", "login")
    assert not os.path.exists(pool_root(world.session()))


def test_a_stale_one_is_brought_to_the_tip(pooled: World) -> None:
    """If the target has moved, a parked worktree is updated by the difference; caches stay."""
    (tree,) = parked(pooled)
    (tree / "cache.o").write_text("built")
    pooled.git("rm", "-q", "gone")
    tip = pooled.advance({f"{FAR_AWAY}/x": "y\n", "new/file": "1\n"})
    place = Path(pooled.spawn("auth", "login").path)
    assert parked(pooled) == []
    assert pooled.git("rev-parse", "HEAD", cwd=place) == tip
    assert pooled.git("status", "--porcelain", cwd=place) == ""
    assert (place / "cache.o").read_text() == "built"
    assert not (place / "gone").exists()
    assert (place / "new/file").read_text() == "1\n"


def test_a_cache_that_is_no_longer_ignored(pooled: World) -> None:
    """A parked worktree in which the new target shows a cache as untracked is not handed out."""
    (tree,) = parked(pooled)
    (tree / "cache.o").write_text("built")
    pooled.advance({".gitignore": "*.tmp\n"})
    place = Path(pooled.spawn("auth", "login").path)
    assert not (place / "cache.o").exists()
    assert "built" in trashed(pooled)


def test_an_ignored_file_in_the_way(pooled: World) -> None:
    """A cache at a path that the target now tracks is replaced by the tracked file."""
    (tree,) = parked(pooled)
    (tree / "late.o").write_text("built")
    Repo(pooled.root).write({"late.o": "tracked\n"})
    pooled.git("add", "--force", "late.o")
    pooled.git("commit", "-qm", "Track it")
    place = Path(pooled.spawn("auth", "login").path)
    assert (place / "late.o").read_text() == "tracked\n"
    assert pooled.git("status", "--porcelain", cwd=place) == ""


def untracked(tree: Path) -> None:
    """Write an untracked file, deep in the tree."""
    (tree / FAR_AWAY / "note").write_text("precious")


def changed(tree: Path) -> None:
    """Change a tracked file."""
    (tree / FAR_AWAY / "x").write_text("precious")


def same_size(tree: Path) -> None:
    """Change a tracked file to one of the same size and time."""
    path = tree / FAR_AWAY / "x"
    was = path.stat()
    path.write_text("X\n")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    (tree / "untracked").write_text("precious")


def hidden(tree: Path) -> None:
    """Change a tracked file that the index calls unchanged."""
    Repo(tree).git("update-index", "--assume-unchanged", f"{FAR_AWAY}/x")
    changed(tree)


def staged(tree: Path) -> None:
    """Stage a new file."""
    (tree / "staged").write_text("precious")
    Repo(tree).git("add", "staged")


def committed(tree: Path) -> None:
    """Commit there."""
    staged(tree)
    Repo(tree).git("commit", "-qm", "Mine")


def rebasing(tree: Path) -> None:
    """Leave a rebase open."""
    (tree / "../admin/rebase-merge").mkdir()
    (tree / "untracked").write_text("precious")


def broken(tree: Path) -> None:
    """Lose the index."""
    (tree / "../admin/index").write_bytes(b"precious")


def deleted(tree: Path) -> None:
    """Lose a tracked file."""
    (tree / "README").write_text("precious")
    (tree / "README").rename(tree / "READ.o")


DAMAGES = [untracked, changed, same_size, hidden, staged, committed, rebasing, broken, deleted]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_stale", [False, True])
def test_a_damaged_parked_worktree(pooled: World, damage: object, is_stale: bool) -> None:
    """A parked worktree that is not as it was parked is kept in the trash and never handed out."""
    (tree,) = parked(pooled)
    assert callable(damage)
    damage(tree)
    if is_stale:
        pooled.advance({"other": "1\n"})
    place = Path(pooled.spawn("auth", "login").path)
    assert pooled.git("status", "--porcelain", "--ignored", cwd=place) == ""
    assert pooled.git("rev-parse", "HEAD", cwd=place) == pooled.tip()
    assert (place / FAR_AWAY / "x").read_text() == "x\n"
    assert "precious" in trashed(pooled)
    assert parked(pooled) == []


@pytest.mark.parametrize("damage", [untracked, broken])
def test_the_job_finds_it_too(pooled: World, damage: object) -> None:
    """The job that follows the target moves a changed worktree to the trash."""
    (tree,) = parked(pooled)
    assert callable(damage)
    damage(tree)
    tip = pooled.advance({"other": "1\n"})
    keep_pool(pooled.session())
    assert [one.commit for one in list_parked(open_pool(pooled.session()))] == [tip]
    assert "precious" in trashed(pooled)


def test_a_look_is_no_damage(pooled: World) -> None:
    """A program that only looks, as an editor's git does, does not spoil a parked worktree."""
    (tree,) = parked(pooled)
    os.utime(tree / "README")
    Repo(tree).git("status")
    pooled.spawn("auth", "login")
    assert parked(pooled) == []
    assert not (pooled.root / "worktrees" / ".trash").exists()


def test_one_is_taken_once(pooled: World) -> None:
    """Of two that want the same parked worktree one gets it."""
    pool = open_pool(pooled.session())
    (one,) = list_parked(pool)
    assert claim(pool, one, ".taken-1") is not None
    assert claim(pool, one, ".taken-2") is None


def test_many_at_once(world: World) -> None:
    """Concurrent spawns share the pool, and a spawn that finds it empty makes its own worktree."""
    with_pool(world, 2)
    running = [
        subprocess.Popen(world.argv("spawn", f"w{number}", f"t{number}"), cwd=world.root)
        for number in range(4)
    ]
    assert [process.wait(120) for process in running] == [0] * 4
    assert parked(world) == []
    assert len(set(world.worktrees())) == 4
    for number in range(4):
        place = world.path(f"w{number}")
        assert world.git("symbolic-ref", "HEAD", cwd=place) == f"refs/heads/w{number}/t{number}"
        assert world.git("status", "--porcelain", cwd=place) == ""


@pytest.mark.parametrize("size", [0, 1])
def test_a_branch_in_the_way(pooled: World, size: int) -> None:
    """A branch below the worker's is refused with the same message with a pool and without one."""
    pooled.git("config", "worker.worktree.pool", str(size))
    pooled.git("branch", "auth/login/more")
    with kept(pooled, "branch_blocked", Refused):
        pooled.spawn("auth", "login")
    assert len(parked(pooled)) == 1


def test_size(world: World) -> None:
    """The pool is brought to its size, up and down, and emptied on request."""
    with_pool(world, 2)
    assert len(parked(world)) == 2
    with_pool(world, 1)
    assert len(parked(world)) == 1
    state = pool_state(world.session())
    assert (state.wanted, state.tip, len(state.parked)) == (1, world.tip(), 1)
    assert empty_pool(world.session()) == 1
    assert parked(world) == []


def test_other_settings(pooled: World) -> None:
    """A setting that changes the content of a checkout invalidates the worktrees parked before."""
    pooled.git("config", "core.autocrlf", "true")
    place = Path(pooled.spawn("auth", "login").path)
    assert (place / "README").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert len(parked(pooled)) == 1
    keep_pool(pooled.session())
    (tree,) = parked(pooled)
    assert (tree / "README").read_bytes() == b"one\r\ntwo\r\nthree\r\n"


def test_the_users_hook(pooled: World) -> None:
    """The user's post-checkout runs in the new place as `git worktree add` runs it."""
    hook = pooled.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\necho "$PWD $*" >>{pooled.root}/../calls\nexit 3\n')
    hook.chmod(0o755)
    spawned = pooled.spawn("auth", "login")
    assert parked(pooled) == []
    calls = (pooled.root.parent / "calls").read_text().splitlines()
    assert calls == [f"{spawned.path} {'0' * 40} {pooled.tip()} 1"]


def landed(world: World, worker: str) -> Path:
    """Land a worker whose worktree holds a cache; return the worktree's path."""
    place = world.approved(worker, f"t-{worker}", {worker: "1\n"})
    (place / "cache.o").write_text(f"of {worker}")
    (place / ".worker.log").write_text("said\n")
    world.land(worker)
    return place


def test_a_landed_worktree_is_parked(pooled: World) -> None:
    """A landed worktree takes the place of one without caches, and the next task has its caches."""
    pooled.spawn("first", "t1")
    keep_pool(pooled.session())
    assert not landed(pooled, "bob").exists()
    wait_until(lambda: any(one.is_warm for one in list_parked(open_pool(pooled.session()))))
    keep_until_alone(pooled)
    place = Path(pooled.spawn("auth", "login").path)
    assert (place / "cache.o").read_text() == "of bob"
    assert not (place / ".worker.log").exists()
    assert pooled.git("status", "--porcelain", cwd=place) == ""
    assert pooled.git("rev-parse", "HEAD", cwd=place) == pooled.tip()
    assert pooled.git("for-each-ref", "refs/heads/bob") == ""


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_a_tracked_log_is_restored(pooled: World, kind: str) -> None:
    """A file of the project that has the log's name stays in a worktree that returns."""
    log = pooled.root / ".worker.log"
    if kind == "file":
        log.write_text("precious\n")
    elif kind == "link":
        log.symlink_to("README")
    else:
        log.mkdir()
        (log / "file").write_text("precious\n")
    pooled.git("add", "-f", "--", ".worker.log")
    pooled.git("commit", "-qm", "Ours")
    pooled.spawn("first", "t1")
    keep_pool(pooled.session())
    place = pooled.approved("bob", "t-bob", {"bob": "1\n"})
    (place / "cache.o").write_text("of bob")
    pooled.land("bob")
    wait_until(lambda: any(one.is_warm for one in list_parked(open_pool(pooled.session()))))
    keep_until_alone(pooled)
    place = Path(pooled.spawn("auth", "login").path)
    assert (place / "cache.o").read_text() == "of bob"
    assert pooled.git("status", "--porcelain", cwd=place) == ""
    assert (place / "README").read_text() == (pooled.root / "README").read_text()


def test_a_landed_worktree_is_not_parked(pooled: World) -> None:
    """Without worktree.reuse a landed worktree is deleted; the trash keeps its ignored files."""
    pooled.git("config", "worker.worktree.reuse", "false")
    landed(pooled, "bob")
    assert "of bob" in trashed(pooled)
    keep_pool(pooled.session())
    assert not any(one.is_warm for one in list_parked(open_pool(pooled.session())))
    assert "of bob" in trashed(pooled)


def test_unfinished_work_is_not_parked(pooled: World) -> None:
    """A landed worktree with untracked work stays in the trash."""
    place = pooled.approved("bob", "t-bob", {"bob": "1\n"})
    (place / "note").write_text("precious")
    pooled.land("bob")
    keep_pool(pooled.session())
    assert "precious" in trashed(pooled)
    assert not any(one.is_warm for one in list_parked(open_pool(pooled.session())))


def test_refs_of_its_own_are_not_parked(pooled: World) -> None:
    """A landed worktree with refs of its own (refs/worktree/) stays in the trash with them."""
    place = pooled.approved("auth", "login", {"a": "1\n"})
    kept = pooled.git("commit-tree", "-m", "Experiment", "HEAD^{tree}", cwd=place)
    pooled.git("update-ref", "refs/worktree/keep", kept, cwd=place)
    pooled.land("auth")
    keep_pool(pooled.session())
    found = (pooled.root / "worktrees/.trash").glob("*auth*/admin/refs/worktree/keep")
    assert [path.read_text().strip() for path in found] == [kept]


def test_a_reader_does_not_stop_the_job(world: World) -> None:
    """A job that begins while a command reads the pool still fills it."""
    world.git("config", "worker.worktree.pool", "1")
    lock = Path(world.session().paths.locks) / "pool"
    with lock.open("w") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert not pool_state(world.session()).working
        Timer(0.3, lambda: fcntl.flock(looking, fcntl.LOCK_UN)).start()
        keep_pool(world.session())
    assert len(parked(world)) == 1


def test_a_running_job_is_left_alone(world: World) -> None:
    """If a job is at work another does not wait, and `pool` reports it."""
    world.git("config", "worker.worktree.pool", "1")
    lock = Path(world.session().paths.locks) / "pool"
    with lock.open("w") as keeping:
        fcntl.flock(keeping, fcntl.LOCK_EX)
        assert pool_state(world.session()).working
        keep_pool(world.session())
    assert parked(world) == []


def keep_until_alone(world: World) -> None:
    """Wait until no job of the background keeps the pool."""
    wait_until(lambda: not pool_state(world.session()).working)


def link_to_the_original(copy: World, original: World) -> None:
    """Let the pool's entry in a copy be a symbolic link to the original's."""
    (tree,) = (original.root / "worktrees" / ".pool").glob("parked-*")
    here = copy.root / "worktrees" / ".pool" / tree.name
    shutil.rmtree(here)
    here.symlink_to(tree)


def link_in_an_entry(copy: World, original: World) -> None:
    """Let the parked worktree in a copy be a symbolic link to the original's."""
    (entry,) = (original.root / "worktrees" / ".pool").glob("parked-*")
    here = copy.root / "worktrees" / ".pool" / entry.name
    shutil.rmtree(here / "tree")
    (here / "tree").symlink_to(entry / "tree")


def copy_as_it_is(copy: World, original: World) -> None:
    """Leave the copy unchanged after `cp -a`."""


def inventory(top: Path) -> dict[str, object]:
    """Return each path below a directory with its content and time."""
    found: dict[str, object] = {}
    for path in sorted(top.rglob("*")):
        known = path.lstat()
        is_file = path.is_file() and not path.is_symlink()
        found[str(path)] = (known.st_mtime_ns, known.st_ino, path.read_bytes() if is_file else "")
    return found


@pytest.mark.parametrize("verb", [("spawn", "web", "pages"), ("pool",), ("pool", "--empty")])
@pytest.mark.parametrize("kind", [copy_as_it_is, link_to_the_original, link_in_an_entry])
def test_pool_in_a_copied_repository(
    pooled: World, kind: Callable[[World, World], None], verb: tuple[str, ...]
) -> None:
    """A copy of a repository neither takes nor changes the worktrees parked for the original."""
    copy = World(pooled.root.parent / "copy")
    subprocess.run(["cp", "-a", pooled.root, copy.root], check=True)
    kind(copy, pooled)
    before = inventory(pooled.root)
    assert parked(copy) == []
    assert run(copy.root, *verb).status == 0
    copy.advance({f"{FAR_AWAY}/x": "newer\n"})
    keep_pool(copy.session())
    wait_until(lambda: not is_at_work(copy.root))
    assert len(parked(copy)) == 1
    assert run(copy.root, "spawn", "last", "one").status == 0
    assert copy.git("rev-parse", "--git-common-dir", cwd=copy.path("last")) == f"{copy.root}/.git"
    assert inventory(pooled.root) == before
