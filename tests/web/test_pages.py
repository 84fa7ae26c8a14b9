"""Every page of a real server shows the repository."""

import re

import pytest

from gitworker import clock
from gitworker.web.render import read_static
from tests.web.kit import Page
from tests.workers.world import World

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
