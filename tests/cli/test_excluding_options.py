"""Options that contradict each other, or that the command would ignore, are refused."""

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import ok


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
