"""Work on top of other workers' work: its base, when it lands, and without which commits."""

from pathlib import Path

import pytest

from fixtures.repos import Repo, lines
from gitworker.branches.rules_stack import ParentState
from gitworker.branches.stack import parent_state_of, parents_of
from gitworker.bus.drain import drain
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.landing.merge import Landed, NotLanded
from gitworker.lifecycle.fail import fail
from gitworker.model.ids import Oid
from gitworker.observe.workers.diff import DiffOptions, read_diff
from gitworker.observe.workers.stack_base import own_fork_point
from gitworker.workers.cancel import cancel, reset
from gitworker.workers.start import start
from gitworker.workers.sync import sync
from tests.workers.world import World, kept, unchanged

TEXT = {"f": lines(20)}


def on_top(world: World, branch: str, parent: str, files: dict[str, str]) -> Path:
    """Spawn the worker of a branch on another, start it and commit; return its worktree."""
    worker, task = branch.split("/")
    world.spawn(worker, task, start=parent)
    start(world.session(), worker, pid=None)
    world.commit(worker, files, f"By {worker}")
    return world.path(worker)


def stacked(world: World) -> Path:
    """A parent with one commit and a child on top of it; return the parent's worktree."""
    world.advance(TEXT, "A file")
    place = world.working("auth", "login", {"f": lines(20, {2: "parent"})})
    on_top(world, "ui/form", "auth", {"f": lines(20, {2: "parent", 17: "child"})})
    return place


def fate(world: World, worker: str = "ui", task: str = "form") -> ParentState | None:
    """Return the state of a stacked worker's parent, None if it is stacked on no worker."""
    with world.session().store.read() as reader:
        stack = parents_of(reader).get((worker, task))
        return None if stack is None else parent_state_of(reader, stack)


def subjects(world: World, revisions: str) -> list[str]:
    """Return the subjects of commits, oldest first."""
    return world.git("log", "--reverse", "--format=%s", revisions).splitlines()


@pytest.mark.parametrize("name", ["auth", "login", "auth/login"])
def test_start_on_a_worker(world: World, name: str) -> None:
    """Worker, task and branch all name the worker whose branch the new one is stacked on."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start=name)
    assert world.tip("ui/form") == world.tip("auth/login")
    (row,) = world.rows()["stacks"]
    assert row[:6] == ("ui", "form", "auth", "login", "auth/login", world.tip("auth/login"))
    assert fate(world) is ParentState.AHEAD
    drain(world.session())
    progress = world.messages("task_progress")
    assert [one["commit"] for one in progress] == [world.tip("auth/login")]


@pytest.mark.parametrize("name", ["refs/heads/auth/login", "auth/login~0"])
def test_start_on_a_commit(world: World, name: str) -> None:
    """A full ref and any other revision are commits and no more."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start=name)
    assert world.tip("ui/form") == world.tip("auth/login")
    assert world.rows()["stacks"] == []


def test_start_on_a_worker_without_work(world: World) -> None:
    """A worker that holds no task is no parent."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    with unchanged(world, kind=NotFound):
        world.spawn("ui", "form", start="auth")


def test_ambiguous_start(world: World) -> None:
    """A name that is a worker's and a tag's at another commit is refused, with both spellings."""
    world.working("auth", "login", {"a": "1\n"})
    world.git("tag", "login", "main")
    with unchanged(world, "ambiguous_start") as caught:
        world.spawn("ui", "form", start="login")
    assert caught.value.hint == (
        "git worker spawn --from refs/tags/login <worker> <task>   # or: --from auth/login"
    )
    world.git("tag", "-f", "login", "auth/login")
    world.spawn("ui", "form", start="login")


def test_parent_without_a_branch(world: World) -> None:
    """A parent whose branch was deleted is not found."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    with unchanged(world, kind=NotFound):
        world.spawn("ui", "form", start="auth")


