"""The page of a conflict in a real browser: narrow, wide, light and dark."""

from typing import Any

from tests.web.browser_kit import BROWSER, violations
from tests.web.kit import Page
from tests.web.test_conflict import make_conflict
from tests.workers.world import World

pytestmark = BROWSER


def test_three_columns(world: World, page: Page, tab: Any) -> None:
    """A wide page has three columns, a narrow one puts them below each other; axe finds nothing."""
    make_conflict(world)
    tab.goto(f"{page.origin}/workers/list")
    tab.click("#conflict-menu")
    tab.wait_for_url("**/conflict?with=menu")
    found = []
    places = {}
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for width in (360, 1200):
            tab.set_viewport_size({"width": width, "height": 800})
            found += [(scheme, width, *one) for one in violations(tab)]
            boxes = [one.bounding_box() for one in tab.query_selector_all(".side")]
            places[width] = len({box["x"] for box in boxes}), len({box["y"] for box in boxes})
    assert not found
    assert places == {360: (1, 3), 1200: (3, 1)}
    assert tab.title() != "run"
