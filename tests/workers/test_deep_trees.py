"""Trees that are nested deeper than any checkout allows are refused and block only their worker."""

import pytest

from fixtures.hostile_trees import commit_tree, deep_tree
from fixtures.repos import Repo
from gitworker.landing.merge import NotLanded
from tests.cli.kit import Answer, run
from tests.workers.world import World

SHAPES = {"below the limit of git": (3_000, b"a"), "long names": (60, b"n" * 200),
          "beyond git's stack": (50_000, b"a")}  # fmt: skip
SHOWING = ("status", "show auth", "list", "log", "conflicts", "doctor", "fsck", "diff auth --stat")


def plant(world: World, shape: str) -> str:
    """Put a commit with such a tree on top of the branch of auth; return its id."""
    repo = Repo(world.root)
    levels, name = SHAPES[shape]
    bad = commit_tree(repo, deep_tree(repo, levels, name=name), parent=world.tip("auth/login"))
    world.git("update-ref", "refs/heads/auth/login", bad)
    return bad


def refused(answer: Answer, commit: str) -> bool:
    """Return whether a command refuses the commit by one message that names it."""
    return answer.status == 1 and commit[:12] in answer.err and "too long" in answer.err


@pytest.mark.parametrize("shape", SHAPES)
def test_done(world: World, shape: str) -> None:
    """`done` refuses such a tree; commands that read answer, and other workers work on."""
    world.working("auth", "login", {"a": "1\n"})
    world.working("ui", "form", {"ui": "1\n"})
    bad = plant(world, shape)
    answer = run(world.path("auth"), "done")
    assert refused(answer, bad), answer
    for words in SHOWING:
        answer = run(world.root, *words.split(" "))
        assert answer.status != 70, (words, answer.err[:2000])
        assert words.endswith("--stat") or answer.status in {0, 1}, (words, answer.err[:2000])
    answer = run(world.path("ui"), "done")
    assert answer.status == 0, answer.err[:2000]


@pytest.mark.parametrize("shape", SHAPES)
def test_approve_and_merge(world: World, shape: str) -> None:
    """`approve` and `merge` refuse such a tree, and every other worker lands."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.in_review("ui", "form", {"ui": "1\n"})
    before = world.tip("auth/login")
    bad = plant(world, shape)
    answer = run(world.root, "approve", "auth")
    assert refused(answer, bad), answer.err[:2000]
    world.git("update-ref", "refs/heads/auth/login", before)
    world.approve("auth")
    world.approve("ui")
    bad = plant(world, shape)
    results = world.merge("auth", "ui")
    assert [isinstance(one, NotLanded) for one in results] == [True, False], results
    assert bad not in world.git("rev-list", "main")
