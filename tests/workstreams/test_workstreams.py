"""Workstreams: their state follows from their tasks, and the end of one is carried out."""

import json
import re
import shlex
import sys

import pytest

from gitworker.bus.steps.workstream import move_workstream
from gitworker.errors import Conflict, Invalid, NotFound, Refused
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.model.ids import parse_workstream_id
from gitworker.model.task import TaskEvent
from gitworker.model.workstream import WorkstreamEvent, WorkstreamState
from gitworker.observe.workers.status import read_status
from gitworker.observe.workers.status_text import json_status, render_status
from gitworker.tasks.plan.import_plan import import_plan
from gitworker.tasks.queue.join import require_workstream
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.workers.task_verbs.change import (
    cancel_task,
    edit_task,
    restart_task,
    skip_task,
)
from gitworker.workstreams.attend import attend
from gitworker.workstreams.change import NewWorkstream, archive, cancel, create
from gitworker.workstreams.change import add as join
from gitworker.workstreams.show import (
    json_list,
    json_view,
    read_list,
    read_view,
    render_list,
    render_view,
)
from gitworker.workstreams.validate import json_validation, render_validation, validate
from tests.hints.following import Printed, follow, note, perform
from tests.tasks.test_queue import add
from tests.workers.world import World, unchanged


def make(world: World, name: str = "login", *validation: str) -> None:
    """Create a workstream."""
    create(world.session(), NewWorkstream(name, "Log in", validation))


def state(world: World, name: str = "login") -> str:
    """Return the state of a workstream."""
    return read_view(world.session(), name).line.stored.state.value


def events(world: World) -> list[str]:
    """Return the events of all workstreams in order."""
    rows = world.query("SELECT event FROM transitions WHERE machine = 'workstream' ORDER BY seq")
    return [event for (event,) in rows]


def block(world: World, worker: str, task: str) -> None:
    """Let a task without retries fail."""
    world.working(worker, task, {f"{task}.txt": "1\n"})
    fail(world.session(), worker, reason="no idea")


def follow_hint(world: World, hint: str | None) -> None:
    """Run a hint as its reader does, and record that it helped."""
    assert hint is not None
    assert follow(Printed([hint], str(world.root)), hint) is None
    note(hint, "")


def by_command(world: World, *commands: str) -> str:
    """Return a line of shell that runs commands of ours in the main checkout, in a process."""
    ours = [f"{shlex.quote(sys.executable)} -m gitworker {one}" for one in commands]
    clean = "unset $(git rev-parse --local-env-vars)"
    return f"{clean}; cd {shlex.quote(str(world.root))} && {{ {'; '.join(ours)}; }}"


def test_a_life(world: World) -> None:
    """A workstream is ready, executes, is validated once all tasks have landed, and is archived."""
    make(world, "login", "test -e form.py")
    assert state(world) == "planned"
    add(world, "form")
    add(world, "styles", "form")
    join(world.session(), "login", ["form", "styles"])
    assert state(world) == "ready"
    place = world.state_dir / "workstreams/login"
    dag = json.loads((place / "dag.json").read_text())
    assert dag["edges"] == [{"task": "styles", "needs": "form", "until": "landed"}]
    plan = (place / "plan.md").read_text()
    assert "## Stage 2\n\n- styles\n" in plan
    assert "- `test -e form.py`" in plan
    world.approved("auth", "form", {"form.py": "1\n"})
    assert state(world) == "executing"
    world.land("auth")
    with unchanged(world, "not_complete"):
        validate(world.session(), "login")
    world.approved("auth", "styles", {"styles.css": "1\n"})
    world.land("auth")
    assert state(world) == "validating"
    assert attend(world.session()) == ["login"]
    done = validate(world.session(), "login")
    assert json_validation(done)["state"] == "completed"
    assert "  log: " in render_validation(done, width=None, color=False)
    assert validate(world.session(), "login").stored == done.stored
    assert events(world) == [
        "all_tasks_created", "first_task_started", "all_tasks_completed", "validation_passed",
    ]  # fmt: skip
    kept = json.loads((world.state_dir / "archive/workstream-login.json").read_text())
    assert kept["state"] == "completed"
    assert [one["task"] for one in kept["members"]] == ["form", "styles"]
    assert len(kept["transitions"]) == 4
    assert kept["running_ms"] is not None
    assert attend(world.session()) == []
    with pytest.raises(Refused, match="takes no new tasks"):
        add(world, "late", workstream_id="login")