def test_circle(world: World) -> None:
    """A task that was given back cannot be started again on work that is stacked on it."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth")
    world.spawn("docs", "words", start="ui")
    fail(world.session(), "auth", reason="stuck")
    reset(world.session(), "auth")
    with unchanged(world, "stacked_in_a_circle"):
        world.spawn("auth", "login", start="docs")


def test_lands_after_its_parent(world: World) -> None:
    """A child is neither approved nor merged before its parent, and the hint names the command."""
    stacked(world)
    world.submit("auth")
    world.submit("ui")
    with unchanged(world, "parent_first") as caught:
        world.approve("ui")
    assert caught.value.hint is not None
    assert "git worker approve auth ui" in caught.value.hint
    world.approve("auth")
    world.approve("ui")
    with kept(world, "parent_first", Refused):
        world.land("ui")
    world.land("auth")
    world.land("ui")
    assert subjects(world, "main~2..main") == ["Work", "By ui"]


def test_stack_lands_as_one_window(world: World) -> None:
    """Three workers, each on top of the other, land in order, each with its own commits."""
    world.working("auth", "login", {"a": "1\n"})
    on_top(world, "ui/form", "auth", {"b": "2\n"})
    on_top(world, "docs/words", "form", {"c": "3\n"})
    first = world.tip()
    world.advance({"other": "o\n"})
    for name in ("auth", "ui", "docs"):
        world.submit(name)
        world.approve(name)
    results = world.merge(everything=True)
    assert all(isinstance(result, Landed) for result in results)
    assert subjects(world, f"{first}..main") == ["By another author", "Work", "By ui", "By docs"]


def test_stack_named_in_the_wrong_order(world: World) -> None:
    """Named in the wrong order the child is refused and the parent lands."""
    stacked(world)
    for name in ("auth", "ui"):
        world.submit(name)
        world.approve(name)
    results = {one.worker_id: type(one) for one in world.merge("ui", "auth")}
    assert results["auth"] is Landed
    if results["ui"] is NotLanded:
        world.land("ui")
    assert subjects(world, "main~2..main") == ["Work", "By ui"]


def test_parent_amended_and_landed(world: World) -> None:
    """Old commits of an amended parent are dropped from the child: its own commit fits."""
    place = stacked(world)
    Repo(place).commit("Amended", {"f": lines(20, {2: "amended"})}, "--amend")
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    assert fate(world) is ParentState.LANDED
    assert world.submit("ui").conflicts == ()
    world.approve("ui")
    world.land("ui")
    assert subjects(world, "main~2..main") == ["Amended", "By ui"]
    assert world.show("f") == lines(20, {2: "amended", 17: "child"}).strip()


def test_parent_amended_after_the_child_was_approved(world: World) -> None:
    """An approved child stays approved: its patches are unchanged."""
    place = stacked(world)
    for name in ("auth", "ui"):
        world.submit(name)
        world.approve(name)
    Repo(place).commit("Amended", {"f": lines(20, {2: "amended"})}, "--amend")
    with pytest.raises(Conflict) as caught:
        world.land("auth")
    assert caught.value.code == "approval_withdrawn"
    world.approve("auth", at="auth/login")
    assert [type(one) for one in world.merge("auth", "ui")] == [Landed, Landed]
    assert subjects(world, "main~2..main") == ["Amended", "By ui"]


def test_parent_withdrawn(world: World) -> None:
    """Cancelled work does not land with the work that is stacked on it."""
    stacked(world)
    cancel(world.session(), "auth")
    assert fate(world) is ParentState.WITHDRAWN
    world.submit("ui")
    assert world.approve("ui").without == "auth/login"
    world.land("ui")
    assert subjects(world, "main~1..main") == ["By ui"]
    assert world.show("f") == lines(20, {17: "child"}).strip()


@pytest.mark.parametrize("goes_on", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("is_synced", [False, True], ids=["", "synced"])
def test_parent_withdrawn_after_commits(world: World, *, goes_on: bool, is_synced: bool) -> None:
    """Commits that the parent had when the child was approved on it are not the child's."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    on_top(world, "ui/form", "auth", {"u": "1\n"})
    world.submit("ui")
    world.approve("auth")
    Repo(place).commit("Amended", {"a": "1\n2\n"}, "--amend")
    world.approve("ui")
    if goes_on:
        Repo(place).commit("Again", {"a": "3\n"}, "--amend")
    cancel(world.session(), "auth")
    assert subjects(world, "main..ui/form") == ["Amended", "By ui"]
    if is_synced:
        sync(world.session(world.path("ui")))
        assert subjects(world, "main..ui/form") == ["By ui"]
    before = world.tip()
    (result,) = world.merge("ui")
    if isinstance(result, NotLanded):
        world.approve("ui")
        world.land("ui")
    assert subjects(world, f"{before}..main") == ["By ui"]


def test_child_rebased_by_hand(world: World) -> None:
    """Copies of the parent's commits, made by a rebase onto the target, are not the child's."""
    place = stacked(world)
    world.advance({"other": "o\n"})
    world.git("rebase", "-q", "main", cwd=world.path("ui"))
    Repo(place).commit("Amended", {"f": lines(20, {2: "amended"})}, "--amend")
    assert world.submit("ui").commits == 1
    world.submit("auth")
    world.approve("auth")
    world.approve("ui")
    assert [type(one) for one in world.merge("auth", "ui")] == [Landed, Landed]
    assert subjects(world, "main~2..main") == ["Amended", "By ui"]


def test_without_reflogs(world: World) -> None:
    """If git keeps no reflogs, as in bare repositories, the parent's present tip counts."""
    world.git("config", "core.logAllRefUpdates", "false")
    place = stacked(world)
    newest = Repo(place).commit("More", {"late": "l\n"})
    world.git("rebase", "-q", newest, cwd=world.path("ui"))
    session, worker = world.session(), world.worker("ui")
    tip, target = Oid(world.tip("ui/form")), Oid(world.tip())
    assert own_fork_point(session, worker, tip=tip, target=target) == newest


