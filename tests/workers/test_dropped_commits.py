"""Handed-in commits that a reset dropped from the branch are reported, with a way back."""

import subprocess

import pytest

from gitworker.errors import Refused
from gitworker.observe.inbox.needs import read_needs
from gitworker.observe.workers.show import read_show
from gitworker.observe.workers.status import read_status
from gitworker.repo.plumbing.refs import read_refs
from tests.workers.world import World


def trouble(world: World) -> tuple[str, str] | None:
    """Return words and command of the trouble of `auth`; `status`, `show` and inbox agree."""
    session = world.session()
    found = read_show(session, world.worker("auth")).trouble
    (line,) = read_status(session, read_refs(session.git, ["refs/heads/"])).workers
    assert line.trouble == found
    (item,) = read_needs(session, limit=9).items
    if found is None:
        return None
    assert (found.words in item.text, item.command) == (True, found.command)
    return found.words, found.command


def test_one_of_two(world: World) -> None:
    """A dropped commit is counted; the command brings it back, and `done` accepts its loss."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")
    tip = world.tip("auth/login")
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    words = f"1 handed-in commit is not on auth/login any more; {tip[:12]} has all"
    found = trouble(world)
    assert found is not None
    command, _, remark = found[1].partition("   # ")
    assert (found[0], command) == (words, f"git -C {place} reset --keep {tip[:12]}")
    assert remark == "or hand in the rest: git worker done auth"
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (world.tip("auth/login"), trouble(world)) == (tip, None)
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)
    world.submit("auth")
    assert trouble(world) is None


def test_all(world: World) -> None:
    """`done` and `approve` name the way back, and do not report a landing that was none."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    world.git("reset", "-q", "--hard", "main", cwd=place)
    command = f"git -C {place} reset --keep {tip[:12]}"
    with pytest.raises(Refused, match="has no commit of its own any more") as caught:
        world.submit("auth")
    assert (caught.value.code, caught.value.hint) == ("commits_dropped", command)
    with pytest.raises(Refused) as caught:
        world.approve("auth")
    assert f"reset --keep {tip[:12]}" in (caught.value.hint or "")


def test_landed_by_hand(world: World) -> None:
    """A handed-in commit that the target has is not missing."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")
    world.git("cherry-pick", "auth/login~1")
    world.advance({"c": "1\n"})
    world.git("rebase", "-q", "main", cwd=place)
    assert trouble(world) is None