def test_a_critical_failure_ends_all(world: World) -> None:
    """A failed critical task cancels the others, whose work can be restored; it stays itself."""
    make(world)
    for task in ("form", "styles", "docs"):
        add(world, task, max_retries=0, workstream_id="login")
    world.working("ui", "styles", {"styles.css": "1\n"})
    block(world, "auth", "form")
    assert state(world) == "failed"
    attend(world.session())
    statuses = {task: world.task(task).status for task in ("form", "styles", "docs")}
    assert statuses == {"form": "BLOCKED", "styles": "CANCELLED", "docs": "CANCELLED"}
    assert json_view(read_view(world.session(), "login"))["archived_at"] is not None
    undo(world.session())
    assert world.states("ui", "styles") == ("WORKING", "IN_PROGRESS")
    assert state(world) == "failed"
    assert archive(world.session(), "login").endswith("archive/workstream-login.json")
    assert world.states("ui", "styles") == ("WORKING", "IN_PROGRESS")


def test_work_that_is_restored_after_the_end_stays(world: World) -> None:
    """A task that is opened again after a cancel stays open, until a second cancel."""
    make(world)
    add(world, "styles", workstream_id="login")
    add(world, "form", workstream_id="login")
    world.working("ui", "styles", {"styles.css": "1\n"})
    cancel(world.session(), "login")
    undo(world.session())
    restart_task(world.session(), "form")
    make(world, "other")
    add(world, "more")
    join(world.session(), "other", ["more"])
    assert world.states("ui", "styles") == ("WORKING", "IN_PROGRESS")
    assert world.task("form").status == "READY"
    cancel(world.session(), "login")
    assert {world.task(task).status for task in ("form", "styles")} == {"CANCELLED"}


def test_other_failures_are_dropped(world: World) -> None:
    """A failed task that is not critical is dropped at the end, or a person skips it."""
    make(world)
    for task in ("form", "extra", "more"):
        add(world, task, max_retries=0, critical=task == "form", workstream_id="login")
    block(world, "one", "extra")
    block(world, "two", "more")
    attend(world.session())
    assert state(world) == "executing"
    skip_task(world.session(), "more")
    world.approved("auth", "form", {"form.py": "1\n"})
    world.land("auth")
    assert state(world) == "executing"
    assert attend(world.session()) == ["login"]
    assert world.task("extra").status == "CANCELLED"
    (row,) = world.query("SELECT metadata FROM transitions WHERE event = 'all_tasks_completed'")
    assert json.loads(row[0])["dropped"] == ["extra"]
    assert validate(world.session(), "login").stored.state == "completed"


def test_a_failed_validation(world: World) -> None:
    """A validation that fails fails the workstream; landed work stays, and the log is named."""
    make(world, "login", "test -e lost")
    add(world, "form", workstream_id="login")
    world.approved("auth", "form", {"form.py": "1\n"})
    world.land("auth")
    done = validate(world.session(), "login")
    assert done.stored.state == "failed"
    assert "the validation failed" in render_validation(done, width=None, color=False)
    assert world.show("form.py") == "1"
    shown = render_view(read_view(world.session(), "login"), width=100, color=False)
    assert "error      the validation failed" in shown


def test_a_restart_during_the_validation(world: World) -> None:
    """A task that is restarted holds the validation up until it has landed again."""
    make(world)
    add(world, "form", workstream_id="login")
    world.approved("auth", "form", {"form.py": "1\n"})
    world.land("auth")
    restart_task(world.session(), "form")
    assert state(world) == "validating"
    with pytest.raises(Refused, match="has tasks that are not complete"):
        validate(world.session(), "login")


def test_a_restart_while_the_commands_run(world: World) -> None:
    """A validation that passes completes nothing if a task was started again meanwhile."""
    make(world, "login", by_command(world, "task restart form"))
    add(world, "form", workstream_id="login")
    world.approved("auth", "form", {"form.py": "1\n"})
    world.land("auth")
    with pytest.raises(Refused, match="has tasks that are not complete"):
        validate(world.session(), "login")
    assert (state(world), world.task("form").status) == ("validating", "READY")


