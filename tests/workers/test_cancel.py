"""cancel and reset: the worker is free, its work is rescued, and no other worker is touched."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitworker.errors import NotFound
from gitworker.lifecycle.fail import fail
from gitworker.liveness.process_origin import this_origin
from gitworker.observe.workers.show import read_show
from gitworker.processes.table import find_start
from gitworker.progress import Notice
from gitworker.states.engine import InvalidTransition
from gitworker.store.workers import set_process
from gitworker.workers.cancel import cancel, recycle, reset
from tests.landing.test_merge_cleanup import HOLD, every_object, trashed
from tests.workers.dirty_worktree import make_dirty, open_rebase
from tests.workers.world import World, unchanged


def test_cancel(world: World) -> None:
    """A cancelled worker is IDLE and its task CANCELLED; branch and worktree are deleted."""
    place = world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    freed = cancel(world.session(), "auth")
    assert (freed.task_id, freed.rescue_ref) == ("login", "refs/worker/rescue/auth/login/1")
    assert world.refs()["refs/worker/rescue/auth/login/1"] == tip
    assert world.states("auth", "login") == ("IDLE", "CANCELLED")
    row = world.worker("auth")
    assert (row.task_id, row.branch, row.worktree, row.pid) == (None, None, None, None)
    assert not place.exists()
    assert world.worktrees() == []
    assert "refs/heads/auth/login" not in world.refs()
    assert world.query("SELECT * FROM task_claims") == []


@pytest.mark.parametrize("stage", ["spawn", "in_review", "approved"])
def test_cancel_from_every_stage(world: World, stage: str) -> None:
    """A task can be withdrawn at any stage before it lands."""
    files = () if stage == "spawn" else ({"a": "1\n"},)
    getattr(world, stage)("auth", "login", *files)
    cancel(world.session(), "auth")
    assert world.states("auth", "login") == ("IDLE", "CANCELLED")


def test_rescue_holds_uncommitted_work(world: World) -> None:
    """Uncommitted and untracked work is in the rescue ref; ignored files are in no object."""
    place = world.working("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    (place / "secret.o").write_text("the-secret-key")
    freed = cancel(world.session(), "auth")
    assert freed.rescue_ref is not None
    assert world.show("new/deep", freed.rescue_ref) == "untracked"
    assert world.show("README", freed.rescue_ref) == "staged, then changed"
    assert world.show("README", f"{freed.rescue_ref}^2") == "staged"
    assert b"the-secret-key" not in every_object(world)
    (tree,) = trashed(world)
    assert (tree / "secret.o").read_text() == "the-secret-key"


@pytest.mark.parametrize("verb", ["cancel", "reset", "merge"])
@pytest.mark.parametrize("head", ["0" * 40, "", "1" * 40])
def test_beside_a_worktree_that_is_being_made(world: World, verb: str, head: str) -> None:
    """`git worktree add` of another process, running or killed half-way, hinders no removal."""
    if verb == "merge":
        world.approved("auth", "login", {"a": "1\n"})
    else:
        place = world.working("auth", "login", {"a": "1\n"})
        world.git("commit", "--amend", "-qm", "Again", cwd=place)  # the log names a lost commit
    if verb == "reset":
        fail(world.session(), "auth", reason="no use")
    admin = world.root / ".git/worktrees/half"
    admin.mkdir()
    for name, text in (("gitdir", "/half/.git"), ("commondir", "../.."), ("HEAD", head)):
        (admin / name).write_text(f"{text}\n")
    done = world.drive(verb, "auth")
    assert (done.returncode, done.stderr) == (0, "")
    assert "refs/heads/auth/login" not in world.refs()
    if verb != "merge":
        assert len([ref for ref in world.refs() if "/rescue/auth/" in ref]) == 2


def test_open_rebase_is_rescued(world: World) -> None:
    """The commits that an open rebase has made are kept with the branch's tip."""
    place = world.working("auth", "login", {"a": "1\n"})
    open_rebase(world, place)
    tip, head = world.tip("auth/login"), world.git("rev-parse", "HEAD", cwd=place)
    freed = cancel(world.session(), "auth")
    assert freed.rescue_ref is not None
    kept = world.git("rev-list", freed.rescue_ref).splitlines()
    assert {tip, head} <= set(kept)


