"""Workstreams with a branch of their own: tasks land on it, and it lands on the target whole."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.bus.drain import drain
from gitworker.errors import Conflict, Invalid, NotFound, Refused
from gitworker.fsck.fsck import run_fsck
from gitworker.fsck.quick.target_branch import check_target
from gitworker.journal.undo.undo import undo
from gitworker.model.ids import TaskId, WorkerId, parse_worker_id
from gitworker.model.task_spec import Need
from gitworker.observe.workers.diff import DiffOptions, read_diff
from gitworker.observe.workers.show import read_show
from gitworker.observe.workers.status import read_status
from gitworker.tasks.plan.import_plan import import_plan
from gitworker.tasks.queue.add_task import depend
from gitworker.tasks.views.task_facts import read_why
from gitworker.workers.adopt import AdoptRequest, adopt
from gitworker.workers.sync import sync
from gitworker.workers.task_verbs.change import cancel_task
from gitworker.workstreams.attend import attend
from gitworker.workstreams.change import NewWorkstream, cancel, create
from gitworker.workstreams.change import add as join
from gitworker.workstreams.show import json_view, read_list, read_view, render_list, render_view
from gitworker.workstreams.validate import Validation, validate
from tests.hints.following import Printed, note, perform
from tests.tasks.test_queue import add
from tests.workers.world import World, newest, unchanged
from tests.workstreams.test_workstreams import block, follow_hint, state

BRANCH = "ws/login"


def make(world: World, *validation: str) -> str:
    """Create the workstream with its branch; return the target's commit."""
    create(world.session(), NewWorkstream("login", "Log in", validation, has_branch=True))
    return world.tip()


def member(world: World, *tasks: str, **fields: object) -> None:
    """Add tasks to the workstream."""
    for task in tasks:
        add(world, task, workstream_id="login", **fields)


def landed(world: World, worker: str, task: str, files: dict[str, str]) -> None:
    """Land a task."""
    world.approved(worker, task, dict(files))
    world.land(worker)


def finish(world: World) -> Validation:
    """Run the final validation."""
    return validate(world.session(), "login")


def require_sound(world: World, since: str) -> None:
    """Fail the test if fsck or the history of the target has a fault."""
    assert [one.message for one in run_fsck(world.session()).findings] == []
    world.require_sound(since)


def test_the_whole_story(world: World) -> None:
    """Tasks land on the branch, and after a failed validation and a repair it lands as a whole."""
    start = make(world, "test -e repaired")
    assert world.tip(BRANCH) == start
    member(world, "form", "docs")
    add(world, "styles", "form", workstream_id="login")
    world.in_review("writer", "docs", {"README": "one\ntwo\ndocs\n"})
    landed(world, "auth", "form", {"README": "one\ntwo\nform\n"})
    assert world.tip() == start
    assert world.show("README", BRANCH).endswith("form")
    with pytest.raises(Conflict, match="README|conflict"):
        world.approve("writer")
    place = world.path("writer")
    with pytest.raises(Conflict):
        sync(world.session(place))
    (place / "README").write_text("one\ntwo\nform and docs\n")
    world.git("add", "README", cwd=place)
    synced = sync(world.session(place), "continue")
    assert (synced.onto, synced.target) == (BRANCH, world.tip(BRANCH))
    world.submit("writer")
    world.approve("writer")
    world.land("writer")
    target = world.advance({"other": "1\n"})
    world.approved("ui", "styles", {"styles.css": "1\n"})
    assert world.worker("ui").base_oid == world.tip(f"{BRANCH}")
    world.land("ui")
    assert (world.tip(), state(world)) == (target, "validating")
    assert attend(world.session()) == ["login"]
    tip = world.tip(BRANCH)
    failed = finish(world)
    assert not failed.has_passed
    assert "the validation failed" in failed.stored.last_error
    assert (world.tip(), world.tip(BRANCH), state(world)) == (target, tip, "validating")
    member(world, "repair")
    assert attend(world.session()) == []
    with unchanged(world, "not_complete"):
        finish(world)
    landed(world, "auth", "repair", {"repaired": "1\n"})
    assert attend(world.session()) == ["login"]
    tip = world.tip(BRANCH)
    assert finish(world).has_passed
    assert state(world) == "completed"
    assert world.git("rev-list", "--count", f"{target}..main") == "4"
    assert world.show("README").endswith("form and docs")
    assert f"refs/heads/{BRANCH}" not in world.refs()
    require_sound(world, start)
    assert finish(world).has_passed  # nothing is left to do
    done = undo(world.session())
    assert "git worker workstream validate login" in done.message
    assert (world.tip(), world.tip(BRANCH)) == (target, tip)
    assert json_view(read_view(world.session(), "login"))["archived_at"] is None
    require_sound(world, start)
    assert finish(world).has_passed
    assert world.show("repaired") == "1"
    require_sound(world, start)


