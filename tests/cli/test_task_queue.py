"""The queue of tasks on the command line."""

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run


def test_a_queue(scene: Scene) -> None:
    """Tasks are added with all their fields, wait for each other, and come in their order."""
    assert ok(scene.root, "task", "add", "-m", "Build the login form") == "build-the-login-form"
    document = run(
        scene.root, "task", "add", "styles", "--needs", "build-the-login-form:done", "--title",
        "Styles", "-F", "-", "--priority", "5", "--verify", "human", "--max-retries", "1",
        "--requires-approval", "--test", "make test", "--accept", "It is blue", "--context", "note",
        "--path", "src/**", "--timeout", "90", "--agent", "claude", "--not-critical", "--json",
        stdin=b"Make it blue\n",
    ).document  # fmt: skip
    assert document == {
        "schema": 1, "task": "styles", "title": "Styles", "status": "DEFINED", "held": False,
        "needs": ["build-the-login-form:done"],
        "blocked_by": [
            {"task": "build-the-login-form", "until": "done", "status": "READY"}
        ],
    }  # fmt: skip
    ok(scene.root, "task", "add", "--id", "urgent", "--priority", "1", "--held")
    assert ok(scene.root, "task", "ready").split("\t")[0] == "build-the-login-form"
    assert ok(scene.root, "task", "release", "urgent") == "urgent is not held back"
    rows = [line.split("\t")[0] for line in ok(scene.root, "task", "ready").splitlines()]
    assert rows == ["urgent", "build-the-login-form"]
    assert ok(scene.root, "task", "hold", "urgent") == "urgent is held back"
    assert ok(scene.root, "task", "depend", "urgent", "--on", "styles") == "styles"
    answer = run(scene.root, "task", "depend", "styles", "--on", "urgent")
    assert (answer.status, answer.out) == (1, "")
    assert "styles needs urgent needs styles" in answer.err
    assert run(scene.root, "task", "add", "x", "--id", "y").status == 2
    assert run(scene.root, "task", "add", "x", "--needs", "lost").status == 4
    answer = run(scene.root, "task", "add", "x", "--agent", "claud")
    assert (answer.status, "did you mean claude?" in answer.err) == (4, True)
    (scene.root / "plan.md").write_text("- [ ] x: X\n- [ ] y: Y (agent: claud)\n")
    assert "line 2: no agent is called" in run(scene.root, "task", "import", "plan.md").err


def test_the_verbs(scene: Scene) -> None:
    """A plan is imported, looked at, and its tasks are edited, stopped, skipped and cancelled."""
    (scene.root / "plan.md").write_text("- [ ] form: Form\n- [ ] styles: Styles (needs: form)\n")
    assert ok(scene.root, "task", "import", "plan.md") == "added 2 tasks: form, styles"
    assert ok(scene.root, "task", "edit", "form", "--priority", "1") == "form is changed"
    assert run(scene.root, "task", "edit", "form").status == 2
    assert (
        ok(scene.root, "task", "graph").splitlines()[1] == "  styles  waits for other tasks  Styles"
    )
    assert ok(scene.root, "task", "graph", "--mermaid").startswith("graph TD\n")
    scene.working("auth", "form")
    assert ok(scene.root, "task", "stop", "form", "-m", "wrong way") == "form is blocked"
    assert ok(scene.root, "task", "why", "form") == (
        "form: it is blocked: wrong way: git worker resume auth"
    )
    assert "needed by  styles" in ok(scene.root, "task", "show", "form")
    assert ok(scene.root, "task", "skip", "form") == "form is completed"
    assert ok(scene.root, "task", "cancel", "styles") == "styles was cancelled"
    assert ok(scene.root, "task", "restart", "styles") == "styles is ready to start"
    assert run(scene.root, "task", "why", "lost").status == 4
