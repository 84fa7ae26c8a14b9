"""A rebase that git gives up on a full disk is reverted by the command that its refusal names."""

from pathlib import Path

import pytest

from tests.faults.harness import Fault, Injector, plainly
from tests.hints.following import Printed, follow, hints_of, note
from tests.workers.world import World, without_heartbeat_daemon

pytestmark = [pytest.mark.slow, pytest.mark.faults]


def test_a_rebase_that_cannot_be_reverted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, injector: Injector
) -> None:
    """The disk is full when git writes the first file, and when we put it back."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(world):
        place = world.working("auth", "login", {"a": "1\n"})
        world.advance({"README": "changed\n"})
        words, full = ("sync", "--as", "auth"), Fault("ENOSPC", lasts=True)
        refused = injector.run(world, *words, fault=full, at=1, under=place)
        assert (refused.status, refused.was_hit) == (1, True), refused
        assert world.git("status", "--porcelain", cwd=place) == "D README\n D a"
        (hint,) = hints_of(refused.out, refused.err)
        assert hint == "git worker recover"
        assert follow(Printed([], str(world.root)), hint) is None
        assert world.git("status", "--porcelain", cwd=place) == ""
        assert plainly(world, *words).status == 0
        note(hint, refused.err)
