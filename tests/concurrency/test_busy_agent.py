"""An agent that commits while its branch is rebased and landed loses nothing."""

import os

import pytest

from fixtures.agents import commits
from tests.concurrency.processes import at_work
from tests.workers.world import World

ROUNDS = max(2, min(10, int(3 * float(os.environ.get("GITWORKER_TEST_SCALE", "1")))))


@pytest.mark.parametrize("doorbell", ["off", "on"])
def test_commits_during_approvals(
    world: World, monkeypatch: pytest.MonkeyPatch, doorbell: str
) -> None:
    """Every commit of the agent is reachable in the end, and none reverts the target."""
    place = world.in_review("auth", "login", {"agent-0": "0\n"})
    monkeypatch.setenv("GITWORKER_HOOKS", doorbell)
    with at_work(world, commits.__file__, "auth", str(place)) as committed:
        for number in range(ROUNDS):
            world.advance({f"theirs-{number}": f"{number}\n", "README": f"theirs {number}\n"})
            approve_in_the_end(world)
            done = world.drive("merge", "auth")
            if done.returncode == 0:  # no commit came in between
                break
            assert done.stderr.startswith(("approval_withdrawn", "ref_moved")), done.stderr
    kept = set(world.git("log", "--all", "--format=%s").splitlines())
    assert set(committed) - {""} <= kept
    tip = "auth/login" if "refs/heads/auth/login" in world.refs() else "main"
    base = world.git("merge-base", "main", tip)
    touched = world.git("log", "--format=", "--name-only", f"{base}..{tip}").split()
    assert all(name.startswith("agent-") for name in touched), touched
    assert world.show("README", tip).startswith("theirs")
    landed = world.git("ls-tree", "--name-only", "main").splitlines()
    assert "theirs-0" in landed
    if world.worker("auth").state == "COMPLETED":
        assert "agent-0" in landed


def approve_in_the_end(world: World) -> None:
    """Approve the tip; a lost race against the agent's next commit is tried again."""
    for _ in range(60):
        done = world.drive("approve", "auth", "auth/login")
        if done.returncode == 0:
            return
        assert done.returncode == 3, done.stderr
        assert done.stderr.startswith(("ref_moved", "index_locked", "not_the_tip")), done.stderr
    raise AssertionError(done.stderr)
