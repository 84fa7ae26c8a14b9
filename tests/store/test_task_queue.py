"""The queue of tasks: open dependencies are counted by triggers, its queries walk an index."""

from dataclasses import replace

import apsw
import pytest

from gitworker.bus.transitions import move_task
from gitworker.model.project import Project, ProjectStatus, RepoConfig
from gitworker.model.task import TaskEvent as E
from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need, OpenNeed, TaskSpec
from gitworker.store.api import Writer
from gitworker.store.planning.workstreams import (
    Share,
    insert_workstream,
    set_member,
    shares_of,
    sums_of,
)
from gitworker.store.records.runs import find_prompt
from gitworker.store.records.task_needs import (
    all_needs,
    change_needs,
    dependents_of,
    leads_to,
    needs_of,
    open_needs_of,
    stacked_needs_of,
)
from gitworker.store.records.task_queue import (
    count_by_project,
    count_by_status,
    ready_kinds_of,
    ready_tasks,
    ready_tasks_of,
    ready_tasks_of_kind,
    set_held,
    waive_needs,
)
from gitworker.store.records.task_specs import (
    find_task_spec,
    insert_task_spec,
    update_task_spec,
)
from gitworker.store.scheduling.projects import charge_project, insert_project, update_project
from gitworker.store.scheduling.usage import charge_run
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.queries import query_text
from gitworker.store.tasks import assign_task, require_stored_task, unblocked_tasks

START = (E.ASSIGNED, E.AGENT_STARTED)


def add(writer: Writer, task: str, *needs: Need, **fields: int) -> None:
    """Add a task with needs."""
    insert_task_spec(writer, TaskSpec(task)._replace(**fields), now=1)
    change_needs(writer, task, needs)


def move(writer: Writer, task: str, *events: E) -> None:
    """Fire events on a task."""
    assign_task(writer, task, agent="w", branch=None)
    move_task(writer, require_stored_task(writer, task), events, actor="hq")


def open_count(store: Database, task: str) -> int:
    """Return the number of open dependencies that the triggers have counted."""
    (row,) = store.execute("SELECT open_needs FROM tasks WHERE id = :task", {"task": task})
    assert row["open_needs"] == len(open_needs_of(store, task))
    return int(row["open_needs"])


def test_fields_are_read_as_written(store: Database) -> None:
    """All fields of a task are stored; an update keeps its hold, and retries above the count."""
    spec = TaskSpec(
        "a", "T", "text", 7, max_retries=1, test_commands=("make test",), paths=("src/**",),
        held=True, timeout_s=60, agent="claude", plan_source="plan.md", position=3,
    )  # fmt: skip
    with store.write() as writer:
        insert_task_spec(writer, spec, now=5)
        assert find_task_spec(writer, "a") == spec
        update_task_spec(writer, spec._replace(title="U", held=False, priority=1))
        assert find_task_spec(writer, "a") == spec._replace(title="U", priority=1)
        assert find_task_spec(writer, "b") is None


def test_open_dependencies_follow_the_statuses(store: Database) -> None:
    """A need counts until the needed task has landed, or with `done` until it is handed in."""
    with store.write() as writer:
        add(writer, "a")
        add(writer, "b", Need("a"))
        add(writer, "c", Need("a", "done"))
        assert (open_count(store, "b"), open_count(store, "c")) == (1, 1)
        assert open_needs_of(writer, "b") == [OpenNeed("a", "landed", TaskStatus.DEFINED)]
        assert unblocked_tasks(writer, 9) == ["a"]
        move(writer, "a", E.DEPS_MET, *START, E.AGENT_COMPLETED)
        assert (open_count(store, "b"), open_count(store, "c")) == (1, 0)
        assert stacked_needs_of(writer, "c") == ["a"]
        move(writer, "a", E.ADMIN_RESTART)
        assert (open_count(store, "b"), open_count(store, "c")) == (1, 1)
        move(writer, "a", *START, E.AGENT_COMPLETED, E.VERIFY_PASSED)
        assert (open_count(store, "b"), open_count(store, "c")) == (0, 0)
        assert stacked_needs_of(writer, "c") == []
        assert unblocked_tasks(writer, 9) == ["b", "c"]
        add(writer, "d", Need("a"))
        assert open_count(store, "d") == 0
        move(writer, "a", E.ADMIN_RESTART)
        assert [open_count(store, name) for name in "bcd"] == [1, 1, 1]


@pytest.mark.parametrize("events", [(E.USER_CANCELLED,), (E.DEPS_MET, *START, E.ADMIN_STOP)])
def test_an_ended_task_satisfies_nothing(store: Database, events: tuple[E, ...]) -> None:
    """A task that was cancelled or stopped never satisfies a dependency."""
    with store.write() as writer:
        add(writer, "a")
        add(writer, "b", Need("a"))
        add(writer, "c", Need("a", "done"))
        move(writer, "a", *events)
    assert (open_count(store, "b"), open_count(store, "c")) == (1, 1)


