"""Buttons: each change is the command's, with its refusals, recorded as the person."""

import contextlib
import os
import re

from gitworker.errors import Conflict
from gitworker.model.worker import WorkerState
from gitworker.questions.ask import ask
from gitworker.service import open_repository
from gitworker.states.comment_machine import CommentState
from tests.web.kit import Events, Page, serving
from tests.workers.world import World


def test_approve_land_undo(world: World, page: Page) -> None:
    """A reviewer approves, lands and undoes; the review is recorded with git's user.name."""
    tip = world.tip("auth/login")
    done = page.press("/workers/auth/approve", at=tip, note="well done")
    assert (done.status, "auth is approved" in done.text) == (200, True)
    view = open_repository(str(world.root)).show("auth")
    assert view.review is not None
    assert "Ada Tester" in view.review.reviewer
    landed = page.press("/queue/land")
    assert landed.status in (200, 202), landed
    world_is_landed(world, page)
    number = open_repository(str(world.root)).undo_records()[0].record.number
    page.press(f"/undo/{number}/undo")
    records = open_repository(str(world.root)).undo_records()
    assert number not in [one.record.number for one in records if one.refusal is None]


def world_is_landed(world: World, page: Page) -> None:
    """Wait until a landing has ended."""
    service = open_repository(str(world.root))
    service.wait("auth", "landed", timeout_s=30)
    assert world.show("src/login.py").startswith("def login")


def test_a_commit_that_was_not_seen_is_not_approved(world: World, page: Page) -> None:
    """Approve names the commit that the page has shown; a later one is refused."""
    seen = world.tip("auth/login")
    world.commit("auth", {"later.txt": "x\n"})
    world.submit("auth")
    refused = page.press("/workers/auth/approve", at=seen)
    assert refused.status == 409, refused
    assert "hint" in refused.text
    assert world.worker("auth").state is WorkerState.IN_REVIEW


def test_land_without_a_commit_lands_only_approved_work(world: World, page: Page) -> None:
    """A button for approved work is refused if the work is in review again; nothing lands."""
    refs = world.refs()
    refused = page.press("/workers/auth/land")
    assert refused.status == 409, refused
    assert world.worker("auth").state is WorkerState.IN_REVIEW
    assert world.refs() == refs
    world.approve("auth")
    assert page.press("/workers/auth/land").status in (200, 202)
    world_is_landed(world, page)


def test_approve_needs_the_commit(world: World, page: Page) -> None:
    """An approval that names no commit is refused."""
    refused = page.press("/workers/auth/approve")
    assert (refused.status, "commit" in refused.text) == (400, True)
    assert world.worker("auth").state is WorkerState.IN_REVIEW


def test_the_buttons_name_the_commit_of_the_diff(world: World, page: Page) -> None:
    """The part that is loaded again keeps the diff's commit and reports newer ones."""
    seen = world.tip("auth/login")
    whole = page.see("/workers/auth")
    assert f'data-tip="{seen}"' in whole
    assert "newer commits" not in whole
    (again,) = re.findall(r'id="live" hx-get="([^"]+)"', whole)
    world.commit("auth", {"later.txt": "x\n"})
    live = page.see(again.replace("&amp;", "&"))
    assert set(re.findall(r'name="at" value="([^"]+)"', live)) == {seen}
    assert "newer commits" in live
    assert 'data-key="a"' not in page.see("/workers/auth?part=live")  # no diff was seen


def test_refusals_are_those_of_the_command(page: Page) -> None:
    """An unknown worker, and a worker in the wrong state, have the command's words and hint."""
    unknown = page.press("/workers/nobody/approve", at="0" * 40)
    assert unknown.status == 404
    assert "nobody" in unknown.text
    paused = page.press("/workers/auth/pause")
    assert "auth" in paused.text
    assert page.press("/agents/nobody/pause").status == 404


def test_without_scripts(page: Page) -> None:
    """A browser without scripts is led back to the page of the worker."""
    body = f"csrf={page.csrf}&text=hello".encode()
    answer = page.send("POST", "/workers/auth/send", body=body)
    assert (answer.status, answer.headers["location"]) == (303, "/workers/auth")


