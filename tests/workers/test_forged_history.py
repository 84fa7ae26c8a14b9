"""Files that make git show another history lose no commit and block no other worker."""

import pytest

from gitworker.errors import GitWorkerError
from tests.workers.world import World

KINDS = (
    "shallow tip",
    "shallow below",
    "grafts",
    "alternate",
    "missing alternate",
    "own alternate",
)
CUT = KINDS[:2]


def plant(world: World, kind: str) -> None:
    """Write a file of git's that changes which history or which objects git finds."""
    directory, info = world.root / ".git", world.root / ".git" / "objects" / "info"
    tip = world.tip("auth/login")
    if kind in CUT:
        cut = tip if kind == "shallow tip" else world.tip("auth/login~1")
        (directory / "shallow").write_text(f"{cut}\n")
    elif kind == "grafts":
        (directory / "info" / "grafts").write_text(f"{tip} {world.tip()}\n")
    else:
        other = world.root.parent / "other.git"
        if kind == "alternate":
            world.git("clone", "-q", "--bare", str(world.root), str(other))
        objects = directory if kind == "own alternate" else other
        info.mkdir(exist_ok=True)
        (info / "alternates").write_text(f"{objects}/objects\n")


@pytest.mark.parametrize("moment", ["done", "approve", "merge"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_history(world: World, kind: str, moment: str) -> None:
    """A branch whose commits are hidden is refused at each step; all its commits land, or none."""
    world.working("auth", "login", {"a": "1\n"})
    for name in ("b", "c"):
        world.commit("auth", {name: "1\n"}, name)
    world.advance({"z": "1\n"})
    refused = ""
    try:
        for step, run in (
            ("done", world.submit), ("approve", world.approve), ("merge", world.land),
        ):  # fmt: skip
            if step == moment:
                plant(world, kind)
            run("auth")
    except GitWorkerError as error:
        refused = error.code
    if moment != "merge":
        assert refused == ("malformed_commit" if kind in CUT else "")
    world.approved("ui", "form", {"ui": "1\n"})
    world.land("ui")
    for name in ("shallow", "info/grafts"):  # the test's own git obeys both
        (world.root / ".git" / name).unlink(missing_ok=True)
    landed = world.git("log", "--format=%s", "main").split()
    assert [landed.count(name) for name in ("b", "c", "Work")] == [
        *[int(not refused)] * 2, 1 + int(not refused),
    ]  # fmt: skip