def test_needs_change(store: Database) -> None:
    """Needs are replaced as a whole, and each change is counted."""
    with store.write() as writer:
        for name in "abc":
            add(writer, name)
        assert change_needs(writer, "c", [Need("a"), Need("b", "done"), Need("unmade")])
        assert open_count(store, "c") == 3
        assert change_needs(writer, "c", [Need("a", "done"), Need("b", "done")])
        assert not change_needs(writer, "c", [Need("b", "done"), Need("a", "done")])
        assert open_count(store, "c") == 2
        assert needs_of(writer, "c") == [Need("a", "done"), Need("b", "done")]
        assert dependents_of(writer, "a") == [Need("c", "done")]
        assert all_needs(writer) == {"c": [Need("a", "done"), Need("b", "done")]}
        assert leads_to(writer, "c", "a")
        assert not leads_to(writer, "a", "c")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tasks SET open_needs = 0 WHERE id = 'b'",
        "UPDATE tasks SET open_needs = 1 WHERE id = 'a'",
        "UPDATE task_dependencies SET until = 'done'",
        "INSERT OR REPLACE INTO task_dependencies (task_id, depends_on) VALUES ('b', 'a')",
        "INSERT INTO task_dependencies (task_id, depends_on, until) VALUES ('b', 'c', 'soon')",
    ],
)
def test_the_count_cannot_be_avoided(store: Database, statement: str) -> None:
    """A statement that would change a dependency without its count, or the count, is refused."""
    with store.write() as writer:
        add(writer, "a")
        add(writer, "b", Need("a"))
    with pytest.raises(apsw.ConstraintError):
        store.connection.execute(statement)
    assert open_count(store, "b") == 1


def test_the_order_of_the_queue(store: Database) -> None:
    """Tasks come by priority, age and place; held, waiting and unready ones are left out."""
    with store.write() as writer:
        add(writer, "late", position=2)
        add(writer, "early", position=1)
        add(writer, "first", priority=1)
        add(writer, "held", held=1)
        add(writer, "waits", Need("early"))
        add(writer, "waived", Need("early"), priority=200)
        add(writer, "defined")
        for name in ("late", "early", "first", "held"):
            move(writer, name, E.DEPS_MET)
        for name in ("waits", "waived"):
            move(writer, name, E.ADMIN_RESTART)
        waive_needs(writer, "waived")
        queued = [one.id for one in ready_tasks(writer, 9)]
        assert queued == ["first", "early", "late", "waived"]
        assert [one.id for one in ready_tasks(writer, 1)] == ["first"]
        assert set_held(writer, "held", held=False)
        assert not set_held(writer, "held", held=False)
        assert "held" in [one.id for one in ready_tasks(writer, 9)]
        assert open_needs_of(writer, "waived") == []
        assert count_by_status(writer) == {TaskStatus.READY: 6, TaskStatus.DEFINED: 1}


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("task_queue.ready_of_project", "idx_tasks_ready_of_project"),
        ("task_queue.ready_of_kind", "idx_tasks_ready_of_kind"),
        ("tasks.unblocked", "idx_tasks_unblocked"),
        ("tasks.due_retries", "idx_tasks_failed"),
        ("task_queue.counts", "task_counts"),
        ("tasks.next_retry", "idx_tasks_failed"),
        ("observe.tasks", "idx_tasks_listed"),
        ("workstreams.shares", "workstream_counts"),
        ("workstreams.sums", "workstream_counts"),
        ("observe.seat_transitions", "idx_transitions_screen"),
    ],
)
def test_the_queue_stays_flat(store: Database, query: str, index: str) -> None:
    """Queries that every round asks walk an index and sort nothing."""
    asked = "EXPLAIN QUERY PLAN " + query_text(query)
    values = {
        "limit": 5,
        "now": 5,
        "project": "default",
        "status": "READY",
        "id": "login",
        "kind": " []",
        "besides": "[]",
    }
    found = [str(row["detail"]) for row in store.execute(asked, values)]
    of_list = ("json_each", "LIST SUBQUERY", "BLOOM FILTER")  # a parameter that is a list
    plan = [one for one in found if not any(words in one for words in of_list)]
    assert len(plan) == 1
    assert index in plan[0]