def test_submit_counts_own_commits(world: World) -> None:
    """A child without a commit of its own hands nothing in; with one it is one."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth")
    start(world.session(), "ui", pid=None)
    with unchanged(world, "empty_branch"):
        world.submit("ui")
    world.commit("ui", {"b": "2\n"})
    assert world.submit("ui").commits == 1


def test_submit_foresees_conflicts_with_the_parent(world: World) -> None:
    """Files that would conflict with the present parent are reported at once."""
    place = stacked(world)
    Repo(place).commit("More", {"f": lines(20, {17: "theirs"})})
    assert world.submit("ui").conflicts == ("f",)
    world.submit("auth")
    world.approve("auth")
    with pytest.raises(Conflict) as caught:
        world.approve("ui")
    assert "conflicts with auth/login" in caught.value.message


def test_diff_shows_own_commits(world: World) -> None:
    """The diff of a child begins at its own commits."""
    stacked(world)
    session = world.session()
    text = read_diff(session, world.worker("ui"), DiffOptions()).text
    assert "+child" in text
    assert "+parent" not in text


def test_sync_onto_the_parent(world: World) -> None:
    """While the parent is to land, sync rebases the child onto the parent's present branch."""
    place = stacked(world)
    amended = Repo(place).commit("Amended", {"f": lines(20, {2: "amended"})}, "--amend")
    done = sync(world.session(world.path("ui")))
    assert (done.target, done.parent) == (amended, "auth/login")
    assert world.tip("ui/form~1") == amended
    (row,) = world.rows()["stacks"]
    assert row[5] == amended
    assert sync(world.session(world.path("ui"))).new == done.new


def test_sync_onto_the_target(world: World) -> None:
    """After the parent has landed, sync brings the child onto the target."""
    place = stacked(world)
    Repo(place).commit("Amended", {"f": lines(20, {2: "amended"})}, "--amend")
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    done = sync(world.session(world.path("ui")))
    assert (done.target, done.parent) == (world.tip(), None)
    assert world.tip("ui/form~1") == world.tip()
    assert fate(world) is ParentState.LANDED


def test_sync_drops_a_withdrawn_parent(world: World) -> None:
    """After the parent was cancelled the child has its own commits and is stacked on no worker."""
    stacked(world)
    cancel(world.session(), "auth")
    sync(world.session(world.path("ui")))
    assert subjects(world, "main..ui/form") == ["By ui"]
    assert fate(world) is None


def test_sync_takes_the_parents_commits(world: World) -> None:
    """On request the child keeps the commits of its parent as its own, and waits for no worker."""
    stacked(world)
    cancel(world.session(), "auth")
    world.advance({"other": "o\n"})
    sync(world.session(world.path("ui")), "take")
    assert subjects(world, "main..ui/form") == ["Work", "By ui"]
    assert fate(world) is None
    assert world.submit("ui").commits == 2


def test_sync_stops_and_continues(world: World) -> None:
    """A stopped rebase onto the parent continues, and the parent's commit is recorded then."""
    place = stacked(world)
    newer = Repo(place).commit("More", {"f": lines(20, {17: "theirs"})})
    child = world.path("ui")
    with pytest.raises(Conflict):
        sync(world.session(child))
    Repo(child).write({"f": lines(20, {2: "parent", 17: "both"})})
    world.git("add", "f", cwd=child)
    done = sync(world.session(child), "continue")
    assert (done.new, world.tip("ui/form~1")) == (world.tip("ui/form"), newer)
    (row,) = world.rows()["stacks"]
    assert row[5] == newer


def test_sync_abort(world: World) -> None:
    """An aborted rebase leaves branch and record as they were, even without the parent's branch."""
    place = stacked(world)
    Repo(place).commit("More", {"f": lines(20, {17: "theirs"})})
    child, rows = world.path("ui"), world.rows()["stacks"]
    old = world.tip("ui/form")
    with pytest.raises(Conflict):
        sync(world.session(child))
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    sync(world.session(child), "abort")
    assert (world.tip("ui/form"), world.rows()["stacks"]) == (old, rows)


def test_parent_branch_was_deleted(world: World) -> None:
    """A parent that is to land and has lost its branch stops the child with a reason."""
    place = stacked(world)
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    with pytest.raises(NotFound) as caught:
        world.submit("ui")
    assert caught.value.hint == "git worker show auth"


def test_started_again_on_no_worker(world: World) -> None:
    """A task that is assigned again, from the target, is stacked on no worker."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth")
    start(world.session(), "ui", pid=None)
    fail(world.session(), "ui", reason="stuck")
    reset(world.session(), "ui")
    assert fate(world) is ParentState.AHEAD
    world.spawn("ui", "form")
    assert fate(world) is None