def test_occupied(world: World) -> None:
    """A worktree with a process in it is not deleted."""
    place = world.working("auth", "login", {"a": "1\n"})
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        with unchanged(world, "occupied") as caught:
            cancel(world.session(), "auth")
        agent.communicate(b"")
    assert str(agent.pid) in caught.value.message


def test_gits_own_upkeep_is_no_occupant(world: World) -> None:
    """If git still packs after the last commit, cancel waits until it has ended."""
    place = world.working("auth", "login", {"a": "1\n"})
    argv = ["git", "-c", "read -r line; :", "maintenance", "run", "--auto", "--detach"]
    with subprocess.Popen(argv, executable="/bin/sh", cwd=place, stdin=subprocess.PIPE) as upkeep:
        assert upkeep.stdin is not None
        threading.Timer(0.3, upkeep.stdin.close).start()
        assert cancel(world.session(), "auth").rescue_ref is not None
    assert not place.exists()


def test_locked(world: World) -> None:
    """A worktree that its user locked is not deleted, and nothing is left half done."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("worktree", "unlock", str(place))  # as the agent had it locked
    world.git("worktree", "lock", str(place))
    with unchanged(world, "worktree_locked"):
        cancel(world.session(), "auth")
    world.git("worktree", "unlock", str(place))
    cancel(world.session(), "auth")


def test_worktree_removed_by_hand(world: World) -> None:
    """Without its worktree a task is withdrawn all the same, its commits rescued."""
    place = world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    world.git("worktree", "remove", "--force", "--force", str(place))
    freed = cancel(world.session(), "auth")
    assert freed.rescue_ref is not None
    assert world.refs()[freed.rescue_ref] == tip


def test_branch_deleted_by_hand(world: World) -> None:
    """Without its branch a task is withdrawn all the same, the worktree kept in the trash."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    freed = cancel(world.session(), "auth")
    assert freed.worker.state == "IDLE"
    (tree,) = trashed(world)
    assert (tree / "a").read_text() == "1\n"
    assert freed.rescue_ref is not None
    assert world.show("a", freed.rescue_ref) == "1"


def test_branch_deleted_under_its_worktree(world: World) -> None:
    """A branch whose ref was deleted is rescued from the reflog, with its uncommitted work."""
    place = world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    (place / "new").write_text("untracked\n")
    world.git("update-ref", "-d", "refs/heads/auth/login")
    freed = cancel(world.session(), "auth")
    assert freed.rescue_ref is not None
    assert world.tip(f"{freed.rescue_ref}^1") == tip
    assert world.show("new", freed.rescue_ref) == "untracked"


def test_nothing_to_rescue(world: World) -> None:
    """Without branch, worktree and reflog a task is withdrawn all the same."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("update-ref", "-d", "refs/heads/auth/login")
    admin = world.worker("auth").admin_dir
    (Path(admin or "") / "logs" / "HEAD").write_text("")
    assert cancel(world.session(), "auth").rescue_ref is None
    assert not place.exists()


def test_cancel_of_a_free_worker(world: World) -> None:
    """A worker without a task has nothing to withdraw."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    before = world.picture()
    said: list[object] = []
    again = cancel(world.session(report=said.append), "auth")
    assert (again.worker.state, again.task_id, again.rescue_ref) == ("IDLE", None, None)
    assert said == [Notice("worker auth has no task: nothing changed")]
    assert reset(world.session(), "auth").task_id is None
    assert recycle(world.session(), "auth").state == "IDLE"
    assert world.picture() == before


