"""News: a change of the command line reaches an open page at once, and again after a break."""

import asyncio
import re
import signal
import threading
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, cast

import pytest
from anyio.lowlevel import checkpoint

from gitworker import clock
from gitworker.service import open_repository
from gitworker.web.access import Access
from gitworker.web.app import make_app
from gitworker.web.jobs import Jobs, Notice
from gitworker.web.live import STREAMS_AT_MOST, Hub
from gitworker.web.log_stream import LogStream
from gitworker.web.request import Site
from tests.web.kit import DEADLINE_S, Events, Page
from tests.workers.world import World

if TYPE_CHECKING:
    from gitworker.service import Service

WITHIN_MS = 300
TRIES = 40  # a busy machine delays some of them


def last_of(page: Page) -> str:
    """Return the id of the status that a page was made from."""
    found = re.search(r'data-last="([0-9a-f]+)"', page.see("/"))
    assert found is not None
    return found[1]


def test_a_change_arrives_within_300_ms(world: World, page: Page) -> None:
    """An event follows a committed change of another process within 300 ms, unless all are late."""
    service = open_repository(str(world.root))
    events = Events(page, f"/events?after={last_of(page)}")
    waits = []
    for number in range(TRIES):
        service.send_note("auth", f"note {number}")
        sent_ms = clock.monotonic_ms()
        events.next("changed")
        waits.append(clock.monotonic_ms() - sent_ms)
        if waits[-1] <= WITHIN_MS:
            break
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


class Failing:
    """The service, but the first call of some methods has a bug."""

    def __init__(self, service: Any, *names: str) -> None:
        self._service, self._names = service, list(names)

    def __getattr__(self, name: str) -> Any:
        """Return the service's method, or one that fails once."""
        if name in self._names:
            self._names.remove(name)
            return self._fail
        return getattr(self._service, name)

    def _fail(self, *_: object, **__: object) -> None:
        raise RuntimeError("a bug")


def test_the_news_continue_after_a_bug(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A bug while the status is read is logged in one line, and the status is read again."""
    service = open_repository(str(world.root))
    hub = Hub(cast("Service", Failing(service, "watch_status")))
    hub.start()
    before, _ = hub.newest
    service.send_note("hq", "hello")
    deadline_ms = clock.monotonic_ms() + 1000 * DEADLINE_S
    while hub.newest[0] == before and clock.monotonic_ms() < deadline_ms:
        threading.Event().wait(0.05)
    hub.close()
    assert hub.newest[0] != before
    assert [one.getMessage() for one in caplog.records] == [
        "the status cannot be read, next try in 2 s: RuntimeError: a bug"
    ]


def test_the_first_status_is_read_once(world: World) -> None:
    """The thread that watches reads the first status; only if it cannot, it is read again."""
    service = open_repository(str(world.root))
    hub = Hub(cast("Service", Failing(service, "status")))
    hub.start()
    assert hub.newest[1].workers == ()
    hub.close()
    with pytest.raises(RuntimeError, match="a bug"):
        Hub(cast("Service", Failing(service, "watch_status", "status"))).start()


def test_a_log_with_a_bug_is_followed_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A bug while a log is followed ends the stream without `end`, so the page connects again."""
    world.spawn("css", "theme")
    service = cast("Service", Failing(open_repository(str(world.root)), "follow_log"))

    async def read() -> list[str]:
        return [one async for one in LogStream(service, "css").events()]

    assert "event: end" not in "".join(asyncio.run(read()))
    assert len(caplog.records) == 1


@pytest.mark.parametrize("path", ["/events", "/workers/auth/log"])
def test_a_client_that_disconnects_at_once_keeps_no_stream(world: World, path: str) -> None:
    """Clients that disconnect before their first event do not use up the streams of the page."""
    world.spawn("auth", "login")
    service, access = open_repository(str(world.root)), Access()
    hub = Hub(service)
    hub.start()
    site = Site(service, hub, Jobs(lambda: None), access, service.reader(), "")
    app = make_app(site, port=None, cookie="session")
    opened = access.redeem(access.new_token())
    assert opened is not None
    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"cookie", f"session={opened.cookie}".encode())],
    }  # fmt: skip
    statuses = []

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            await checkpoint()  # as for a connection that cannot take the answer at once

    async def connect() -> None:
        for _ in range(STREAMS_AT_MOST + 1):
            await app(dict(scope), receive, send)

    asyncio.run(connect())
    hub.close()
    assert 503 not in statuses


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


def test_a_repository_that_is_gone(world: World, page: Page) -> None:
    """Every page refuses with the reason while the state is away, also the board and a log."""
    events = Events(page, "/events")
    events.next("changed")
    away = world.state_dir.with_name("away")
    world.state_dir.rename(away)
    events.next("changed")
    for path in ("/", "/inbox", "/workers/auth/log"):
        assert page.send("GET", path).status == 409, path
    away.rename(world.state_dir)
    events.next("changed")
    events.close()
    assert "card-auth" in page.see("/")


def test_a_late_notice_ends_with_the_next_try() -> None:
    """The result of a long change is kept until the same change is tried again."""
    release = threading.Event()

    def change() -> Notice:
        release.wait()
        return Notice("refused", "it does not pass")

    async def play() -> None:
        jobs = Jobs(announced.set)
        assert (await jobs.run("land cat", change, is_long=True)).kind == "running"
        release.set()
        announced.wait()
        assert [one.text for one in jobs.notices()] == ["land cat: it does not pass"]
        await jobs.run("land cat", change, is_long=True)
        assert jobs.notices() == []
        jobs.close()

    announced = threading.Event()
    asyncio.run(play())


def test_an_interrupt_with_open_pages_is_quiet(page: Page) -> None:
    """Ctrl-C cuts off the streams of open pages without a word about them."""
    events = Events(page, "/events")
    events.next("changed")
    page.process.send_signal(signal.SIGINT)
    errors = page.process.communicate(timeout=DEADLINE_S)[1]
    events.close()
    assert "Traceback" not in errors
    assert "Exception" not in errors
