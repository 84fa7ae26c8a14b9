"""Plans are imported whole or not at all, and again without harm."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused, Unavailable
from gitworker.lifecycle.fail import fail
from gitworker.model.ids import TaskId
from gitworker.store.records.task_needs import needs_of
from gitworker.store.records.task_specs import find_task_spec
from gitworker.tasks.plan.import_plan import (
    ImportedPlan,
    import_plan,
    json_imported,
    render_imported,
)
from gitworker.tasks.plan.read_plan import PLAN_MAX_BYTES
from gitworker.tasks.plan.rules_import import Fate
from gitworker.tasks.queue.add_task import NewTask, add_task, depend
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tasks.queue.rules_needs import parse_needs
from gitworker.workers.cancel import cancel
from gitworker.workers.task_verbs.change import edit_task, restart_task
from tests.workers.world import World, unchanged

PLAN = """\
- [ ] form: Build the form
  Two fields.
- [ ] styles: Style it (needs: form)
- [ ] docs: Write docs (needs: form:done)
"""


def load(world: World, text: str | bytes, name: str = "plan.md") -> ImportedPlan:
    """Import a plan with this text."""
    path = world.root.parent / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return import_plan(world.session(), str(path))


def test_a_plan_again(world: World) -> None:
    """The same plan changes nothing; a changed one adds tasks and updates those not started."""
    assert json_imported(load(world, PLAN))["added"] == ["form", "styles", "docs"]
    assert world.task("form").status == "READY"
    again = load(world, PLAN)
    assert again.tasks == ("form", "styles", "docs")
    assert render_imported(again, width=None, color=False) == "3 tasks unchanged"
    world.spawn("auth", "form")
    changed = PLAN.replace("Two fields", "Three").replace("Style it", "Styles") + "- [ ] New one\n"
    found = load(world, changed)
    assert render_imported(found, width=None, color=False).splitlines() == [
        "added 1 task: new-one",
        "updated 1 task: styles",
        "1 task started before the plan changed: form",
        "1 task unchanged",
    ]
    with world.session().store.read() as reader:
        styles, form = find_task_spec(reader, "styles"), find_task_spec(reader, "form")
        assert styles is not None
        assert form is not None
        assert (styles.title, styles.position, form.text) == ("Styles", 1, "Two fields.")
        assert form.plan_source == str(world.root.parent / "plan.md")
    found = load(world, changed.replace(" (needs: form)", ""))
    assert json_imported(found)["updated"] == []
    found = load(world, changed.replace("- [ ] form", "- [x] form"))
    assert json_imported(found)["updated"] == ["styles", "docs"]
    assert world.task("styles").status == "READY"


def test_changes_by_hand_stay(world: World) -> None:
    """An import again keeps the text and the dependencies that the plan does not name."""
    plan = "- [ ] form: Build the form\n- [ ] cap: Cap\n"
    load(world, plan)
    edit_task(world.session(), "form", TaskFields(text="A long text", priority=7))
    depend(world.session(), "form", parse_needs(["cap"]))
    assert json_imported(load(world, plan))["unchanged"] == ["form", "cap"]
    assert load(world, plan.replace("Build", "Make")).with_fate(Fate.UPDATED) == ("form",)
    with world.session().store.read() as reader:
        spec = find_task_spec(reader, "form")
        assert spec is not None
        assert (spec.title, spec.text, spec.priority) == ("Make the form", "A long text", 7)
        assert [need.task for need in needs_of(reader, "form")] == ["cap"]
    with unchanged(world, "cyclic_dependency"):
        load(world, plan.replace("Cap", "Cap (needs: form)"))
    found = load(world, '{"id": "form", "title": "Make the form", "needs": []}', "plan.jsonl")
    assert found.with_fate(Fate.UPDATED) == ("form",)
    with world.session().store.read() as reader:
        assert needs_of(reader, "form") == []


def test_a_plan_of_a_worker(world: World) -> None:
    """A worker's plan gives and removes no test commands, and does not change its own order."""
    fields = TaskFields(title="T", test_commands=("make check",), requires_approval=True)
    for task in ("own", "other"):
        add_task(world.session(), NewTask(TaskId(task), fields))
    world.working("auth", "own", {"a.txt": "1\n"})
    fail(world.session(), "auth", reason="no idea")
    restart_task(world.session(), "own")
    path = world.root.parent / "plan.jsonl"
    for plan in (
        {"id": "own", "title": "T", "test": []},
        {"id": "own", "title": "T", "approval": False},
        {"id": "other", "title": "T", "test": []},
        {"id": "other", "title": "T", "test": ["true"]},
        {"id": "new", "title": "T", "test": ["true"]},
    ):
        path.write_text(json.dumps(plan))
        with unchanged(world, "not_allowed"):
            import_plan(world.session(identity="auth"), str(path))
    path.write_text('{"id": "own", "title": "T", "priority": 3}\n{"id": "new", "title": "N"}')
    found = import_plan(world.session(identity="auth"), str(path))
    assert [fate.value for _, fate in found.fates] == ["updated", "added"]


