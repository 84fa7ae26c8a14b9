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
        "needs": ["build-the-login-form:done"], "blocked_by": ["build-the-login-form:done"],
    }  # fmt: skip
    ok(scene.root, "task", "add", "--id", "urgent", "--priority", "1", "--held")
    assert ok(scene.root, "task", "ready").split("\t")[0] == "build-the-login-form"
    assert ok(scene.root, "task", "release", "urgent") == "urgent may start"
    rows = [line.split("\t")[0] for line in ok(scene.root, "task", "ready").splitlines()]
    assert rows == ["urgent", "build-the-login-form"]
    assert ok(scene.root, "task", "hold", "urgent") == "urgent is held back"
    assert ok(scene.root, "task", "depend", "urgent", "--on", "styles") == "styles"
    answer = run(scene.root, "task", "depend", "styles", "--on", "urgent")
    assert (answer.status, answer.out) == (1, "")
    assert "styles needs urgent needs styles" in answer.err
    assert run(scene.root, "task", "add", "x", "--id", "y").status == 2
    assert run(scene.root, "task", "add", "x", "--needs", "lost").status == 4