def test_questions_messages_and_tasks(world: World) -> None:
    """The inbox answers a message and marks it as read; a task is held and released."""
    service = open_repository(str(world.root))
    service.add_task("later")
    world.working("auth", "login", {"a.txt": "a\n"})
    os.environ.pop("GITWORKER_ID", None)
    mine = open_repository(str(world.root), identity="auth")
    mine.send_note("hq", "Which colour?")
    with serving(world) as page:
        (item,) = [one for one in service.inbox().items if one.kind == "message"]
        assert "Which colour?" in page.see("/inbox")
        assert page.press("/workers/auth/send", text="Blue", reply_to=item.id or "").status == 200
        assert page.press(f"/messages/{item.seq}/ack").status == 200
        assert "Which colour?" not in page.see("/inbox")
        assert page.press("/tasks/later/hold").status == 200
        assert "(held)" in page.see("/tasks/later") or "Release" in page.see("/tasks/later")
        assert page.press("/tasks/later/release").status == 200
        assert page.press("/tasks/later/cancel").status == 200
        assert "cancelled" in page.see("/tasks/later")
    assert "Blue" in [one.text for one in mine.inbox().items]


def asks(world: World, text: str) -> None:
    """Let the worker ask a question and wait no time."""
    with contextlib.suppress(Conflict):
        ask(world.session(identity="auth"), text, wait_s=0)


def test_an_answer_is_for_the_question_that_was_shown(world: World) -> None:
    """Of two questions each is answered by its own form, and a form that came too late by none."""
    world.working("auth", "login", {"a.txt": "a\n"})
    asks(world, "Drop table A?")
    asks(world, "Which colour?")
    service = open_repository(str(world.root))
    with serving(world) as page:
        shown = page.see("/inbox")
        numbers = re.findall(r'name="number" value="(\d+)"', shown)
        assert numbers == [str(one.question.id) for one in service.questions().questions]
        assert page.press("/workers/auth/reply", number=numbers[0], text="No").status == 200
        late = page.press("/workers/auth/reply", number=numbers[0], text="Yes, drop it")
        assert late.status == 409, late
        assert [one.question.text for one in service.questions().questions] == ["Which colour?"]
        assert page.press("/workers/auth/reply", text="Blue").status == 400


def test_a_read_message_leaves_the_count(world: World, page: Page) -> None:
    """A message that is acknowledged is no longer counted, and open pages hear of it."""
    open_repository(str(world.root), identity="auth").send_note("hq", "For your information")
    (item,) = [one for one in open_repository(str(world.root)).inbox().items if one.seq]
    events = Events(page, "/events")
    while "2<span" not in page.see("/needs"):
        events.next("changed")
    assert page.press(f"/messages/{item.seq}/ack").status == 200
    events.next("changed")
    events.close()
    assert "1<span" in page.see("/needs")


def test_an_agent_without_a_command_is_not_started(world: World, page: Page) -> None:
    """The refusal names the next command of the worker."""
    world.working("css", "theme", {"a.css": "a\n"})
    open_repository(str(world.root), identity="css").fail("css", reason="stuck")
    refused = page.press("/workers/css/restart")
    assert refused.status == 409
    assert "git worker resume css" in refused.text


def test_land_is_for_the_round_on_the_page(world: World, page: Page) -> None:
    """Work that another person approved in a later round does not land from an older page."""
    seen = world.tip("auth/login")
    world.commit("auth", {"later.txt": "x\n"})
    world.submit("auth")
    world.approve("auth")
    live = page.see(f"/workers/auth?part=live&seen={seen}")
    assert f'name="seen" value="{seen}"' in live
    refused = page.press("/workers/auth/land", seen=seen)
    assert (refused.status, "round 2 of auth" in refused.text) == (409, True)
    (newest,) = re.findall(r'name="seen" value="(\w+)"', page.see("/workers/auth"))
    assert page.press("/workers/auth/land", seen=newest).status in (200, 202)
    world_is_landed(world, page)


def test_landing_approved_work_sends_the_drafts(world: World, page: Page) -> None:
    """A draft on work that another person has approved is sent before it lands."""
    seen = world.tip("auth/login")
    world.approve("auth")
    service = open_repository(str(world.root))
    service.comment("auth", "src/login.py:1", text="Name it sign_in next time")
    assert page.press("/workers/auth/land", seen=seen).status in (200, 202)
    world_is_landed(world, page)
    (comment,) = service.review_comments().comments
    assert comment.comment.state is CommentState.SENT
