"""News: a change of the command line reaches an open page at once, and again after a break."""

import re

from gitworker import clock
from gitworker.service import open_repository
from tests.web.kit import Events, Page
from tests.workers.world import World

WITHIN_MS = 300
TRIES = 5


def last_of(page: Page) -> str:
    """Return the id of the status that a page was made from."""
    found = re.search(r"/events\?after=([0-9a-f]+)", page.see("/"))
    assert found is not None
    return found[1]


def test_a_change_arrives_within_300_ms(world: World, page: Page) -> None:
    """An event follows a committed change of another process within 300 ms: the best of five."""
    service = open_repository(str(world.root))
    events = Events(page, f"/events?after={last_of(page)}")
    waits = []
    for number in range(TRIES):
        service.send_note("auth", f"note {number}")
        sent_ms = clock.monotonic_ms()
        events.next("changed")
        waits.append(clock.monotonic_ms() - sent_ms)
    events.close()
    assert min(waits) <= WITHIN_MS, waits


def test_a_page_continues_from_its_last_id(world: World, page: Page) -> None:
    """A stream that continues gets an event only if something has changed meanwhile."""
    last = last_of(page)
    quiet = Events(page, "/events", Last_Event_ID=last)
    quiet.close()
    open_repository(str(world.root)).send_note("auth", "hello")
    first = Events(page, "/events", Last_Event_ID=last)
    assert first.next("changed")["id"] != last
    first.close()


def test_the_log_of_an_agent(world: World, page: Page) -> None:
    """The log begins with the lines so far, continues, and has no terminal codes."""
    world.spawn("css", "theme")
    service = open_repository(str(world.root))
    words = "printf '\\033[31mred\\033[0m <b>\\n'; read line < go; echo green"
    (world.path("css") / "go").unlink(missing_ok=True)
    world.git("-C", str(world.path("css")), "config", "core.autocrlf", "false")
    import os

    os.mkfifo(world.path("css") / "go")
    service.detach("css", ["sh", "-c", words])
    events = Events(page, "/workers/css/log")
    events.next("start")
    assert "red <b>" in events.next("log")["data"]
    (world.path("css") / "go").write_text("go\n")
    while "green" not in events.next("log")["data"]:
        pass
    events.next("end")
    events.close()