def test_the_kinds_of_ready_tasks(store: Database) -> None:
    """Each kind is listed once, by one search of the index, and has its tasks in their order."""
    with store.write() as writer:
        for name, agent, capabilities in (
            ("a", None, ()), ("b", "codex", ()), ("c", "codex", ("go", "sql")), ("d", "codex", ()),
            ("e", "claude", ()),
        ):  # fmt: skip
            insert_task_spec(writer, TaskSpec(name, agent=agent, capabilities=capabilities), now=1)
        for name in "dcba":
            move(writer, name, E.DEPS_MET)
    kinds = [" []", 'codex ["go", "sql"]', "codex []"]
    with store.read() as reader:
        assert ready_kinds_of(reader, "default", 9) == kinds
        assert ready_kinds_of(reader, "default", 2) == kinds[:2]
        assert ready_kinds_of(reader, "other", 9) == []
        queued = ready_tasks(reader, 9)
        assert [one.kind for one in queued] == [kinds[0], kinds[2], kinds[1], kinds[2]]
        found = ready_tasks_of_kind(reader, "default", "codex []", 9)
        assert [one.id for one in found] == ["b", "d"]
    asked = "EXPLAIN QUERY PLAN " + query_text("task_queue.ready_kinds")
    plan = [row["detail"] for row in store.execute(asked, {"project": "default", "limit": 9})]
    searches = [one for one in plan if "tasks" in one]
    assert len(searches) == 2
    assert all("SEARCH tasks USING INDEX idx_tasks_ready_of_kind" in one for one in searches), plan
    assert not any("TEMP B-TREE" in one for one in plan)


def test_tasks_are_counted_by_triggers(store: Database) -> None:
    """The counts of a project follow new tasks, their statuses and their moves."""
    with store.write() as writer:
        insert_project(writer, Project("web", ""), RepoConfig("web", "web"))
        insert_task_spec(writer, TaskSpec("a", project_id="web"), now=1)
        insert_task_spec(writer, TaskSpec("b", project_id="web"), now=1)
        add(writer, "c")
        move(writer, "a", E.DEPS_MET)
        assert count_by_project(writer) == {
            "web": {TaskStatus.READY: 1, TaskStatus.DEFINED: 1}, "default": {TaskStatus.DEFINED: 1}
        }  # fmt: skip
        update_task_spec(writer, TaskSpec("b"))
        move(writer, "a", E.USER_CANCELLED)
        assert count_by_project(writer) == {
            "web": {TaskStatus.CANCELLED: 1}, "default": {TaskStatus.DEFINED: 2}
        }  # fmt: skip


def test_tasks_of_workstreams_are_counted_by_triggers(store: Database) -> None:
    """The counts of a workstream follow its tasks: members, statuses, retries and tokens."""
    with store.write() as writer:
        for name in ("login", "logout"):
            insert_workstream(writer, name, title="", validation=(), now=1)
        add(writer, "a")
        insert_task_spec(writer, TaskSpec("b", critical=False, workstream_id="login"), now=1)
        set_member(writer, "login", "a")
        defined = TaskStatus.DEFINED
        assert shares_of(writer, "login") == [Share(defined, False, 1), Share(defined, True, 1)]
        move(writer, "a", E.DEPS_MET, *START, E.AGENT_FAILED, E.RETRY)
        charge_run(writer, worker="w", task="a", tokens=70)
        assert sums_of(writer, "login") == (1, 70)
        set_member(writer, "logout", "a")
        assert shares_of(writer, "login") == [Share(defined, False, 1)]
        assert (sums_of(writer, "login"), sums_of(writer, "logout")) == ((0, 0), (1, 70))
        set_member(writer, None, "a")
        assert shares_of(writer, "logout") == []


def test_closed_projects_have_no_ready_task(store: Database) -> None:
    """Tasks of all open projects come in one order; a paused or exhausted project has none."""
    web = Project("web", "")
    with store.write() as writer:
        insert_project(writer, web, RepoConfig("web", "web"))
        for name, project in (("a", "web"), ("b", "default"), ("c", "web")):
            insert_task_spec(writer, TaskSpec(name, project_id=project), now=1)
            move(writer, name, E.DEPS_MET)
        assert [one.id for one in ready_tasks(writer, 9)] == ["a", "b", "c"]
        assert [one.id for one in ready_tasks(writer, 2)] == ["a", "b"]
        update_project(writer, replace(web, status=ProjectStatus.PAUSED))
        assert [one.id for one in ready_tasks(writer, 9)] == ["b"]
        assert [one.id for one in ready_tasks_of(writer, "web", 9)] == ["a", "c"]
        update_project(writer, replace(web, budget_limit=1))
        assert [one.id for one in ready_tasks(writer, 9)] == ["a", "b", "c"]
        charge_project(writer, "web", 1)
        assert [one.id for one in ready_tasks(writer, 9)] == ["b"]


def test_the_prompt_has_all_that_the_agent_needs(store: Database) -> None:
    """An agent reads the text, or else the title, then criteria, tests and context."""
    with store.write() as writer:
        insert_task_spec(writer, TaskSpec("a", "Title"), now=1)
        insert_task_spec(writer, TaskSpec("b", "Title", "Text", test_commands=("make",)), now=1)
    assert find_prompt(store, "a") == "Title"
    assert find_prompt(store, "b") == "Text\n\nCommands that test the work:\n  make"
    assert find_prompt(store, "lost") == ""
