"""hooks uninstall: only a command that installs puts anything back."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import ok, run
from tests.workers.world import World, without_heartbeat_daemon

READING = (
    ("status",), ("list",), ("show", "auth"), ("log",), ("path", "auth"), ("diff", "auth"),
    ("agents",), ("doctor",), ("fsck",), ("fsck", "--repair"), ("hooks", "status"),
    ("msg", "stats"), ("undo", "--list"), ("start", "auth"), ("heartbeat", "auth"), ("gc",),
)  # fmt: skip

AGAIN = (
    ("init",), ("hooks", "install"), ("spawn", "ui", "form"),
    ("adopt", "--rename", "side", "ui", "form"),
)  # fmt: skip


def traces(world: World) -> list[str]:
    """Return what is left of gitworker in the user's configuration and work tree."""
    exclude = (world.root / ".git/info/exclude").read_text()
    found = ["exclude"] if "gitworker" in exclude else []
    names = (".worker-state", "worktrees/.gitignore", ".git/worker-state/hooks")
    found += [name for name in names if os.path.lexists(world.root / name)]
    settings = world.root.glob(".git/worktrees/*/config.worktree")
    return found + [path.name for path in settings if "worker-state" in path.read_text()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a repository with a worker, uninstalled."""
    made = World.make(tmp_path / "repo")
    made.git("branch", "side")
    with without_heartbeat_daemon(made):
        made.spawn("auth", "login")
        ok(made.root, "hooks", "uninstall")
        assert traces(made) == []
        yield made


def test_reading_installs_nothing(world: World) -> None:
    """No other command brings back hooks, link or excludes, and no check complains."""
    for words in READING:
        ok(world.root, *words)
        assert traces(world) == [], words
    assert "no findings" in ok(world.root, "fsck")
    assert "warn" not in ok(world.root, "doctor")


@pytest.mark.parametrize("words", AGAIN, ids=lambda words: str(words[0]))
def test_installed_again(world: World, words: tuple[str, ...]) -> None:
    """A command that installs brings back everything, for the older workers too."""
    answer = run(world.root, *words)
    assert answer.status == 0
    assert ("installed again" in answer.err) is (words[0] in ("spawn", "adopt"))
    assert {*traces(world)} == {
        "exclude", ".worker-state", "worktrees/.gitignore", ".git/worker-state/hooks",
        "config.worktree",
    }  # fmt: skip
    assert "no findings" in ok(world.root, "fsck")
