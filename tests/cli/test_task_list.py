"""`task list`: each task with its status, its worker and the next command."""

from tests.cli.conftest import Scene
from tests.cli.kit import ok, run


def test_stopped_tasks(scene: Scene) -> None:
    """status names the command that lists stopped tasks, and the list names the next command."""
    scene.working("auth", "login")
    scene.spawn("docs", "guide")
    assert "task list" not in ok(scene.root, "status")
    ok(scene.root, "fail", "auth", "-m", "no idea")
    assert "→ git worker task list failed\n" in run(scene.root, "status").out
    listed = run(scene.root, "task", "list", "failed").out
    assert listed == "login\tFAILED\tauth\tgit worker resume auth -- <command>\tno idea\n"
    rows = [line.split("\t")[:4] for line in ok(scene.root, "task", "list").splitlines()]
    assert rows == [
        ["guide", "ASSIGNED", "docs", "git worker exec docs -- <command>"],
        ["login", "FAILED", "auth", "git worker resume auth -- <command>"],
    ]
    ok(scene.root, "cancel", "docs")
    (found,) = run(scene.root, "task", "list", "cancelled", "--json").document["tasks"]
    assert (found["task"], found["worker"]) == ("guide", None)
    assert found["next"].startswith("git worker task restart guide   # or undo it")
    assert run(scene.root, "task", "list", "lost").status == 2
