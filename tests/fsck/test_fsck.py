"""fsck reports nothing on a sound repository, and repairs planted damage without loss."""

import ast
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.fsck import fsck
from gitworker.fsck.finding import Finding
from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.review.comments.send import reject
from gitworker.workers.cancel import cancel, reset
from gitworker.workers.start import resume
from gitworker.workers.worktree_hooks import uninstall_everything
from tests.architecture.house import ROOT
from tests.crash.conftest import FRESH
from tests.crash.inventory import all_bytes
from tests.hints.following import PLACEHOLDER, Printed, note
from tests.hints.following import follow as help_failure
from tests.hints.templates import COMMAND, READS, REMARK
from tests.workers.dirty_worktree import make_dirty
from tests.workers.planting import PLANTS, broken, sql
from tests.workers.world import World, is_at_work, newest, wait_until, without_heartbeat_daemon

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
WORKERS = max(20, int(50 * SCALE))

# The copied repository is older than a claim's default lease when the last test begins.
LONG_LEASE = {"worker.claims.lease-s": "86400"}


def assert_sound(world: World) -> None:
    """Fail the test if fsck has a finding."""
    assert run_fsck(world.session()).findings == ()


def test_an_empty_repository_is_sound(world: World) -> None:
    """fsck finds nothing in a repository without workers."""
    report = run_fsck(world.session())
    assert (report.workers, report.findings) == (0, ())


def test_ordinary_operations_leave_no_findings(world: World) -> None:
    """fsck finds nothing after every ordinary operation."""
    make_dirty(world, world.working("auth", "login", {"a": "1\n"}))
    world.spawn("idle", "nothing")
    assert_sound(world)
    cancel(world.session(), "auth")
    assert_sound(world)
    undo(world.session())
    assert_sound(world)
    fail(world.session(), "auth", reason="stuck")
    reset(world.session(), "auth")
    assert_sound(world)
    undo(world.session())
    resume(world.session(), "auth", pid=os.getpid())
    world.git("checkout", "-q", ".", cwd=world.path("auth"))
    world.git("clean", "-fdq", cwd=world.path("auth"))
    world.git("reset", "-q", "--hard", cwd=world.path("auth"))
    world.submit("auth")
    assert_sound(world)
    reject(world.session(), "auth", note="more")
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    assert_sound(world)
    undo(world.session())
    assert_sound(world)
    world.approve("auth")
    world.advance({"theirs": "2\n"})
    world.land("auth")
    assert_sound(world)
    undo(world.session())
    assert_sound(world)


