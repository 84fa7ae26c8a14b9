"""A review in a real browser: two rounds by keys, half-written text, and accessibility."""

from typing import Any

from gitworker.model.worker import WorkerState
from gitworker.observe.inbox.inbox import render_inbox
from gitworker.service import open_repository
from gitworker.states.comment_machine import CommentState
from tests.web.browser_kit import BROWSER, violations
from tests.web.kit import Page
from tests.workers.world import World

pytestmark = BROWSER
FILE = "src/login.py"
OTHER = "src/util.py"


def focus(tab: Any) -> str:
    """Return the id of the element with the focus."""
    return str(tab.evaluate("document.activeElement.id"))


def comment_on(tab: Any, row: str, text: str, number: int) -> None:
    """Write a comment on a line by its number, and save it as a draft."""
    tab.click(row)
    tab.keyboard.type(text)
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector(f"#comment-{number}.draft")


def two_files(world: World) -> None:
    """Hand in one more file."""
    world.commit("auth", {OTHER: "".join(f"line {number}\n" for number in range(9))})
    world.submit("auth")


def test_a_cleared_mark_is_shown_before_its_answer(page: Page, tab: Any) -> None:
    """A mark is struck through while its end is on the way, and stays a mark if the way fails."""
    held: list[Any] = []
    tab.goto(f"{page.origin}/workers/auth")
    tab.focus("[data-file]")
    tab.keyboard.press("v")
    mark = ".file > .head > .mark"
    tab.wait_for_selector(f'{mark} [aria-pressed="true"]')
    tab.route("**/workers/auth/unviewed", lambda route: held.append(route))
    with tab.expect_request("**/workers/auth/unviewed"):
        tab.focus("[data-file]")
        tab.keyboard.press("v")
    tab.wait_for_selector(f"{mark}.htmx-request")
    line = "one => getComputedStyle(one).textDecorationLine"
    assert tab.locator(f"{mark} button").evaluate(line) == "line-through"
    held[0].abort()
    tab.wait_for_selector(f"{mark}:not(.htmx-request)")
    assert tab.locator(f"{mark} button").evaluate(line) == "none"
    assert tab.get_attribute(f"{mark} button", "aria-pressed") == "true"


def test_a_mark_is_shown_before_its_answer(page: Page, tab: Any) -> None:
    """A hunk folds while its mark is on the way to the server, and opens if the way fails."""
    held: list[Any] = []
    tab.goto(f"{page.origin}/workers/auth")
    hunk, rows = tab.locator(".hunk > details").first, tab.locator(".hunk .diff").first
    whole = rows.bounding_box()["height"]
    assert hunk.bounding_box()["height"] > whole
    tab.route("**/workers/auth/viewed", lambda route: held.append(route))
    with tab.expect_request("**/workers/auth/viewed"):
        tab.focus("[id^=hunk-]")
        tab.keyboard.press("v")
    tab.wait_for_selector(".hunk > .mark.htmx-request")
    assert hunk.bounding_box()["height"] < whole
    held[0].abort()
    tab.wait_for_selector(".hunk > .mark:not(.htmx-request)")
    assert hunk.bounding_box()["height"] > whole
    assert tab.get_attribute("[data-viewed]", "aria-pressed") == "false"


