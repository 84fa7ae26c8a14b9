"""Every page of a real server shows the repository."""

import pytest

from gitworker.web.render import read_static
from tests.web.kit import Page

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
