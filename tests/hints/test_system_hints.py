"""The hints about missing rights, other file systems and full disks help where they are printed."""

import os
import shutil
from collections.abc import Callable

import pytest

from fixtures.repos import Repo
from tests.hints.case import Case, by, check
from tests.hints.following import Printed, hints_of, note, perform
from tests.hints.test_rare_hints import behind
from tests.hints.test_usage_hints import W, _working
from tests.liveness.boxes import mounted, read_only
from tests.repo.test_partial_checkout import stop_at
from tests.store.disks import fill, small_disk
from tests.store.support import SEED2, foreign, foreign_script
from tests.workers.world import World

OWNER_ONLY = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")  # for root, too


def as_owner(_world: World) -> tuple[str, ...]:
    """Give up the right of root to write everywhere."""
    return OWNER_ONLY if os.geteuid() == 0 else ()


def on_a_mount(place: str) -> Callable[[World], tuple[str, ...]]:
    """Return the words that mount an empty file system at a place below the main checkout."""
    return lambda world: mounted(f"mount -t tmpfs none {world.root}/{place}")


def with_another_mount(world: World) -> tuple[str, ...]:
    """Let no rename reach the git directory from the main checkout."""
    return mounted(f"mount --bind {world.root}/.git {world.root}/.git")


def with_read_only_state(world: World) -> tuple[str, ...]:
    """Mount the state directory read-only."""
    return read_only(world.state_dir)


def closed_git(world: World) -> None:
    """Have a git directory in which nothing can be made, without the state directory."""
    (world.root / ".worker-state").unlink()
    world.state_dir.rename(world.root / "left")
    (world.root / ".git").chmod(0o555)


def closed_objects(world: World) -> None:
    """Have a directory of git objects that cannot be written."""
    behind(world)
    for place in (world.root / ".git/objects", *(world.root / ".git/objects").iterdir()):
        place.chmod(0o555)


def closed_root(world: World) -> None:
    """Have a directory of worktrees that cannot be written."""
    world.git("config", "worker.worktree.root", "../seats")
    _working(world)
    place = world.path("auth").parent
    (place / ".trash").mkdir()
    place.chmod(0o555)


def secret(world: World) -> None:
    """Want a copy of a file that cannot be read."""
    (world.root / "b.o").write_text("secret\n")
    (world.root / "b.o").chmod(0)
    world.git("config", "worker.worktree.copy", "*.o")


def other_trash(world: World) -> None:
    """Have a directory for the trash."""
    _working(world)
    (world.root / "worktrees/.trash").mkdir(exist_ok=True)


def other_root(world: World) -> None:
    """Configure a directory for the worktrees."""
    (world.root / "other").mkdir()
    world.git("config", "worker.worktree.root", "other")


def own_bus(world: World) -> None:
    """Have a directory with a bus that another program made, and no state directory."""
    _working(world)
    (world.root / ".worker-state").unlink()
    world.state_dir.rename(world.root / ".worker-state")


def stopping_filter(world: World) -> None:
    """Have a filter that can write no README, neither the new one nor the old one."""
    stop_at(Repo(world.root), world.root.parent, "README")


def cause_ends(world: World) -> None:
    """Let the filter work again."""
    (world.root.parent / "broken").unlink()


def stopped_landing(world: World) -> None:
    """Let a change of README wait for its landing, which the filter stops."""
    world.approved("auth", "login", {"README": "changed\n"})
    stopping_filter(world)


def stopped_rebase(world: World) -> None:
    """Advance README below work in review; the filter stops the rebase."""
    behind(world)
    stopping_filter(world)


def copied(world: World) -> None:
    """Copy the repository after a cancel of work whose branch was deleted."""
    _working(world)
    place = world.path("auth")
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-q", "-D", "auth/login")
    by(W + "cancel auth")(world)
    shutil.copytree(world.root, world.root.parent / "copy", symlinks=True)


