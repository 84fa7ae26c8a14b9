"""Reviews of work whose worktree is on another machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.machines.machine import Machine, wait_for

Fleet = Callable[..., list[Machine]]


@pytest.fixture
def pair(fleet: Fleet) -> list[Machine]:
    """Two machines; the first has work to hand in."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    return [alpha, beta]


@pytest.mark.parametrize(
    "words",
    [
        ("review", "auth"),
        ("review", "list", "auth"),
        ("review", "comment", "auth", "b.txt:1", "-m", "why x?"),
        ("review", "viewed", "auth"),
        ("verify", "auth"),
    ],
)
def test_the_first_command_about_handed_in_work(
    pair: list[Machine], words: tuple[str, ...]
) -> None:
    """A command of a review fetches the work, if the job that follows has not done so yet."""
    alpha, beta = pair
    beta.git("config", "worker.verify.commands", "test -e b.txt")
    alpha.ok("done", "auth")
    beta.ok("status")  # the replica has the hand-in
    beta.ok(*words)
    assert beta.git("show", "auth/login:b.txt") == "x"


def test_two_rounds_between_two_machines(pair: list[Machine]) -> None:
    """The author reads the comments on one machine; the reviewer compares the rounds on another."""
    alpha, beta = pair
    alpha.ok("done", "auth")
    beta.ok("review", "comment", "auth", "b.txt:1", "-m", "why x?")
    beta.ok("review", "send", "auth", "--request-changes")
    place = Path(alpha.ok("path", "auth"))
    assert "why x?" in alpha.ok("review", "list", "auth", cwd=place)
    (place / "b.txt").write_text("y\n")
    assert alpha.popen("git", "commit", "-qam", "Say y", "--amend", cwd=place).wait() == 0
    alpha.ok("review", "handled", "1", cwd=place)
    alpha.ok("done", cwd=place)
    assert "+y" in beta.ok("review", "auth")
    assert "+y" in beta.ok("review", "diff", "auth", "--round", "1..2")
    beta.ok("land", "auth")
    assert (beta.root / "b.txt").read_text() == "y\n"


def test_handed_in_work_arrives_by_itself(pair: list[Machine]) -> None:
    """A machine fetches what others hand in, so that a review needs no network; rounds are kept."""
    alpha, beta = pair
    beta.ok("status")
    alpha.ok("done", "auth")
    kept = "refs/worker/round/auth/login/1"
    wait_for(lambda: kept in beta.git("for-each-ref", "--format=%(refname)", "refs/worker/round"))
    assert (
        beta.git("rev-parse", kept, "auth/login").split()
        == [alpha.git("rev-parse", "auth/login")] * 2
    )
    beta.git("remote", "set-url", "origin", "/nowhere")
    assert "+x" in beta.ok("review", "auth")