def test_a_conflict_with_the_target(world: World) -> None:
    """The files are named; a user rebases the branch, and the validation continues."""
    start = make(world)
    member(world, "form")
    landed(world, "auth", "form", {"README": "one\ntwo\nform\n"})
    world.advance({"README": "one\ntwo\ntheirs\n"})
    with pytest.raises(Conflict) as caught:
        finish(world)
    assert caught.value.detail == "  README"
    hint = caught.value.hint or ""
    back = "git switch main && git worker workstream validate login"
    assert hint == f"git rebase main {BRANCH}   # then: {back}"
    found = read_view(world.session(), "login")
    assert f"error      {caught.value.message}" in render_view(found, width=None, color=False)
    with pytest.raises(AssertionError):
        world.git("rebase", "main", BRANCH)
    (world.root / "README").write_text("one\ntwo\nboth\n")
    world.git("add", "README")
    world.git("-c", "core.editor=:", "rebase", "--continue")
    done = perform("git worker workstream validate login", Printed([], str(world.root)))
    assert f"branch {BRANCH} stays, because it is checked out in {world.root}" in done.err
    assert world.show("README").endswith("both")
    assert f"refs/heads/{BRANCH}" in world.refs()
    require_sound(world, start)


def test_the_way_out_of_a_conflict(world: World) -> None:
    """The hint, followed to its end, lands the branch and leaves the checkout on the target."""
    start = make(world)
    member(world, "form")
    landed(world, "auth", "form", {"README": "one\ntwo\nform\n"})
    world.advance({"README": "one\ntwo\ntheirs\n"})
    with pytest.raises(Conflict) as caught:
        finish(world)
    rebase, _, then = (caught.value.hint or "").partition("   # then: ")
    assert perform(rebase, Printed([], str(world.root))).status == 1
    (world.root / "README").write_text("one\ntwo\nboth\n")
    world.git("add", "README")
    world.git("-c", "core.editor=:", "rebase", "--continue")
    done = perform(then, Printed([], str(world.root)))
    assert (done.status, state(world)) == (0, "completed"), done
    assert (world.root / "README").read_text().endswith("both\n")
    assert world.git("branch", "--show-current") == "main"
    assert f"refs/heads/{BRANCH}" not in world.refs()
    require_sound(world, start)


def test_the_target_of_each_task(world: World) -> None:
    """Tasks of the workstream and other tasks land in windows of their own, by one command."""
    make(world)
    member(world, "form", "more")
    world.approved("auth", "form", {"form": "1\n"})
    world.approved("ui", "other", {"other": "1\n"})
    world.approved("two", "more", {"more": "1\n"})
    results = {one.worker_id: one for one in world.merge(everything=True)}
    targets = {name: one.target for name, one in results.items()}  # type: ignore[union-attr]
    ours = f"refs/heads/{BRANCH}"
    assert targets == {"auth": ours, "ui": "refs/heads/main", "two": ours}
    assert world.git("log", "--format=%s", "--name-only", "main", "--", "form", "more") == ""
    assert world.git("ls-tree", "--name-only", BRANCH, "form", "more", "other") == "form\nmore"


def test_undo_of_one_task(world: World) -> None:
    """The landing of a task is undone on the branch, until that has landed as a whole."""
    start = make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    one = newest(world, "merge")
    undo(world.session(), one)
    assert (world.tip(BRANCH), world.states("auth", "form")) == (
        start,
        ("APPROVED", world.task("form").status),
    )
    with unchanged(world, "not_complete"):
        finish(world)
    world.land("auth")
    finish(world)
    with unchanged(world, "landed_for_good"):
        undo(world.session(), newest(world, "merge"))


def test_refusals(world: World) -> None:
    """A task that would miss the work that it needs is refused, and so is the branch as work."""
    make(world)
    member(world, "form")
    add(world, "other")
    with pytest.raises(Refused, match="task styles lands on the target and form on ws/login"):
        add(world, "styles", "form")
    with pytest.raises(Refused, match="lands on the target and form on ws/login"):
        depend(world.session(), "other", [Need("form", "landed")])
    add(world, "base")
    add(world, "top", "base")
    with pytest.raises(Refused, match="task top lands on the target and base on ws/login"):
        join(world.session(), "login", ["base"])
    join(world.session(), "login", ["base", "top"])
    world.spawn("ui", "other")
    with pytest.raises(Refused, match="task other has a worker"):
        join(world.session(), "login", ["other"])
    with pytest.raises(Refused, match="ui lands on main and form on ws/login"):
        world.spawn("auth", "form", start="ui")
    with pytest.raises(Refused, match="is the branch of a workstream"):
        adopt(world.session(), AdoptRequest(BRANCH, WorkerId("me"), TaskId("mine")))
    with pytest.raises(Invalid, match="reserved name"):
        parse_worker_id("ws")