def damaged_bus(world: World) -> None:
    """Have a directory with a file that is not a bus, and no state directory."""
    own_bus(world)
    for path in (world.root / ".worker-state").glob("bus.db*"):
        path.write_text("junk\n")


def bus_with_our_table(world: World) -> None:
    """Have a bus of another program with a table that is named like one of ours."""
    (world.root / ".worker-state").unlink()
    shutil.rmtree(world.state_dir)
    database = world.root / ".worker-state" / "bus.db"
    database.parent.mkdir()
    foreign_script(database, SEED2)
    foreign(database, "CREATE TABLE agents (name TEXT)")


def lost_database(world: World) -> None:
    """Delete the database after a command has logged its transitions."""
    _working(world)
    by(W + "list")(world)
    for path in (world.root / ".git" / "worker-state").glob("bus.db*"):
        path.unlink()


CASES = {
    "lost-database": Case(lost_database, W + "init", "mv {} {}"),
    "bus-with-our-table": Case(bus_with_our_table, W + "init", "mv {} {}-other"),
    "damaged-bus": Case(damaged_bus, W + "init", "mv {} {}-damaged"),
    "stopped-landing": Case(
        stopped_landing, W + "merge auth", "git -C {} checkout -- {}", meets=cause_ends
    ),
    "stopped-approve": Case(
        stopped_rebase, W + "approve auth", W + "recover", meets=cause_ends
    ),
    "copied": Case(copied, W + "undo", "git log {}", at="../copy"),
    "other-trash": Case(
        other_trash, W + "cancel auth", "df {} {}", within=on_a_mount("worktrees/.trash")
    ),
    "other-root": Case(
        other_root, W + "spawn auth login", "git config worker.worktree.root <directory>",
        within=on_a_mount("other"),
    ),
    "own-bus": Case(own_bus, W + "init", "mv {} {}", within=with_another_mount),
    "read-only": Case(_working, W + "doctor", "df {}", within=with_read_only_state),
    "closed-git": Case(closed_git, W + "spawn auth login", "ls -ld {}", within=as_owner),
    "closed-objects": Case(closed_objects, W + "approve auth", "ls -ld {}", within=as_owner),
    "closed-root": Case(closed_root, W + "cancel auth", "ls -ld {}", within=as_owner),
    "secret": Case(
        secret, W + "spawn auth login", "git config worker.worktree.copy <pattern>",
        within=as_owner,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_the_system_helps(quiet: World, name: str) -> None:
    """A refusal of the system names a command that shows its cause, or ends it."""
    check(quiet, CASES[name])


def test_the_hint_about_a_full_disk_helps(quiet: World) -> None:
    """A write of git that finds no space names the file system, which `df` shows full."""
    quiet.working("auth", "login", {"a": "1\n"})
    worktrees, objects = quiet.root / "worktrees", quiet.root / ".git" / "objects"
    (worktrees / "login" / "new").write_text("1\n" * 9000)
    printed = Printed([], str(worktrees / "login"))
    aside = worktrees.rename(worktrees.with_name("aside"))
    objects.rename(aside / "objects")
    objects.symlink_to(worktrees / "objects")
    with small_disk(worktrees, size_kib=1024) as disk:  # the database is on another one
        shutil.copytree(aside, disk, symlinks=True, dirs_exist_ok=True)
        filler = fill(disk)
        refused = perform(W + "done --commit -m Add", printed)
        (hint,) = hints_of(refused.out, refused.err)
        shown = perform(hint, printed)
        assert (refused.status, "100%" in shown.out, str(disk) in shown.out) == (1, True, True)
        filler.unlink()
        assert perform(W + "done --commit -m Add", printed).status == 0
        shutil.copytree(disk, aside, symlinks=True, dirs_exist_ok=True)
    shutil.copytree(aside, worktrees, symlinks=True, dirs_exist_ok=True)
    note(hint, refused.err)
