"""git worker conflicts: its output, its formats and its cost."""

from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import ok
from tests.cli.terminal import on_terminal
from tests.conftest import git


def three(scene: Scene) -> None:
    """Let three workers edit: two the same line, the third the line that the target edits too."""
    for worker, file in (("auth", "README"), ("docs", "README"), ("ui", "src/app.py")):
        scene.commit(scene.working(worker, f"{worker}-task"), file, f"{worker}\n")
    scene.commit(scene.root, "src/app.py", "by a user\n")


def test_on_a_pipe(scene: Scene) -> None:
    """Each pair is one row, with tabs between names and files; without pairs nothing is printed."""
    ok(scene.root, "init")
    assert scene.run("conflicts").out == ""
    three(scene)
    answer = scene.run("conflicts")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == "ui\tmain\tsrc/app.py\nauth\tdocs\tREADME\n"
    named = scene.run("conflicts", "ui", "docs-task")
    assert named.out == answer.out
    assert scene.run("conflicts", "auth", cwd=scene.root / "src").out == "auth\tdocs\tREADME\n"


def test_on_a_terminal(scene: Scene) -> None:
    """Those with the target first, then those with each other, then how it is known."""
    three(scene)
    with on_terminal(scene.root, "conflicts") as terminal:
        shown = terminal.rest().replace("\r", "")
    assert shown == (
        "with main:\n"
        "  ui  src/app.py\n"
        "with each other:\n"
        "  auth × docs  README\n"
        "2 conflicts in 6 pairs of 3 branches (2 merged, 4 apart, 0 known)\n"
    )


def test_as_json(scene: Scene) -> None:
    """Branches, conflicts with all their files, and how many pairs were merged, skipped, known."""
    three(scene)
    document = scene.run("conflicts", "--json").document
    assert {"schema", "target", "branches", "conflicts", "unknown", "pairs"} == set(document)
    assert document["target"] == {
        "worker": None, "task": None, "branch": "main", "commit": "<oid>",
    }  # fmt: skip
    assert [one["worker"] for one in document["branches"]] == ["auth", "docs", "ui"]
    (with_target, with_other) = document["conflicts"]
    assert with_target["other"] == document["target"]
    assert with_other["files"] == ["README"]
    assert with_other["other"] == {
        "worker": "docs", "task": "docs-task", "branch": "docs/docs-task", "commit": "<oid>",
    }  # fmt: skip
    assert document["pairs"] == {"all": 6, "merged": 2, "skipped": 4, "cached": 0}
    assert scene.run("conflicts", "--json").document["pairs"]["cached"] == 6


def test_the_second_time_costs_nothing(scene: Scene, tmp_path: Path) -> None:
    """Known results are reported without git, except for the two queries of every command."""
    three(scene)
    ok(scene.root, "conflicts")
    trace = tmp_path / "trace"
    ok(scene.root, "conflicts", env={"GITWORKER_TRACE": str(trace)})
    assert len(trace.read_text().splitlines()) == 2


def test_workers_that_are_not_compared(scene: Scene) -> None:
    """A named worker without work is reported, and an unknown one is not found."""
    scene.spawn("auth", "t1")
    answer = scene.run("conflicts", "auth")
    assert (answer.status, answer.out) == (0, "")
    assert answer.err == ("auth is not compared: it is not at work, or has no commits of its own\n")
    missing = scene.run("conflicts", "unknown")
    assert (missing.status, missing.out) == (4, "")
    assert "no worker, task or branch is called 'unknown'" in missing.err


def test_a_pair_that_git_cannot_merge(scene: Scene) -> None:
    """A pair that git cannot merge is named with git's message, and the others are reported."""
    three(scene)
    blob = git(scene.root, "rev-parse", "docs/docs-task:README")
    (scene.root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    answer = scene.run("conflicts")
    assert (answer.status, answer.out) == (0, "ui\tmain\tsrc/app.py\n")
    assert answer.err.startswith("warning: git cannot merge auth and docs: ")
    document = scene.run("conflicts", "--json").document
    (unknown,) = document["unknown"]
    assert (unknown["one"]["worker"], unknown["other"]["worker"]) == ("auth", "docs")
