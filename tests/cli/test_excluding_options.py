"""Options that contradict each other, or that the command would ignore, are refused."""

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import ok
from tests.conftest import git


@pytest.mark.parametrize(
    "verdicts", [("--request-changes", "--approve"), ("--approve", "--comment")]
)
def test_two_verdicts(scene: Scene, verdicts: tuple[str, str]) -> None:
    """A review with two verdicts is refused, and the work stays in review."""
    scene.submitted()
    answer = scene.run("review", "send", "auth", *verdicts, "-m", "Please fix")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == ("error: --comment, --request-changes and --approve exclude each other\n")
    assert "IN_REVIEW" in ok(scene.root, "list")


@pytest.mark.parametrize("words", [("list",), ("status",), ("status", "--watch")])
def test_a_machine_without_a_fleet(scene: Scene, words: tuple[str, ...]) -> None:
    """The workers of a machine are asked for in a fleet only."""
    scene.spawn("auth", "t1")
    answer = scene.run(*words, "--machine", "nope")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("error: this repository is in no fleet\n")


def test_a_process_and_a_command(scene: Scene) -> None:
    """`resume` records a process or starts a command, and otherwise changes nothing."""
    ok(scene.working(), "fail", "-m", "Lost")
    pid = str(scene.agent_pid)
    for words in (("--", "true"), ("-d",)):
        answer = scene.run("resume", "auth", "--pid", pid, *words)
        assert (answer.status, answer.out) == (2, ""), words
        assert answer.err.startswith("error: --pid names a process that runs already;"), words
    assert "FAILED" in ok(scene.root, "list")


def test_resume_detached_runs_no_setup(scene: Scene) -> None:
    """`resume -d` without a known command is refused before failed setup commands run again."""
    git(scene.root, "config", "worker.worktree.setup", "echo run >>../setup; false")
    scene.run("spawn", "auth", "t1")
    log = scene.root / "worktrees/setup"
    before = log.read_text()
    answer = scene.run("resume", "auth", "-d")
    assert (answer.status, answer.out) == (2, "")
    assert log.read_text() == before


def test_auto_resume_without_an_agent(scene: Scene) -> None:
    """`spawn --auto-resume` without an agent is refused, and creates nothing."""
    answer = scene.run("spawn", "auth", "t1", "--auto-resume")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "error: --auto-resume requires --agent or a command\n"
    assert not scene.state.exists()


@pytest.mark.parametrize("verb", ["send", "reply"])
def test_two_texts(scene: Scene, verb: str) -> None:
    """A text as a word and one from a file exclude each other, by their own names."""
    scene.spawn("auth", "t1")
    answer = scene.run(verb, "auth", "Yes", "-F", "README")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "error: TEXT and -F both give a text; use one of them\n"


@pytest.mark.parametrize(
    "words",
    [
        ("msg", "poll", "--brief", "--json"), ("task", "graph", "--mermaid", "--json"),
        ("merge", "--dry-run", "--keep", "--all"),
    ],
)  # fmt: skip
def test_two_forms(scene: Scene, words: tuple[str, ...]) -> None:
    """An option that another one would make useless is refused."""
    ok(scene.root, "init")
    answer = scene.run(*words)
    assert answer.status == 2
    assert words[2] in answer.out + answer.err


def test_an_option_before_the_command(scene: Scene) -> None:
    """An option of a group's default command does not silently apply to none."""
    ok(scene.root, "init")
    ok(scene.root, "agents", "--all")
    ok(scene.root, "--json", "agents", "--json", "list")
    answer = scene.run("agents", "--all", "list")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "error: --all must be behind list\n"
