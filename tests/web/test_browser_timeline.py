"""The timeline in a real browser: narrow, dark, by keys, and with every kind of bar and mark."""

from typing import Any

from tests.web.browser_kit import BROWSER, violations
from tests.web.kit import Page
from tests.web.test_timeline import record_run
from tests.workers.world import World

pytestmark = BROWSER
OUTCOMES = ("handed_in", "nothing_handed_in", "failed", "stopped")


def test_a_full_timeline(world: World, page: Page, tab: Any) -> None:
    """The picture is as wide as a narrow screen, axe finds nothing, and a name opens its worker."""
    for number, outcome in enumerate(OUTCOMES, 1):
        record_run(world, ago_ms=number * 3_000_000, outcome=outcome, tokens=50_000 * number)
    world.in_review("menu", "a-task-with-a-name", {"menu.txt": "x\n"})
    world.approve("auth")
    world.land("auth")
    found = []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for width in (360, 1200):
            tab.set_viewport_size({"width": width, "height": 800})
            tab.goto(f"{page.origin}/timeline?window=6h")
            found += [(scheme, width, *one) for one in violations(tab)]
    assert not found
    boxes = [one.bounding_box() for one in tab.query_selector_all(".gantt .bar")]
    assert len(boxes) > len(OUTCOMES)
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 1200 for box in boxes)
    tab.keyboard.press("j")
    assert tab.evaluate("document.activeElement.id") == "lane-auth"
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{page.origin}/workers/auth")
