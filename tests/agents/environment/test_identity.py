"""The identity of an agent's commits."""

from pathlib import Path

import pytest

from gitworker.agents.environment.identity import IdentityQuestion
from tests.workers.world import World


def test_the_identity_is_git_s_own_answer(tmp_path: Path) -> None:
    """Author and committer are those that git would use in the worktree."""
    world = World.make(tmp_path / "repo")
    world.git("config", "author.name", "An Author <odd>")
    world.git("config", "author.email", "author@example.com")
    found = IdentityQuestion(str(world.root)).answer()
    assert found["GIT_AUTHOR_EMAIL"] == "author@example.com"
    assert found["GIT_AUTHOR_NAME"] == world.git("var", "GIT_AUTHOR_IDENT").split(" <")[0]
    assert found["GIT_COMMITTER_NAME"] == world.git("config", "user.name")
    assert found["GIT_COMMITTER_EMAIL"] == world.git("config", "user.email")


def test_an_identity_that_git_refuses_to_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an identity no variable is set, so git's own advice is shown."""
    world = World.make(tmp_path / "repo")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    world.git("config", "user.useConfigOnly", "true")
    assert IdentityQuestion(str(world.root)).answer() == {}
