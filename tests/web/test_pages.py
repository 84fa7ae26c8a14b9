"""Every page of a real server shows the repository."""

import re
import shutil
from contextlib import closing
from http.client import HTTPConnection

import pytest

from gitworker import clock
from gitworker.web.render import read_static
from tests.web.kit import DEADLINE_S, Page
from tests.workers.world import World, wait_until

PAGES = ("/", "/inbox", "/queue", "/messages", "/agents", "/tasks", "/tasks/login", "/settings",
         "/workers/auth", "/workers/auth?part=live", "/messages?q=login", "/?project=default&all=1",
         "/notices", "/tasks?all=1", "/timeline", "/timeline?window=6h&by=project",
         "/timeline?window=week", "/timeline?window=x&by=x")  # fmt: skip


def test_the_count_of_the_inbox_is_small(page: Page) -> None:
    """Every page loads the count again with each change, so its answer is the count alone."""
    assert 'hx-get="/needs"' in page.see("/")
    count = page.see("/needs")
    assert "1<span" in count
    assert len(count) < 200


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_shown(page: Page, path: str) -> None:
    """A page answers with its content."""
    assert page.see(path) or path == "/notices"


def test_the_scripts_are_small() -> None:
    """A page loads 60 kB of scripts at most."""
    sizes = {name: len(data) for name, data in read_static().items() if name.endswith(".js")}
    assert set(sizes) == {"app.js", "htmx.min.js"}
    assert sum(sizes.values()) <= 60_000


def test_states_have_the_words_of_commands(world: World, page: Page) -> None:
    """A worker and its task have the states that `git worker list` and `task list` print."""
    assert '<span class="state in_review">in review</span>' in page.see("/workers/auth")
    assert ">handed in</span>" in page.see("/tasks/login")
    world.approve("auth")
    world.land("auth")
    shown = page.see("/tasks?all=1")
    assert ">completed</span>" in shown
    assert "login, completed" in shown
    world.spawn("menu", "menu-task")
    assert '<span class="state assigned">not started yet</span>' in page.see("/workers/menu")


def test_times_are_local(world: World, page: Page) -> None:
    """Times are those of the local zone, without a date on the same day; programs read UTC."""
    (stored,) = world.query("SELECT ts_ms FROM messages WHERE type = 'review_request'")
    shown = page.see("/workers/auth")
    local = clock.local_minutes(stored[0], clock.now_ms())
    assert f'<time datetime="{clock.iso_utc_seconds(stored[0])}">{local}</time>' in shown
    outside = re.sub("<time .*?</time>", "", shown)
    assert not re.search(r"\d{4}-\d\d-\d\dT", outside)


def read_parts(page: Page, path: str) -> tuple[int, str, str]:
    """Return the status of a page, the first part that arrives, and the others."""
    with closing(HTTPConnection("127.0.0.1", page.port, timeout=DEADLINE_S)) as connection:
        connection.request("GET", path, headers={"Cookie": page.cookie})
        response = connection.getresponse()
        first = response.read1().decode()
        return response.status, first, response.read().decode()


def test_a_review_begins_at_once(page: Page) -> None:
    """The head of a worker's page comes before its review is read, with every usual header."""
    status, first, rest = read_parts(page, "/workers/auth?view=one")
    assert (status, first.count("<h1>auth</h1>"), first.count('id="diff"')) == (200, 1, 0)
    assert first.lstrip().startswith("<!doctype html>")
    assert "<title>auth · gitworker</title>" in first
    assert (rest.count("<h1>"), rest.count('id="diff"'), rest.count("</html>")) == (0, 1, 1)
    answer = page.send("GET", "/workers/auth?view=one")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["set-cookie"].startswith("view=one;")


def test_only_a_browser_gets_parts(page: Page) -> None:
    """htmx and a name that is no worker get a whole page with its status."""
    whole = page.send("GET", "/workers/auth", hx_request="true")
    assert (whole.status, whole.text.count("<h1>auth</h1>")) == (200, 1)
    assert int(whole.headers["content-length"]) == len(whole.text.encode())
    assert page.send("GET", "/workers/login").text.count("<h1>auth</h1>") == 1  # by its task
    missing = page.send("GET", "/workers/nobody")
    assert (missing.status, "content-length" in missing.headers) == (404, True)


def test_an_error_behind_the_head(world: World, page: Page) -> None:
    """A page that cannot be read after its head was sent says so in its place, and is complete."""
    shutil.rmtree(world.root / ".git" / "worker-state")
    status, first, rest = read_parts(page, "/workers/auth")
    assert (status, "<h1>auth</h1>" in first) == (200, True)
    assert "This page cannot be shown" in rest
    assert rest.count("</html>") == 1
    assert page.send("GET", "/workers/auth", hx_request="true").status >= 400


def test_a_page_asks_for_the_items_that_it_does_not_know(world: World, page: Page) -> None:
    """The head of a worker's page has the known items of the inbox, else it loads their number."""
    asks = 'hx-get="/needs" hx-trigger="load"'
    page.see("/")
    assert asks not in page.see("/workers/auth")
    world.spawn("css", "theme")
    wait_until(lambda: asks in read_parts(page, "/workers/auth")[1])
    wait_until(
        lambda: "1<span" in page.see("/needs") and asks not in page.see("/workers/auth")
    )  # a status that comes between the two asks again