def test_a_review_in_two_rounds(world: World, page: Page, tab: Any) -> None:
    """Comments on two lines reach the agent; the second round shows only its changes, and lands."""
    two_files(world)
    tab.goto(f"{page.origin}/workers/auth")
    comment_on(tab, f"article:has(h3:text-is('{FILE}')) tr.add:nth-child(1) .no.new", "Name it", 1)
    assert focus(tab) == "comment-1"
    comment_on(tab, f"article:has(h3:text-is('{FILE}')) tr.add >> nth=1 >> .no.new", "Why true?", 2)
    tab.focus(f"h3:text-is('{OTHER}')")
    tab.keyboard.press("v")
    tab.wait_for_selector("#review-counts:has-text('1 of 2 parts viewed')")
    tab.keyboard.press("r")
    tab.keyboard.type("Two remarks")
    tab.click("text=Request changes")
    tab.wait_for_selector("#live .state.working")
    tab.wait_for_selector("#comment-2.sent")

    agent = open_repository(str(world.root), identity="auth")
    assert "Why true?" in render_inbox(agent.inbox(), width=None, color=False)
    world.commit("auth", {FILE: "def sign_in():\n    return True\n"}, "Rename it")
    agent.handle_comment(1)
    agent.handle_comment(2, answer="It is a stub")
    world.submit("auth")

    tab.click("#again")
    tab.wait_for_selector("#comment-1.handled")
    assert tab.is_visible("#comment-1 .outdated")
    assert tab.is_hidden("text=line 7")  # viewed, and not changed since
    assert tab.is_visible(".diff >> text=sign_in")
    tab.click("#since-look")
    tab.wait_for_selector(".compared")
    assert "sign_in" in tab.inner_text(".compared")
    assert "line 7" not in tab.inner_text(".compared")
    tab.go_back()
    tab.click("#comment-1-resolve")
    tab.wait_for_selector("#comment-1.resolved")
    tab.click("#comment-2-resolve")
    tab.wait_for_selector("#comment-2.resolved")
    tab.keyboard.press("a")
    tab.wait_for_selector("#live .state.approved")
    tab.keyboard.press("m")
    tab.wait_for_selector("#live .state.completed")
    assert world.show(FILE).startswith("def sign_in")
    tab.wait_for_selector("#live >> text=Undo merge")  # with the removal of its worktree
    tab.keyboard.press("u")
    tab.wait_for_selector("#live .state.approved")
    assert FILE not in world.git("ls-tree", "-r", "--name-only", "main")
    states = open_repository(str(world.root)).review_comments("auth").comments
    assert {one.comment.state for one in states if one.comment.place} == {CommentState.RESOLVED}


def test_a_review_by_keys_only(world: World, page: Page, tab: Any) -> None:
    """Keys choose files, hunks, lines and ranges; a comment is written, changed, and kept."""
    two_files(world)
    tab.goto(f"{page.origin}/workers/auth")
    tab.keyboard.press("n")
    first = tab.evaluate("document.activeElement.textContent")
    tab.keyboard.press("n")
    assert {first, tab.evaluate("document.activeElement.textContent")} == {FILE, OTHER}
    tab.keyboard.press("p")
    assert tab.evaluate("document.activeElement.textContent") == first
    if first == FILE:
        tab.keyboard.press("n")
    tab.keyboard.press("j")
    assert focus(tab).startswith("hunk-")
    for key in ("ArrowDown", "ArrowDown", "Shift+ArrowDown", "c"):
        tab.keyboard.press(key)
    assert tab.evaluate("document.activeElement.name") == "text"
    tab.keyboard.type("Which lines?")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("#comment-1.draft")
    (one,) = open_repository(str(world.root)).review_comments("auth").comments
    assert one.comment.place is not None
    assert one.comment.place[:4] == (OTHER, "new", 2, 3)
    assert focus(tab) == "comment-1"
    tab.keyboard.press("c")
    tab.keyboard.type(" These?")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("#comment-1 >> text=Which lines? These?")
    tab.keyboard.press("k")
    assert focus(tab).startswith("hunk-")
    tab.keyboard.press("c")
    tab.keyboard.type("half")
    tab.keyboard.press("Escape")
    tab.keyboard.press("v")
    tab.wait_for_selector("#review-counts:has-text('1 of 2 parts viewed')")
    assert focus(tab).startswith("hunk-")  # the draft on its lines keeps them open
    assert tab.input_value(f"article:has(h3:text-is('{OTHER}')) form.on textarea") == "half"
    assert world.worker("auth").state is WorkerState.IN_REVIEW