def test_a_cancel(world: World) -> None:
    """A cancel ends the workstream and its tasks; a second one changes nothing."""
    make(world)
    add(world, "form", workstream_id="login")
    with unchanged(world, "not_complete"):
        archive(world.session(), "login")
    assert cancel(world.session(), "login").state == "cancelled"
    assert world.task("form").status == "CANCELLED"
    assert cancel(world.session(), "login").state == "cancelled"
    with unchanged(world, "workstream_exists"):
        make(world)


def bring_to(world: World, end: str) -> None:
    """Bring a workstream into a state; its id is that state."""
    make(world, end, "false" if end == "failed" else "true")
    if end == "planned":
        return
    add(world, f"{end}-task", workstream_id=end)
    if end == "executing":
        world.working(end, f"{end}-task", {end: "1\n"})
    elif end == "cancelled":
        cancel(world.session(), end)
    elif end != "ready":
        world.approved(end, f"{end}-task", {end: "1\n"})
        world.land(end)
    if end in ("completed", "failed"):
        validate(world.session(), end)


@pytest.mark.parametrize("end", list(WorkstreamState))
def test_no_message_names_an_event(world: World, end: WorkstreamState) -> None:
    """A verb that a state does not allow is refused in words for people, with a hint."""
    bring_to(world, end)
    add(world, "more")
    assert state(world, end) == end
    words = "|".join([*WorkstreamEvent, *TaskEvent, "Invalid transition"])
    refused = []
    for verb in ("create", "archive", "add", "cancel", "cancel", "validate", "show", "list"):
        names = {"list": "", "add": f"{end} more"}.get(verb, end)
        done = perform(f"git worker workstream {verb} {names}", Printed([], str(world.root)))
        if done.status:
            assert not re.search(words, done.err), done.err
            assert f"hint: git worker workstream show {end}" in done.err
            refused.append(verb)
    assert ("cancel" in refused) == (end in ("completed", "failed"))


def test_members(world: World) -> None:
    """Only a task that has not started joins, all or none; an edit moves it."""
    make(world)
    make(world, "other")
    add(world, "form")
    add(world, "styles", workstream_id="other")
    world.working("auth", "form", {"form.py": "1\n"})
    with unchanged(world, "moved_on"):
        join(world.session(), "login", ["styles", "form"])
    with pytest.raises(NotFound):
        join(world.session(), "lost", ["styles"])
    edit_task(world.session(), "styles", TaskFields(workstream_id="login"))
    edit_task(world.session(), "styles", TaskFields(priority=3))
    assert world.task("styles").workstream_id == "login"
    assert (state(world), state(world, "other")) == ("ready", "ready")
    with pytest.raises(Invalid, match="is not a workstream id"):
        parse_workstream_id("a b")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.md", "---\nworkstream: login\n---\n- [ ] a: A\n- [ ] b: B (workstream: other)\n"),
        ("plan.jsonl", '{"id": "a", "workstream": "login"}\n{"id": "b", "workstream": "other"}\n'),
        (
            "plan.yaml",
            "workstream: login\ntasks:\n  - id: a\n  - id: b\n    workstream: other\n",
        ),
    ],
)
def test_a_plan_names_its_workstream(world: World, name: str, text: str) -> None:
    """A plan creates its workstream and fills it; a second import changes nothing."""
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    path = world.root.parent / name
    path.write_text(text)
    for _ in range(2):
        import_plan(world.session(), str(path))
        found = {task: world.task(task).workstream_id for task in ("a", "b")}
        assert found == {"a": "login", "b": "other"}
    assert (state(world), events(world)) == ("ready", ["all_tasks_created"] * 2)
    cancel(world.session(), "login")
    import_plan(world.session(), str(path))


def test_views(world: World) -> None:
    """Open workstreams have a block of the status screen; archived ones are in the list."""
    make(world)
    add(world, "form", workstream_id="login")
    screen = read_status(world.session(), {})
    text = render_status(screen, width=100, color=False)
    assert "login       ready  0/1   -     1 ready to start  Log in" in text
    assert "workstream login  planned → ready, by hq" in text
    assert "state_change" not in text, "the message only repeats the transition"
    assert json_status(screen)["workstreams"][0]["tasks"] == {"READY": 1}
    assert render_list(read_list(world.session()), width=None, color=False) == (
        "login\tready\t0/1\t-\t1 READY\tLog in"
    )
    cancel(world.session(), "login")
    assert json_status(read_status(world.session(), {}))["workstreams"] == []
    assert json_list(read_list(world.session(), every=False)) == {"workstreams": []}
    assert len(read_list(world.session()).lines) == 1


