"""Projects on the command line."""

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run


def test_a_project(scene: Scene) -> None:
    """A project is added, changed, paused, resumed and archived, and tasks are added to it."""
    assert ok(scene.root, "project", "add", "web", "--weight", "3", "--budget", "1.5M") == "web"
    document = run(scene.root, "project", "show", "web", "--json").document
    assert {name: document[name] for name in ("weight", "max_concurrent_agents", "budget")} == {
        "weight": 3.0, "max_concurrent_agents": 2, "budget": 1_500_000,
    }  # fmt: skip
    ok(scene.root, "task", "add", "a", "--project", "web")
    assert "project    web" in ok(scene.root, "task", "show", "a")
    assert ok(scene.root, "project", "pause", "web") == "project web is paused"
    assert ok(scene.root, "task", "ready") == ""
    assert ok(scene.root, "task", "why", "a") == (
        "a: its project web is paused: git worker project resume web"
    )
    assert ok(scene.root, "project", "resume", "web") == "project web is active"
    answer = run(scene.root, "project", "archive", "web")
    assert (answer.status, "has 1 open task;" in answer.err) == (1, True)
    assert ok(scene.root, "project", "edit", "web", "--max-agents", "4") == "project web is changed"
    assert run(scene.root, "project", "edit", "web").status == 2
    assert run(scene.root, "project", "edit", "web", "--budget", "many").status == 2
    assert run(scene.root, "project", "show", "lost").status == 4
    rows = [line.split("\t") for line in ok(scene.root, "project", "list").splitlines()]
    assert [row[0] for row in rows] == ["default", "web"]
    assert [one["task"] for one in run(
        scene.root, "task", "list", "--project", "web", "--json"
    ).document["tasks"]] == ["a"]  # fmt: skip
