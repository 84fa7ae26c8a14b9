"""`task list`: each task with its status, its worker and the next command."""

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run
from tests.cli.terminal import on_terminal


def test_stopped_tasks(scene: Scene) -> None:
    """status names the command that lists stopped tasks, and the list names the next command."""
    scene.working("auth", "login")
    scene.spawn("docs", "guide")
    assert "task list" not in ok(scene.root, "status")
    ok(scene.root, "fail", "auth", "-m", "no idea")
    assert "→ git worker task list failed\n" in run(scene.root, "status").out
    listed = run(scene.root, "task", "list", "failed").out
    assert listed == "login\tFAILED\tauth\tgit worker resume auth\tno idea\n"
    rows = [line.split("\t")[:4] for line in ok(scene.root, "task", "list").splitlines()]
    assert rows == [
        ["login", "FAILED", "auth", "git worker resume auth"],
        ["guide", "ASSIGNED", "docs", "git worker exec docs -- <command>"],
    ]
    ok(scene.root, "cancel", "docs")
    (found,) = run(scene.root, "task", "list", "cancelled", "--json").document["tasks"]
    assert (found["task"], found["worker"]) == ("guide", None)
    assert found["next"].startswith("git worker task restart guide   # or undo it")
    assert run(scene.root, "task", "list", "lost").status == 2


def test_a_long_list(scene: Scene) -> None:
    """A terminal shows the first 100 tasks, or all on request; scripts get all unless limited."""
    (scene.root / "plan.md").write_text("".join(f"- [ ] t{n}: Task\n" for n in range(120)))
    ok(scene.root, "task", "import", "plan.md")
    env = {"GIT_PAGER": "cat"}
    with on_terminal(scene.root, "task", "list", env=env, size=(80, 24)) as terminal:
        assert "100 of 120 tasks; --all lists all" in terminal.rest()
    with on_terminal(scene.root, "task", "list", "--all", env=env, size=(80, 24)) as terminal:
        assert "t119" in terminal.rest()
    assert len(ok(scene.root, "task", "list").splitlines()) == 120
    assert len(ok(scene.root, "task", "list", "-n", "7").splitlines()) == 7
    found = run(scene.root, "task", "list", "ready", "--limit", "3", "--json").document
    assert (len(found["tasks"]), found["more"]) == (3, True)
