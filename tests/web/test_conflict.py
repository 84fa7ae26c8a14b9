"""The conflict of a worker with another one on the page."""

import re

from fixtures.repos import lines
from gitworker.bus.drain import drain
from gitworker.radar.radar_watch import check_branches
from tests.web.kit import Page
from tests.workers.world import World

EVIL = "<script>document.title='run'</script>\x1b[31m"


def make_conflict(world: World) -> None:
    """Bring auth and menu into conflict in one file, and let the radar see it."""
    world.advance({"f": lines(20)})
    world.working("menu", "menu-task", {"f": lines(20, {7: "\ntheirs"})})
    world.working("list", "list-task", {"f": lines(20, {7: EVIL})})
    world.submit("list")
    session = world.session()
    drain(session)
    assert check_branches(session) == 2


def test_the_link_and_the_page(world: World, page: Page) -> None:
    """A conflict on a worker's page leads to the three versions, which are text."""
    make_conflict(world)
    shown = page.see("/workers/list")
    (address,) = re.findall(r'href="([^"]*)" id="conflict-menu"', shown)
    assert address == "/workers/list/conflict?with=menu"
    found = page.see(address)
    sections = re.findall(r'<section class="side (\w+)".*?</section>', found, re.DOTALL)
    assert sections == ["ours", "base", "theirs"]
    assert "line 7" in found
    assert "&lt;script&gt;" in found
    assert "<script>document" not in found
    assert "\x1b" not in found
    assert "<pre>\n\n" in found  # an empty line at the beginning; HTML drops the first line end


def test_no_conflict_and_no_worker(world: World, page: Page) -> None:
    """A page without a conflict says so, and an unknown worker is an error."""
    assert "do not conflict" in page.see("/workers/auth/conflict")
    assert page.send("GET", "/workers/auth/conflict?with=x").status == 404
