"""A directory that cannot be renamed (EXDEV, as on an overlay) stays, and nothing stays open."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.acts import ACTS, Act
from tests.crash.inventory import require_nothing_lost, take
from tests.faults.harness import Fault, Injector
from tests.workers.world import World

pytestmark = [pytest.mark.slow, pytest.mark.faults]
MOVING = ("cancel", "reset", "merge", "merge-clean", "undo-cancel")
EXDEV = Fault("EXDEV", lasts=True)


@pytest.mark.parametrize("name", MOVING)
def test_what_cannot_be_renamed(
    prepared: Callable[[Act], World], injector: Injector, name: str
) -> None:
    """However often it is tried, no operation stays open and the trash does not grow."""
    act = next(act for act in ACTS if act.name == name)
    world = prepared(act)
    before, trash = take(world), world.root / "worktrees/.trash"
    entries = set(trash.glob("[!.]*"))
    for _ in range(3):
        done = injector.run(world, *act.words, fault=EXDEV, at=1)
        assert done.status in (0, 1), done.err
        assert "Traceback" not in done.err
        assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
        assert set(trash.glob("[!.]*")) == entries
    require_nothing_lost(world, before)
    world.require_sound()


OVERLAY = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1" || exit 99
cd "$1" || exit 99
for word in 1 2; do git-worker cancel auth; echo "status $?"; done
git-worker recover
git -C worktrees/login status --porcelain
ls worktrees/.trash
"""


def test_a_real_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an overlay whose lower layer has the worktree, cancel refuses and the worktree works."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    place = Path(world.spawn("auth", "login").path)
    (place / "new").write_text("untracked\n")
    for name in ("upper", "work"):
        (tmp_path / "layers" / name).mkdir(parents=True)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", OVERLAY, "sh", world.root, tmp_path / "layers"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"no overlay can be mounted here: {done.stderr}")
    lines = done.stdout.splitlines()
    assert lines == ["status 1", "status 1", "nothing was interrupted", "?? new"], done
    assert done.stderr.count("cannot be moved into the trash") == 2