def test_names_that_git_has(world: World) -> None:
    """A branch of another commit, or one called `ws`, prevents the creation; nothing is made."""
    world.git("branch", BRANCH)
    world.advance({"a": "1\n"})
    with unchanged(world, "branch_exists"):
        make(world)
    world.git("branch", "-M", BRANCH, "elsewhere")
    world.git("branch", "ws")
    with unchanged(world, "branch_exists"):
        make(world)
    world.git("branch", "-M", "ws", "elsewhere")
    make(world)
    with pytest.raises(Refused, match="exists already"):
        make(world)


def test_what_the_views_show(world: World) -> None:
    """show, list, status and why name the branch and the command that continues."""
    start = make(world)
    member(world, "form")
    world.advance({"other": "1\n"})
    world.working("auth", "form", {"form": "1\n"})
    shown = read_show(world.session(), world.worker("auth"))
    assert (shown.target, shown.branching and shown.branching.behind) == (BRANCH, 0)
    assert read_diff(world.session(), world.worker("auth"), DiffOptions()).target == BRANCH
    session = world.session()
    (line,) = read_status(session, drain(session)).workers
    assert line.tip is not None
    assert (line.tip.ahead, line.tip.behind) == (1, 0)
    assert "lands on ws/login" in render_list(read_list(session), width=None, color=False)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    found = read_why(world.session(), "form")
    assert found.reason == "it has landed on ws/login, which lands as a whole"
    assert found.next_command == "git worker workstream show login"
    view = read_view(world.session(), "login")
    assert json_view(view)["branch"] == BRANCH
    assert "ws/login, lands as a whole" in render_view(view, width=None, color=False)
    finish(world)
    view = read_view(world.session(), "login")
    assert json_view(view)["landed"] == world.tip() != start
    assert "ws/login, landed as" in render_view(view, width=None, color=False)
    assert read_why(world.session(), "form").reason == "it has landed"


def test_the_branch_of_a_cancelled_workstream(world: World) -> None:
    """The branch stays with the work that has landed on it, for its user."""
    make(world)
    member(world, "form", "rest")
    landed(world, "auth", "form", {"form": "1\n"})
    cancel(world.session(), "login")
    view = read_view(world.session(), "login")
    assert json_view(view)["next"] == "git log ws/login"
    assert world.show("form", BRANCH) == "1"
    with pytest.raises(Refused, match="is cancelled"):
        finish(world)


def test_a_missing_branch(world: World) -> None:
    """A branch that was deleted is reported with the commit that creates it again."""
    make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    tip = world.tip(BRANCH)
    world.git("branch", "-D", BRANCH)
    (finding,) = [one for one in check_target(world.session()) if one.hint]
    assert finding.hint == f"git branch {BRANCH} {tip}"
    with pytest.raises(NotFound):
        finish(world)
    world.git("branch", BRANCH, tip)
    assert finish(world).has_passed


def test_a_branch_that_is_deleted_after_the_end(world: World) -> None:
    """doctor needs no branch of a cancelled or failed workstream, but that of an undone landing."""
    make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    tip = world.tip(BRANCH)
    assert finish(world).has_passed
    undo(world.session())
    world.git("branch", "-D", BRANCH)
    create(world.session(), NewWorkstream("docs", has_branch=True))
    cancel(world.session(), "docs")
    create(world.session(), NewWorkstream("late", has_branch=True))
    add(world, "text", max_retries=0, workstream_id="late")
    block(world, "ui", "text")
    assert state(world, "late") == "failed"
    world.git("branch", "-D", "ws/docs", "ws/late")
    hints = [one.hint for one in check_target(world.session()) if one.hint]
    assert hints == [f"git branch {BRANCH} {tip}"]
    plan = world.root.parent / "plan.md"
    plan.write_text("- [ ] after: After it (needs: text)\n")
    with pytest.raises(Refused, match="task after lands on the target and text on ws/late"):
        import_plan(world.session(), str(plan))