def test_cancel_of_an_unknown_worker(world: World) -> None:
    """An unknown name is not found."""
    with unchanged(world, "not_found", NotFound):
        cancel(world.session(), "unknown")


def test_reset(world: World) -> None:
    """Resetting a FAILED worker rescues its work and does not change its task."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    tip = world.tip("auth/login")
    freed = reset(world.session(), "auth")
    assert world.states("auth", "login") == ("IDLE", "FAILED")
    assert freed.rescue_ref is not None
    assert world.refs()[freed.rescue_ref] == tip
    assert world.worktrees() == []


def test_reset_of_a_working_worker(world: World) -> None:
    """Only a FAILED worker is reset."""
    world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "invalid_transition", InvalidTransition):
        reset(world.session(), "auth")


def test_recycle_of_a_working_worker(world: World) -> None:
    """Only a COMPLETED worker is recycled."""
    world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "invalid_transition", InvalidTransition):
        recycle(world.session(), "auth")


def test_cancel_of_a_failed_worker_spares_the_new_holder(world: World) -> None:
    """Cancelling a FAILED worker touches neither the task nor the claim of its new worker."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    world.spawn("docs", "login")
    claims = world.query("SELECT * FROM task_claims")
    task = world.task("login")
    cancel(world.session(), "auth")
    assert world.states("docs", "login") == ("ASSIGNED", "ASSIGNED")
    assert world.task("login") == task
    assert world.query("SELECT * FROM task_claims") == claims
    assert world.path("docs").is_dir()


def test_older_worktree_of_the_task_moves_aside(world: World) -> None:
    """A task that is given to another worker gets its place; the older worktree is kept beside."""
    place = world.working("auth", "login", {"a": "1\n"})
    (place / "left").write_text("uncommitted\n")
    fail(world.session(), "auth", reason="stuck")
    assert world.spawn("docs", "login").path == str(place)
    aside = world.path("auth")
    assert aside.name == "login@auth"
    assert (aside / "left").read_text() == "uncommitted\n"
    assert world.git("status", "--porcelain", cwd=aside) == "?? left"


def test_older_worktree_with_an_agent_stays(world: World) -> None:
    """While an agent lives in the older worktree, the new one is made beside it."""
    place = world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        assert world.spawn("docs", "login").path == f"{place}@docs"
        agent.communicate(b"")
    assert world.path("auth") == place


def test_older_worktree_of_a_running_agent_stays(world: World) -> None:
    """While the recorded process of the older worker runs, its worktree keeps its path."""
    place = world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        with world.session().store.write() as writer:
            set_process(
                writer, "auth", pid=agent.pid, start=find_start(agent.pid), origin=this_origin()
            )
        assert world.spawn("docs", "login").path == f"{place}@docs"
        agent.communicate(b"")
    assert world.path("auth") == place


def test_a_reset_task_gets_another_path(world: World) -> None:
    """The next worker of a reset task gets a path of its own, and reads of the rescued work."""
    place = world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    kept = reset(world.session(), "auth").rescue_ref
    assert world.spawn("docs", "login").path == f"{place}@docs"
    assert world.messages("task_assign")[-1]["rescued"] == [kept]
    view = read_show(world.session(), world.worker("docs"))
    assert [one.ref for one in view.rescues] == [kept]


def test_a_reset_task_gets_its_path_again(world: World) -> None:
    """The worker itself gets the path of its reset task again."""
    place = world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    reset(world.session(), "auth")
    assert world.spawn("auth", "login").path == str(place)


def test_a_cancelled_task_by_its_id(world: World) -> None:
    """A second cancel of the same task changes nothing, also after the worker got another task."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "login")
    before = world.picture()
    assert cancel(world.session(), "login").worker.state == "IDLE"
    assert world.picture() == before
    world.spawn("auth", "logout")
    freed = cancel(world.session(), "login")
    assert (freed.task_id, freed.worker.task_id) == (None, "logout")
    with pytest.raises(NotFound):
        cancel(world.session(), "nothing")
