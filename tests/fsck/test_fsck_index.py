"""A damaged index of a worktree: fsck and doctor find it, a repair loses no file."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.fsck.doctor import read_doctor
from gitworker.fsck.finding import Level
from gitworker.fsck.fsck import run_fsck, run_repair
from tests.workers.world import World

Damage = Callable[[Path], object]
VERBS = (
    ("status",), ("list",), ("show", "auth"), ("diff", "auth"), ("done", "auth"),
    ("cancel", "auth"), ("spawn", "new", "other"), ("doctor",), ("fsck",), ("log",),
)  # fmt: skip


def flip(index: Path) -> None:
    """Change one byte in the middle of the index."""
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 255
    index.write_bytes(data)


def directory(index: Path) -> None:
    """Replace the index by a directory."""
    index.unlink()
    index.mkdir()


DAMAGES: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda index: index.write_bytes(b""),
    "garbage": lambda index: index.write_bytes(b"garbage" * 9),
    "cut": lambda index: index.write_bytes(index.read_bytes()[:-9]),
    "header only": lambda index: index.write_bytes(b"DIRC\0\0\0\2\0\0\0\0"),
    "flipped": flip,
    "directory": directory,
}


def index_of(world: World) -> Path:
    """Return the index file of the worktree of `auth`."""
    return Path(world.worker("auth").admin_dir or "", "index")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_index_is_rebuilt(world: World, name: str) -> None:
    """fsck and doctor report the index; the repair keeps the old one and changes no file."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "2\n", "new": "mine\n", "staged": "3\n"})
    world.git("add", "staged", cwd=place)
    DAMAGES[name](index_of(world))
    assert [one.code for one in run_fsck(world.session()).findings] == ["index_broken"]
    failures = [one for one in read_doctor(world.session()).findings if one.level is Level.FAIL]
    assert any("index" in one.message for one in failures)
    repaired = run_repair(world.session())
    assert (repaired.failed, repaired.left.findings) == ((), ())
    found = world.git("status", "--porcelain", cwd=place).splitlines()
    assert sorted(line.split()[-1] for line in found) == ["a", "new", "staged"]
    assert [(place / file).read_text() for file in ("a", "new", "staged")] == [
        "2\n", "mine\n", "3\n",
    ]  # fmt: skip
    kept = list((world.state_dir / "found").glob("*index*")) if name != "missing" else [place]
    assert len(kept) == 1


def test_a_missing_shared_index(world: World) -> None:
    """A split index without its shared part is damaged, and with it, it is no finding."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("update-index", "--split-index", cwd=place)
    assert run_fsck(world.session()).findings == ()
    for shared in index_of(world).parent.glob("sharedindex.*"):
        shared.unlink()
    assert [one.code for one in run_fsck(world.session()).findings] == ["index_broken"]
    assert run_repair(world.session()).left.findings == ()
    assert world.git("status", "--porcelain", cwd=place) == ""


def test_a_sparse_checkout_stays_sparse(world: World) -> None:
    """A rebuilt index keeps the files that are not checked out."""
    place = world.working("auth", "login", {"a": "1\n", "src/b": "1\n"})
    world.git("sparse-checkout", "set", "--no-cone", "/a", cwd=place)
    index_of(world).unlink()
    assert run_repair(world.session()).left.findings == ()
    assert world.git("status", "--porcelain", cwd=place) == ""


@pytest.mark.parametrize("verb", VERBS, ids="-".join)
def test_no_command_crashes_on_a_damaged_index(world: World, verb: tuple[str, ...]) -> None:
    """With a damaged index every command answers, or refuses with a reason."""
    world.working("auth", "login", {"a": "1\n"})
    index_of(world).write_bytes(b"garbage" * 9)
    done = subprocess.run(
        [sys.executable, "-m", "gitworker", *verb], cwd=world.root, check=False, text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
    )  # fmt: skip
    assert done.returncode in (0, 1, 3, 4), done.stderr
    assert "Traceback" not in done.stderr
