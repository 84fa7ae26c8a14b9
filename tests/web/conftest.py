"""The repository that each of these tests works in, and a page of it in a process of its own."""

from collections.abc import Iterator

import pytest

from tests.web.browser_kit import tab
from tests.web.kit import Page, serving
from tests.workers.conftest import world
from tests.workers.world import World

__all__ = ["page", "tab", "world"]


@pytest.fixture
def page(world: World) -> Iterator[Page]:
    """A browser's session with the page of a repository that has one worker in review."""
    world.in_review("auth", "login", {"src/login.py": "def login():\n    return True\n"})
    with serving(world) as found:
        yield found