def test_a_trial(world: World) -> None:
    """It reports the effects and the refusals of the import, and changes nothing."""
    load(world, PLAN)
    changed = PLAN.replace("Two fields", "Three") + "- [ ] New one\n"

    def try_it(text: str) -> ImportedPlan:
        path = world.root.parent / "plan.md"
        path.write_text(text)
        return import_plan(world.session(), str(path), is_trial=True)

    before = world.picture()
    found = try_it(changed)
    assert render_imported(found, width=None, color=False).splitlines() == [
        "would add 1 task: new-one", "would update 1 task: form", "2 tasks unchanged",
    ]  # fmt: skip
    assert (json_imported(found)["dry_run"], json_imported(found)["added"]) == (True, ["new-one"])
    with pytest.raises(Refused):
        try_it(changed + "- [ ] a: A (needs: b)\n- [ ] b: B (needs: a)\n")
    assert world.picture() == before


def test_subtasks(world: World) -> None:
    """With a parent the tasks of a plan in the repository are its subtasks."""
    add_task(world.session(), NewTask(TaskId("epic")))
    path = world.root / "plan.md"
    path.write_text(PLAN)
    assert import_plan(world.session(), str(path), parent="epic").source == "plan.md"
    with world.session().store.read() as reader:
        form = find_task_spec(reader, "form")
        assert form is not None
        assert (form.parent_task_id, form.is_plan_subtask) == ("epic", True)
        assert [need.until for need in needs_of(reader, "docs")] == ["done"]
    with pytest.raises(NotFound):
        import_plan(world.session(), str(path), parent="lost")


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("p.md", "- [ ] a: A (needs: b)\n- [ ] b: B (needs: a)\n", Refused, "line 1: tasks would"),
        ("p.md", "- [ ] a: A\n- [ ] b: B (needs: lost)", Invalid, "line 2: b needs lost"),
        ("p.md", "- [ ] a: A\n- [ ] b: \udcff\n", Invalid, "line 2: this is not UTF-8"),
        ("p.md", "- [ ] a: A\n  \0\n", Invalid, "line 1: the task's text must be UTF-8"),
        ("p.md", "- [ ] a: A\n- [ ] a: B", Invalid, "line 2: task a is in line 1 already"),
        ("p.md", "no tasks", Invalid, "the plan has no open task"),
        ("p.md", "- [ ] b: B\n- [ ] a: A (needs: dead)", Refused, "line 2: task a needs dead"),
        ("p.md", "- [ ] a: A\n- [ ] dead: Else", Refused, "line 2: task dead exists already"),
        ("p.jsonl", '{"id": "a"}\n{"id": "../b"}', Invalid, "line 2: '../b' is not a task id"),
        ("p.toml", "", Invalid, "is not a plan"),
    ],
)
def test_bad_plans(
    world: World, name: str, text: str, kind: type[GitWorkerError], message: str
) -> None:
    """A bad plan changes nothing, and the error names the line."""
    world.spawn("w", "dead", title="Dead")
    cancel(world.session(), "w")
    with unchanged(world, kind=kind) as caught:
        load(world, text.encode("utf-8", "surrogateescape"), name)
    assert message in caught.value.message


def test_unreadable_plans(world: World) -> None:
    """A missing file, a directory and one that is too large are named."""
    for path in (world.root / "lost.md", world.root):
        (world.root.parent / "link.md").unlink(missing_ok=True)
        (world.root.parent / "link.md").symlink_to(path)
        with pytest.raises(NotFound, match="cannot read the plan"):
            import_plan(world.session(), str(world.root.parent / "link.md"))
    huge = world.root.parent / "huge.md"
    with huge.open("wb") as file:
        file.truncate(PLAN_MAX_BYTES + 1)
    with pytest.raises(Invalid, match="has more than 67108864 bytes"):
        import_plan(world.session(), str(huge))


