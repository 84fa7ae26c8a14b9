"""The hints of races, which another process causes at the same moment, help after them."""

import fcntl
import os
import shutil
from collections.abc import Callable

import pytest

from gitworker.errors import GitWorkerError
from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.plumbing.refs import move_ref
from gitworker.repo.rescue.trash import TrashEntry, move_to_trash, restore_from_trash
from gitworker.repo.worktrees.branch_rename import rename_branch
from gitworker.repo.worktrees.worktree_list import add_worktree
from gitworker.store.sqlite.migrate import open_database
from gitworker.verify.verify_worktree import verify_root
from gitworker.workers.submit import _advance
from tests.hints.case import Case, by, check, check_error
from tests.hints.test_usage_hints import W, _fresh, _working
from tests.hints.test_worker_hints import locked
from tests.workers.world import World

AUTH = ref_of(Branch("auth/login"))


def switched(world: World) -> None:
    """Move a branch that its worktree has left at this moment."""
    _working(world)
    place = world.path("auth")
    world.git("switch", "-q", "-c", "elsewhere", cwd=place)
    tip, main = Oid(world.tip("auth/login")), Oid(world.tip())
    move_branch(world.session().git, ref=AUTH, old=tip, new=main, worktree=str(place))


def moved(world: World) -> None:
    """Move a ref that another process has moved."""
    _working(world)
    main = Oid(world.tip())
    move_ref(world.session().git, AUTH, old=main, new=main, reason="test")


def deleted(world: World) -> None:
    """Move a ref that another process has deleted."""
    _working(world)
    main = Oid(world.tip())
    move_ref(world.session().git, ref_of(Branch("gone")), old=main, new=main, reason="test")


def renamed(world: World) -> None:
    """Rename a branch that another process has moved."""
    _working(world)
    new = ref_of(Branch("auth/next"))
    rename_branch(world.session().git, AUTH, new, tip=Oid(world.tip()))


def branch_appears(world: World) -> None:
    """Make a worktree for a branch that another process has made."""
    _working(world)
    add_worktree(
        world.session().git, path=str(world.root / "x"), branch=Branch("auth/login"),
        base=Oid(world.tip()),
    )  # fmt: skip


def place_appears(world: World) -> None:
    """Make a worktree where another process has made a directory."""
    _working(world)
    add_worktree(
        world.session().git, path=str(world.path("auth")), branch=Branch("fresh"),
        base=Oid(world.tip()),
    )  # fmt: skip


def locked_meanwhile(world: World) -> None:
    """Remove a worktree that its user has locked at this moment."""
    locked(world)
    _to_trash(world)


def place_taken_meanwhile(world: World) -> None:
    """Restore a worktree where another process has made a directory."""
    _working(world)
    world.git("worktree", "unlock", str(world.path("auth")))
    entry = _to_trash(world)
    world.path("auth").mkdir()
    restore_from_trash(entry)


def reassigned(world: World) -> None:
    """Hand work in of a worker to which another command has given another task."""
    _working(world)
    worker, session = world.worker("auth"), world.session()
    by(W + "cancel auth", W + "spawn auth next")(world)
    with session.store.write() as writer:
        _advance(writer, session, worker, {})


def _to_trash(world: World) -> TrashEntry:
    place = world.path("auth")
    return move_to_trash(
        worktree=str(place), admin_dir=world.git("rev-parse", "--absolute-git-dir", cwd=place),
        trash_root=f"{world.state_dir}/trash", name="auth", stamp="1",
    )  # fmt: skip


def no_database(world: World) -> None:
    """Open a database that another process has deleted."""
    open_database(f"{world.root}/bus.db")


PROGRAM = "git-worker"  # git itself would put another `git` first on PATH

RACES: tuple[tuple[Callable[[World], None], str], ...] = (
    (switched, "git -C {} status"), (moved, "git reflog show {}"), (deleted, W + "fsck"),
    (renamed, "git reflog show {}"), (branch_appears, "git branch --list {}"),
    (place_appears, "ls -la {}"), (locked_meanwhile, "git worktree unlock {}"),
    (place_taken_meanwhile, "ls -la {}"), (no_database, W + "init"),
    (reassigned, W + "show {}"),
)  # fmt: skip


@pytest.mark.parametrize(("race", "hint"), RACES, ids=lambda one: getattr(one, "__name__", None))
def test_the_hint_of_a_race_helps(quiet: World, race: Callable[[World], None], hint: str) -> None:
    """The loser of a race names a command that works afterwards."""
    with pytest.raises(GitWorkerError) as caught:
        race(quiet)
    check_error(quiet, caught.value, hint)


def put_git(world: World, script: str) -> dict[str, str]:
    """Put a `git` on PATH that runs a script first; return the variable. `$git` is the real one."""
    real = shutil.which("git")
    wrapper = world.root.parent / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\ngit={real}\n{script}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    return {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}


def take_git_away(world: World) -> None:
    """Leave only the real git on PATH."""
    (world.root.parent / "bin" / "git").unlink()


def test_the_hint_of_a_moving_log_helps(quiet: World) -> None:
    """An export into git loses against a process that moves the ref each time, and works later."""
    _working(quiet)
    export = W + "msg export --git"
    moves = (
        f'case " $* " in *" commit-tree "*) $git -C {quiet.root} update-ref refs/worker/log'
        f" $($git -C {quiet.root} commit-tree -m $$ main^{{tree}});; esac"
    )
    env, meets = put_git(quiet, moves), take_git_away
    check(quiet, Case(_fresh, f"{PROGRAM} msg export --git", export, meets=meets, env=env))


def test_the_hint_about_a_verify_worktree_helps(quiet: World) -> None:
    """A verify worktree whose HEAD another process moves is made again once it is deleted."""
    quiet.advance({"README": "changed\n"})
    quiet.git("config", "worker.verify.commands", "true")
    quiet.session()
    tree = f"{verify_root(quiet.session())}/1"
    moves = (
        f'case " $* " in *" worktree add "*) $git "$@" || exit; exec $git -C {tree}'
        " update-ref --no-deref HEAD main~1;; esac"
    )
    env, meets = put_git(quiet, moves), take_git_away
    check(quiet, Case(_fresh, f"{PROGRAM} verify", "rm -rf {}", meets=meets, env=env))


@pytest.mark.parametrize("option", ["", " --git"])
def test_the_hint_of_a_held_export_lock_helps(quiet: World, option: str) -> None:
    """A command that stops while it writes the log files is named, and the export ends after it."""
    _working(quiet)
    holder = os.open(quiet.state_dir / "export.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    fcntl.flock(holder, fcntl.LOCK_EX)
    export = W + "msg export"
    check(quiet, Case(_fresh, f"{export}{option}", export, meets=lambda _: os.close(holder)))