def test_the_hints(world: World) -> None:
    """Each hint about a workstream helps in the state in which it is printed."""
    with pytest.raises(Invalid) as invalid:
        parse_workstream_id("a b")
    follow_hint(world, invalid.value.hint)
    assert state(world) == "planned"
    add(world, "next-task")
    follow_hint(world, json_view(read_view(world.session(), "login"))["next"])
    assert state(world) == "ready"
    follow_hint(world, json_view(read_view(world.session(), "login"))["next"])
    for refused_by in (
        lambda: make(world),
        lambda: validate(world.session(), "login"),
        lambda: archive(world.session(), "login"),
    ):
        with pytest.raises(Refused) as refused:
            refused_by()
        follow_hint(world, refused.value.hint)
    world.approved("auth", "next-task", {"form.py": "1\n"})
    make(world, "other")
    with pytest.raises(Refused) as refused:
        join(world.session(), "other", ["next-task"])
    follow_hint(world, refused.value.hint)
    with pytest.raises(NotFound) as unknown:
        join(world.session(), "docs", ["next-task"])
    follow_hint(world, unknown.value.hint)
    world.land("auth")
    follow_hint(world, json_view(read_view(world.session(), "login"))["next"])
    assert state(world) == "completed"
    with pytest.raises(Refused) as refused:
        add(world, "late", workstream_id="login")
    follow_hint(world, refused.value.hint)
    with pytest.raises(Refused, match="is completed and cannot be cancelled") as refused:
        cancel(world.session(), "login")
    follow_hint(world, refused.value.hint)


def test_the_next_command_is_never_its_own_screen(world: World) -> None:
    """Of open tasks one that needs a person comes first; without any, the workstream needs one."""

    def following() -> str:
        return str(json_view(read_view(world.session(), "login"))["next"])

    world.git("config", "worker.task.max-retries", "0")
    make(world)
    for task in ("form", "styles", "texts"):
        add(world, task, workstream_id="login")
    assert following() == "git worker task why form"
    world.working("auth", "styles", {"a": "1\n"})
    assert following() == "git worker task why styles", "it is in hand"
    world.approved("ui", "texts", {"b": "1\n"})
    world.land("ui")
    cancel_task(world.session(), "form")
    assert restart_task(world.session(), "form").status == "READY"
    cancel_task(world.session(), "form")
    cancel_task(world.session(), "styles")
    assert (state(world), following()) == ("validating", "git worker workstream validate login")
    restart_task(world.session(), "styles")
    assert following() == "git worker task why styles", "the validation would be refused"
    with pytest.raises(Refused, match="has tasks that are not complete") as refused:
        validate(world.session(), "login")
    assert refused.value.hint == "git worker workstream show login"


def test_a_workstream_whose_tasks_were_all_cancelled(world: World) -> None:
    """It takes further tasks, and says so."""
    make(world)
    add(world, "form", workstream_id="login")
    world.working("auth", "form", {"a": "1\n"})
    cancel_task(world.session(), "form")
    found = json_view(read_view(world.session(), "login"))
    assert (found["state"], found["next"]) == (
        "executing", "git worker workstream add login <task>"
    )  # fmt: skip
    add(world, "late")
    join(world.session(), "login", ["late"])
    assert json_view(read_view(world.session(), "login"))["next"] == "git worker task why late"


def test_two_commands_record_one_outcome(world: World) -> None:
    """A second transition of the same version is refused by the database."""
    make(world)
    add(world, "form", workstream_id="login")
    with world.session().store.write() as writer:
        found = require_workstream(writer, "login")
        move_workstream(writer, found, WorkstreamEvent.USER_CANCELLED, actor="hq")
        with pytest.raises(Conflict):
            move_workstream(writer, found, WorkstreamEvent.USER_CANCELLED, actor="hq")