def test_yaml(world: World) -> None:
    """A plan in YAML is a list of tasks, or has one below `tasks`; errors name the line."""
    pytest.importorskip("yaml")
    text = "tasks:\n  - id: 12\n    title: One\n  - title: Two\n    needs: [12]\n"
    assert load(world, text, "p.yaml").tasks == ("12", "two")
    for bad, message in (
        ("- id: a\n- b\n", "line 2: a task must be a mapping"),
        ("- id: a\n  title: [\n", "line 3: "),
        ("id: a\n", "line 1: the plan must be a list"),
        ("- id: a\n  name: b\n", "line 1: 'name' is not a field"),
        ("- id: !!python/object:os.system a\n", "line 1: "),
        ("- id: a\n- title: 2024-02-30\n", "line 2: day is out of range"),
        ("- id: a\n  title: A\n  title: B\n", "line 3: 'title' is given twice"),
        ("tasks:\n- id: a\ntasks:\n- id: b\n", "line 3: 'tasks' is given twice"),
        ("- id: a\n  [1]: b\n", "line 2: "),
        ("a: \x01", "line 1: this is not YAML"),
        ("", "the plan has no open task"),
    ):
        with unchanged(world, "bad_plan", Invalid) as caught:
            load(world, bad, "p.yml")
        assert caught.value.message.startswith(message), bad


def test_yaml_keeps_the_words(world: World) -> None:
    """Ids, dependencies and commands are read as they are written; null is not a workstream."""
    pytest.importorskip("yaml")
    text = (
        "workstream: null\ntasks:\n- id: 010\n  test: [true, make 1]\n  context: 1.50\n"
        "- id: b\n  needs: [010]\n  workstream: ~\n"
    )
    assert load(world, text, "p.yaml").tasks == ("010", "b")
    assert world.query("SELECT COUNT(*) FROM workstreams") == [(0,)]
    with world.session().store.read() as reader:
        spec = find_task_spec(reader, "010")
        assert spec is not None
        assert (spec.test_commands, spec.attached_context) == (("true", "make 1"), ("1.50",))
        assert [need.task for need in needs_of(reader, "b")] == ["010"]


def test_yaml_without_its_package(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PyYAML the error names the package."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with unchanged(world, "no_yaml", Unavailable) as caught:
        load(world, "- id: a", "p.yaml")
    assert caught.value.hint == "pip install PyYAML"


def test_a_large_plan(world: World, tmp_path: Path) -> None:
    """A chain of 3,000 tasks is imported, and only its first task is READY."""
    lines = [f'{{"id": "t{i}", "needs": "t{i - 1}"}}' for i in range(1, 3000)]
    found = load(world, "\n".join(['{"id": "t0"}', *lines]), "p.jsonl")
    assert len(found.tasks) == 3000
    rows = world.query("SELECT status, COUNT(*) FROM tasks GROUP BY status ORDER BY status")
    assert rows == [("DEFINED", 2999), ("READY", 1)]


GH = """\
#!/bin/sh
echo "$@" >>"$0.calls"
test "$5" = --label || exit 64
case "$4" in ada/lost) echo "GraphQL: Could not resolve to a Repository" >&2; exit 1 ;; esac
cat "$0.json"
"""


def test_issues(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Issues with a label are a plan; the same label again changes only what is new."""
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(GH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    issues = [
        {"body": "needs: #3", "number": 4, "state": "OPEN", "title": "Style it", "url": "u4"},
        {"body": "Two fields", "number": 3, "state": "OPEN", "title": "Build it", "url": "u3"},
    ]
    Path(f"{program}.json").write_text(json.dumps(issues))
    found = import_plan(world.session(), "gh:ada/site#agents")
    assert json_imported(found)["added"] == ["issue-3", "issue-4"]
    assert found.source == "gh:ada/site#agents"
    assert (world.task("issue-3").status, world.task("issue-4").status) == ("READY", "DEFINED")
    words = Path(f"{program}.calls").read_text().split()
    assert words[:6] == ["issue", "list", "--repo", "ada/site", "--label", "agents"]
    issues[1]["state"] = "CLOSED"
    Path(f"{program}.json").write_text(json.dumps(issues))
    assert json_imported(import_plan(world.session(), "gh:ada/site#agents"))["updated"]
    assert world.task("issue-4").status == "READY"
    with unchanged(world, kind=Unavailable) as caught:
        import_plan(world.session(), "gh:ada/lost#agents")
    assert "Could not resolve to a Repository" in caught.value.message
    program.rename(f"{program}.old")
    (program.parent / "git").symlink_to(str(shutil.which("git")))
    with monkeypatch.context() as other:
        other.setenv("PATH", str(program.parent))
        with pytest.raises(Unavailable, match="gh"):
            import_plan(world.session(), "gh:ada/site#agents")
