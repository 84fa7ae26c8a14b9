"""A real browser with a session of the page; skipped without chromium or `make browser-env`."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.kit import Page

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / ".browser/site"
AXE = ROOT / ".browser/node_modules/axe-core/axe.min.js"
CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
TIMEOUT_MS = 30_000
BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(not SITE.is_dir() or not AXE.is_file(), reason="run `make browser-env`"),
]


@pytest.fixture
def tab(page: Page, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A tab of a new browser with a session of its own, at the board."""
    monkeypatch.syspath_prepend(str(SITE))
    from playwright.sync_api import sync_playwright

    made = page.press("/settings/another/address")
    (address,) = [word for word in made.text.replace("<", " ").split() if "/open?" in word]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        found = browser.new_page()
        found.set_default_timeout(TIMEOUT_MS)
        found.goto(address)
        found.wait_for_url(f"{page.origin}/")
        yield found
        browser.close()


def violations(tab: Any) -> list[tuple[str, str]]:
    """Return the serious findings of axe on the open page, and whether it is too wide."""
    found = []
    if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append(("too wide", ""))
    session = tab.context.new_cdp_session(tab)  # the policy forbids scripts of the page
    session.send("Page.setBypassCSP", {"enabled": True})
    tab.evaluate(AXE.read_text("utf-8"))
    return found + [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in tab.evaluate("axe.run()")["violations"]
        if one["impact"] in ("serious", "critical")
    ]
