"""Long text on a terminal is shown by the pager that git would choose."""

from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import DEADLINE_S, ok
from tests.cli.terminal import on_terminal
from tests.conftest import git


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that marks its output and shows its settings."""
    return 'echo "paged LESS=$LESS"; cat'


def shown(scene: Scene, *words: str, rows: int = 5, **env: str) -> str:
    """Return the output of a command on a terminal."""
    with on_terminal(scene.root, *words, env=env, size=(80, rows)) as terminal:
        text = terminal.rest()
        assert terminal.process.wait(DEADLINE_S) == 0
    return text


def test_the_order_of_settings(scene: Scene, pager: str) -> None:
    """GIT_PAGER precedes core.pager, and that PAGER; LESS is git's unless the user set it."""
    scene.submitted()
    assert "paged LESS=FRX\r\n" in shown(scene, "log", PAGER=pager)
    git(scene.root, "config", "core.pager", "sed s/^/core:/")
    assert "\r\ncore:" in shown(scene, "log", PAGER=pager)
    assert "paged LESS=R\r\n" in shown(scene, "log", GIT_PAGER=pager, LESS="R")
    for plain in ("", "cat"):
        text = shown(scene, "log", GIT_PAGER=plain, PAGER=pager)
        assert "core:" not in text
        assert "review_request" in text


def test_short_text_and_pipes_are_not_paged(scene: Scene, pager: str) -> None:
    """Text that fits the terminal is printed; a pipe never starts a pager."""
    scene.submitted()
    assert "paged" not in shown(scene, "log", rows=60, PAGER=pager)
    assert "paged" not in ok(scene.root, "log", env={"PAGER": pager})


def test_a_pager_that_does_not_exist(scene: Scene) -> None:
    """Without its pager the text is printed."""
    scene.submitted()
    assert "review_request" in shown(scene, "log", GIT_PAGER="no-such-program-here")


def test_a_pager_that_ends_early(scene: Scene) -> None:
    """A pager that reads nothing does not fail the command."""
    worktree = scene.submitted()
    scene.commit(worktree, "long.txt", "line\n" * 100_000)
    assert shown(scene, "diff", "auth", GIT_PAGER="true") == ""