def test_a_review_side_by_side(world: World, page: Page, tab: Any) -> None:
    """A click on a number comments on that side; the view stays when a part is loaded again."""
    world.advance({OTHER: "".join(f"line {number}\n" for number in range(9))})
    world.in_review("docs", "guide", {OTHER: "line 0\nfirst\nline 2\nline 3\nlast\n"})
    tab.goto(f"{page.origin}/workers/docs")
    tab.click("#columns")
    tab.wait_for_selector(".diff.sides")
    comment_on(tab, "tr.pair .no.old", "Keep it", 1)
    comment_on(tab, "tr.pair .no.new", "Name it", 2)
    comment_on(tab, "tr.del .no.old", "And this", 3)
    assert tab.locator(".diff.sides").count() == 1
    found = open_repository(str(world.root)).review_comments("docs").comments
    places = [one.comment.place[1:4] for one in found if one.comment.place]
    assert places == [("old", 2, 2), ("new", 2, 2), ("old", 6, 6)]
    for width in (360, 1200):
        for scheme in ("light", "dark"):
            tab.set_viewport_size({"width": width, "height": 800})
            tab.emulate_media(color_scheme=scheme)
            assert not violations(tab)
    tab.click("#columns")
    tab.wait_for_selector(".diff:not(.sides)")


def test_a_comment_on_a_file_without_lines(world: World, page: Page, tab: Any) -> None:
    """c on a binary file, or on no file, writes on the change as a whole."""
    world.commit("auth", {"logo": b"\0\1"})
    world.submit("auth")
    tab.goto(f"{page.origin}/workers/auth")
    for place in ("h3:text-is('logo')", "main"):
        tab.focus(place)
        tab.keyboard.press("c")
        assert focus(tab) == "review-auth-text"
        assert tab.input_value("#review-auth-text") == ""
        tab.keyboard.press("Escape")


def test_a_decision_far_below(world: World, page: Page, tab: Any) -> None:
    """An approval below the first screen shows its result, sends the drafts, and N leads on."""
    world.commit("auth", {OTHER: "".join(f"line {number}\n" for number in range(200))})
    world.submit("auth")
    world.in_review("docs", "manual", {"manual.txt": "1\n"})
    tab.goto(f"{page.origin}/workers/auth")
    comment_on(tab, "tr.add:has-text('line 190') .no.new", "Why 190?", 1)
    tab.keyboard.press("a")
    result = tab.wait_for_selector("#notice dialog:has-text('auth is approved, with 1 comment')")
    place = result.bounding_box()
    assert 0 <= place["y"] <= tab.viewport_size["height"] - place["height"]
    tab.wait_for_selector("#comment-1.sent")
    assert tab.is_visible("#notice >> text=Next review: docs")
    assert not violations(tab)
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#notice dialog", state="hidden")
    tab.keyboard.press("N")
    tab.wait_for_url(f"{page.origin}/workers/docs")
    assert tab.is_hidden("#next-review")


def test_a_review_is_accessible_and_fits(world: World, page: Page, tab: Any) -> None:
    """axe finds nothing serious on a review with comments and marks, nor on compared rounds."""
    two_files(world)
    service = open_repository(str(world.root))
    service.comment("auth", f"{FILE}:1", text="Name it " + "long " * 99)
    service.mark_viewed("auth", OTHER)
    service.send_review("auth", verdict="changes_requested", note="Please")
    world.commit("auth", {FILE: "def sign_in():\n    return True\n"})
    open_repository(str(world.root), identity="auth").handle_comment(1)
    world.submit("auth")
    service.comment("auth", f"{FILE}:2", text="Why?")
    found = []
    tab.set_viewport_size({"width": 360, "height": 800})
    for path in ("/workers/auth", "/workers/auth/rounds/2..3"):
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            tab.goto(page.origin + path)
            found += [(path, scheme, *one) for one in violations(tab)]
    assert not found


