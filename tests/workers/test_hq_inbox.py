"""The inbox of hq names the findings on work that waits for it."""

from gitworker.observe.inbox.needs import read_needs
from gitworker.radar.radar_watch import check_branches
from tests.workers.world import World


def test_conflicts_and_trouble_of_waiting_work(world: World) -> None:
    """A review names conflicts, later commits, and an unusual worktree with its command."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.in_review("docs", "guide", {"README": "yours\n"})
    session = world.session()
    check_branches(session)
    first, second = read_needs(session, limit=9).items
    assert (first.source, first.text) == ("auth", "login; conflicts with docs in README")
    assert second.text == "guide; conflicts with auth in README"
    assert first.command == "git worker approve auth"
    world.commit("auth", {"later": "1\n"})
    place = world.path("docs")
    world.git("switch", "--quiet", "-c", "aside", cwd=place)
    first, second = read_needs(world.session(), limit=9).items
    assert "1 commit of auth/login is not handed in" in first.text
    assert first.command == "git worker done auth"
    assert f"{place} is on aside, not on docs/guide" in second.text
    assert second.command == f"git -C {place} switch docs/guide"