def test_the_hints(world: World) -> None:
    """Each hint about the branch of a workstream helps in the state in which it is printed."""
    world.git("branch", "ws")
    with pytest.raises(Refused) as refused:
        make(world)
    follow_hint(world, refused.value.hint)
    make(world)
    member(world, "form", "more")
    add(world, "base")
    add(world, "top", "base")
    with pytest.raises(Refused) as refused:
        join(world.session(), "login", ["base"])
    follow_hint(world, refused.value.hint)
    assert world.task("base").workstream_id == world.task("top").workstream_id == "login"
    add(world, "late")
    world.spawn("ui", "late")
    with pytest.raises(Refused) as refused:
        join(world.session(), "login", ["late"])
    follow_hint(world, refused.value.hint)
    landed(world, "auth", "form", {"README": "one\ntwo\nform\n"})
    follow_hint(world, read_why(world.session(), "form").next_command)
    world.git("branch", "-D", BRANCH)
    (finding,) = [one for one in check_target(world.session()) if one.hint]
    follow_hint(world, finding.hint)
    for task in ("more", "base", "top"):
        cancel_task(world.session(), task)
    theirs = world.advance({"README": "one\ntwo\ntheirs\n"})
    with pytest.raises(Conflict) as caught:
        finish(world)
    rebase = (caught.value.hint or "").partition("   #")[0]
    done = perform(rebase, Printed([], str(world.root)))
    assert "CONFLICT (content): Merge conflict in README" in done.out
    note(rebase, "")
    world.git("rebase", "--abort")
    world.git("reset", "-q", "--hard", f"{theirs}~1")
    finish(world)
    again = undo(world.session()).message.partition("again: ")[2]
    follow_hint(world, again)
    assert state(world) == "completed"
    create(world.session(), NewWorkstream("docs", has_branch=True))
    cancel(world.session(), "docs")
    follow_hint(world, json_view(read_view(world.session(), "docs"))["next"])


def test_the_hint_of_a_dependency_across_targets(world: World) -> None:
    """It names no task that was rolled back: the tasks that can join, else the workstream."""
    make(world)
    member(world, "form")
    for task in ("base", "other", "busy"):
        add(world, task)
    show, put = "git worker workstream show login", "git worker workstream add login"

    def hint_of(command: str) -> str:
        done = perform(f"git worker {command}", Printed([], str(world.root)))
        assert "cannot wait for it" in done.err, done
        return done.err.partition("hint: ")[2].strip()

    for command, expected in (
        ("task add out -m Out --needs form", show),
        ("task add styles -m Styles --needs base --workstream login", f"{put} base"),
        ("task depend other --on form", f"{put} other form"),
    ):
        assert hint_of(command) == expected
        follow_hint(world, expected)
        done = perform(f"git worker {command}", Printed([], str(world.root)))
        assert (done.status == 0) == (expected != show), done
    world.spawn("ui", "busy")
    command = "task add more -m More --needs busy --workstream login"
    assert hint_of(command) == show


def test_a_dependency_on_work_that_its_branch_has(world: World) -> None:
    """A task may wait for one that landed on the target before the branch began, and not later."""
    add(world, "base")
    landed(world, "core", "base", {"base": "1\n"})
    start = make(world)
    add(world, "late")
    landed(world, "core", "late", {"late": "1\n"})
    member(world, "form")
    add(world, "styles", "base", workstream_id="login")
    depend(world.session(), "form", [Need("base")])
    assert (world.task("form").status, world.task("styles").status) == ("READY", "READY")
    with unchanged(world, "other_target"):
        depend(world.session(), "form", [Need("late")])
    landed(world, "auth", "form", {"form": "1\n"})
    assert world.show("base", BRANCH) == "1"
    landed(world, "ui", "styles", {"styles": "1\n"})
    assert finish(world).has_passed
    create(world.session(), NewWorkstream("next", has_branch=True))
    add(world, "after", workstream_id="next")
    with unchanged(world, "other_target"):  # its own landing is not that of its workstream
        depend(world.session(), "after", [Need("form")])
    require_sound(world, start)


def test_a_remote(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the final landing is pushed; commits of others there are taken up before."""
    bare, clone = tmp_path / "bare.git", tmp_path / "clone"
    world.git("clone", "-q", "--bare", ".", str(bare))
    world.git("remote", "add", "origin", str(bare))
    world.git("clone", "-q", str(bare), str(clone))
    monkeypatch.setenv("GITWORKER_MERGE_REMOTE", "origin")
    make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    assert world.git("for-each-ref", "--format=%(refname)", cwd=bare) == "refs/heads/main"
    Repo(clone).commit("Theirs", {"theirs": "1\n"})
    world.git("push", "-q", "origin", "main", cwd=clone)
    assert finish(world).has_passed
    assert world.git("rev-parse", "main", cwd=bare) == world.tip()
    assert world.git("ls-tree", "--name-only", "main", "form", "theirs") == "form\ntheirs"
    with unchanged(world, "landed_for_good"):
        undo(world.session(), newest(world, "land"))


def test_no_worker_lands_its_own_work(world: World) -> None:
    """A worker whose work is on the branch is refused, as by `merge`; another one may land it."""
    make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    start = world.tip()
    with pytest.raises(Refused, match="cannot review its own work"):
        validate(world.session(identity="auth"), "login")
    assert world.tip() == start
    undo(world.session())
    cancel_task(world.session(), "form")
    member(world, "other")
    landed(world, "ui", "other", {"other": "1\n"})
    assert validate(world.session(identity="auth"), "login").has_passed