def test_a_refused_request_deletes_no_text(page: Page, tab: Any) -> None:
    """A body that is too long, and a session that has ended, leave the page and its text."""
    tab.goto(f"{page.origin}/workers/auth")
    tab.click("tr.add .no.new")
    tab.evaluate("document.activeElement.value = 'x'.repeat(270000)")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("#notice >> text=a body has at most")
    assert len(tab.input_value("form.on textarea")) == 270_000
    tab.fill("form.on textarea", "Name it sign-in")
    tab.context.clear_cookies()
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("#notice >> text=open the address")
    assert tab.is_visible("#offline")
    assert tab.input_value("form.on textarea") == "Name it sign-in"


def test_other_changes_of_a_file_hide_no_text(page: Page, tab: Any) -> None:
    """A half-written comment and a half-changed draft stay visible after a mark and a comment."""
    tab.goto(f"{page.origin}/workers/auth")
    comment_on(tab, "tr.add:nth-child(1) .no.new", "Why?", 1)
    tab.click("#comment-1-edit")
    tab.fill("#comment-1-text", "Why not")
    comment_on(tab, "tr.add:has-text('return') .no.new", "True?", 2)
    assert tab.input_value("#comment-1-text") == "Why not"
    assert tab.is_visible("#comment-1-text")
    tab.click("tr.add:has-text('return') .no.new")
    tab.keyboard.type("half a comment")
    tab.click(".hunk [data-viewed]")
    tab.wait_for_selector('.hunk [aria-pressed="true"]', state="attached")
    assert tab.input_value("form.on textarea") == "half a comment"
    assert tab.is_visible("form.on textarea")


def test_a_review_waits_for_an_open_comment(world: World, page: Page, tab: Any) -> None:
    """A review is not sent while a comment is written that is no draft yet."""
    tab.goto(f"{page.origin}/workers/auth")
    tab.click("tr.add:has-text('return') .no.new")
    tab.keyboard.type("half a comment")
    tab.fill("#review-auth-text", "Two remarks")
    tab.click("#review-auth-changes")
    tab.wait_for_selector("#notice >> text=First add this comment")
    assert world.worker("auth").state is WorkerState.IN_REVIEW
    tab.focus("form.on textarea")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("#comment-1.draft")
    tab.click("#review-auth-changes")
    tab.wait_for_selector("#comment-1.sent")
    assert world.worker("auth").state is WorkerState.WORKING


def test_an_answer_outlives_its_item(world: World, page: Page, tab: Any) -> None:
    """An item of the inbox that ends while its answer is written stays on the page."""
    open_repository(str(world.root), identity="auth").send_note("hq", "Which colour?")
    tab.goto(f"{page.origin}/inbox")
    tab.fill("form.write textarea", "Blue")
    service = open_repository(str(world.root))
    (item,) = [one for one in service.inbox().items if one.seq]
    page.press(f"/messages/{item.seq}/ack")
    tab.wait_for_selector("#notice >> text=This item has changed")
    assert tab.input_value("form.write textarea") == "Blue"


def test_a_text_outlives_the_next_round(world: World, page: Page, tab: Any) -> None:
    """The text of a review and a half-written comment are there again in the next round."""
    tab.goto(f"{page.origin}/workers/auth")
    tab.click("tr.add:has-text('return') .no.new")
    tab.keyboard.type("half a comment")
    tab.fill("#review-auth-text", "Two remarks")
    world.commit("auth", {OTHER: "line\n"})
    world.submit("auth")
    tab.click("#again")
    tab.wait_for_selector("#changes ~ .facts >> text=round 2")
    assert tab.input_value("#review-auth-text") == "Two remarks"
    assert tab.locator("form.on textarea").first.input_value() == "half a comment"
    assert tab.locator("form.on textarea").first.is_visible()