def test_kept_and_dirty_landings_are_sound(world: World) -> None:
    """fsck finds nothing after landings that kept a worktree or moved a dirty one to the trash."""
    for name in ("auth", "docs"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    make_dirty(world, world.path("docs"))
    world.advance({"theirs": "1\n"})
    world.land("auth", keep=True)
    world.land("docs")
    assert_sound(world)
    world.spawn("auth", "next")
    assert_sound(world)
    undo(world.session(), newest(world, "remove"))
    assert_sound(world)


def test_an_open_rebase_is_sound(world: World) -> None:
    """An open rebase in a worktree is no finding."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    assert Repo(place).run("rebase", "main").returncode
    assert_sound(world)
    world.git("rebase", "--abort", cwd=place)
    assert_sound(world)


def test_a_sync_is_sound(world: World) -> None:
    """Commits that a sync replaced are kept, including those of a resolved conflict."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.commit("auth", {"b": "1\n"})
    world.advance({"README": "theirs\n"})
    assert world.drive("sync", cwd=place).returncode == 3
    assert_sound(world)
    (place / "README").write_text("both\n")
    world.git("add", "README", cwd=place)
    assert world.drive("sync", "continue", cwd=place).returncode == 0
    assert_sound(world)


def test_landed_by_patch(world: World) -> None:
    """A rewritten target that still has the landed patches has lost no landing."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.git("commit", "-q", "--amend", "-m", "Reworded")
    found = run_fsck(world.session()).findings
    assert [one.code for one in found] == ["commit_unreachable"]
    assert run_repair(world.session()).left.findings == ()
    world.git("reset", "-q", "--hard", "HEAD~1")
    assert [one.code for one in run_fsck(world.session()).findings] == ["landing_lost"]


def test_an_operation_in_progress_is_no_finding(world: World) -> None:
    """An open operation is a finding only if no command holds the lock."""
    world.working("auth", "login", {"a": "1\n"})
    assert world.drive("cancel", "auth", GITWORKER_CRASH_AT="cancel.journal").returncode == -9
    session = world.session()
    with hold(session.landing_lock, name="landing"):
        assert run_fsck(session).findings == ()
    assert [one.code for one in run_fsck(session).findings] == ["journal_open"]
    assert run_repair(session).left.findings == ()


def test_a_check_that_cannot_run(world: World) -> None:
    """A check that cannot run is a finding, and the other checks still run."""
    world.working("auth", "login", {"a": "1\n"})
    sql(world, "DROP TABLE reviews")
    found = {one.code for one in run_fsck(world.session()).findings}
    assert "not_checked" in found


def test_uninstalled_hooks_are_sound(world: World) -> None:
    """Hooks and excludes that a user uninstalled are no finding."""
    world.working("auth", "login", {"a": "1\n"})
    uninstall_everything(world.session())
    assert_sound(world)


@pytest.mark.slow
def test_many_workers_take_few_processes(world: World, tmp_path: Path) -> None:
    """fsck starts the same few processes for any number of workers."""
    for number in range(WORKERS):
        world.spawn(f"w{number}", f"t{number}")
        if number % 5 == 0:
            world.commit(f"w{number}", {f"f{number}": "1\n"})
    session, trace = world.session(), tmp_path / "trace"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITWORKER_TRACE", str(trace))
        found = run_fsck(session)
    assert (found.workers, found.findings) == (WORKERS, ())
    assert len(trace.read_text().splitlines()) <= 8


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the repository that every plant begins with."""
    return tmp_path_factory.mktemp("planted")


@pytest.fixture
def ground(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return a new repository with workers in every state, always at the same path."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    root, copy = shelf / "repo", shelf / "copy"
    if copy.exists():
        wait_until(lambda: not is_at_work(root))  # a background deletion of the previous test
        shutil.rmtree(root)
        shutil.copytree(copy, root, symlinks=True)
    else:
        world = World.make(root)
        for key, value in {**FRESH, **LONG_LEASE}.items():
            world.git("config", key, value)
        with without_heartbeat_daemon(world):
            broken(world)
            wait_until(lambda: not list(root.glob("worktrees/.trash/*old-done*")))
            wait_until(lambda: not is_at_work(root))
        shutil.copytree(root, copy, symlinks=True)
    with without_heartbeat_daemon(World(root)):
        yield World(root)


@pytest.mark.parametrize("name", PLANTS)
def test_planted_damage_is_found(ground: World, name: str) -> None:
    """Each planted damage is found by its code, repaired if possible, and nothing is lost."""
    plant = PLANTS[name]
    assert run_fsck(ground.session()).findings == ()
    plant.make(ground)
    tips, files = reached(ground), contents(ground)
    found = run_fsck(ground.session()).findings
    assert plant.codes[0] in {one.code for one in found}, found
    assert {one.code for one in found} <= set(plant.codes), found
    repaired = run_repair(ground.session())
    assert repaired.failed == ()
    if plant.is_mendable:
        assert repaired.done
        assert repaired.left.findings == ()
        assert run_repair(ground.session()).done == ()
    else:
        assert {one.code for one in repaired.left.findings} <= set(plant.codes)
        assert all(one.repair is None for one in repaired.left.findings)
    assert tips <= reached(ground)
    assert files <= contents(ground)
    for one in repaired.left.findings:
        follow_finding(ground, one)


def follow_finding(world: World, finding: Finding) -> None:
    """Run the command that a finding names; it reads, or the finding disappears."""
    command = finding.hint.partition(REMARK)[0]
    is_known = {"<new-place>", "<clone>"} & set(PLACEHOLDER.findall(command))
    if is_known or not COMMAND.match(command):  # other tests know these words
        return
    words = command.replace("<commit>", "main")
    why = help_failure(Printed([], str(world.root), said=finding.message), words)
    if why is not None and "contains modified or untracked files" in why:
        return  # git keeps a worktree with work in it
    assert why is None, (finding, why)
    if not READS.match(command):
        assert finding not in run_fsck(world.session()).findings, command
    note(command, finding.message)


def contents(world: World) -> set[bytes]:
    """Return every file's bytes, except our records in the trash."""
    return {data for data in all_bytes(world) if not data.startswith(b'{"name": ')}


def reached(world: World) -> set[str]:
    """Return every commit that is reachable from a ref; broken refs are skipped."""
    return set(world.git("rev-list", "--ignore-missing", "--all").splitlines())


def test_every_finding_is_planted_and_documented() -> None:
    """Each code has a row in the docs, and all but three have planted damage."""
    folder = Path(fsck.__file__).parent
    codes = set()
    for path in (*folder.glob("checks/*.py"), folder / "registry.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding":
                codes.add(ast.unparse(node.args[0]).strip("'"))
    codes = (codes - {"code"}) | {"view_wrong", "review_wrong"}
    planted = {code for plant in PLANTS.values() for code in plant.codes}
    # Only a fleet has worktree_left: tests/fleet/machines/test_former_places.py.
    assert codes - planted == {"database_damaged", "not_checked", "worktree_left"}
    assert len(PLANTS) >= 20
    page = (ROOT / "docs" / "undo.md").read_text()
    assert {code for code in codes if f"`{code}`" not in page} == set()
