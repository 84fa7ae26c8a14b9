"""The inbox of hq names the findings on work that waits for it."""

import contextlib
import os

from gitworker.bus.drain import drain
from gitworker.errors import Conflict
from gitworker.observe.inbox.inbox import render_inbox
from gitworker.observe.inbox.needs import read_needs
from gitworker.questions.ask import ask
from gitworker.radar.radar_watch import check_branches
from gitworker.service import open_repository
from gitworker.workers.start import start
from tests.workers.world import World


def test_conflicts_and_trouble_of_waiting_work(world: World) -> None:
    """A review names conflicts, later commits, and an unusual worktree with its command."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.in_review("docs", "guide", {"README": "yours\n"})
    session = world.session()
    check_branches(session)
    first, second = read_needs(session, limit=9).items
    assert (first.source, first.text) == ("auth", "login; conflicts with docs in README")
    assert second.text == "guide; conflicts with auth in README"
    assert first.command == "git worker approve auth"
    world.commit("auth", {"later": "1\n"})
    place = world.path("docs")
    world.git("switch", "--quiet", "-c", "aside", cwd=place)
    first, second = read_needs(world.session(), limit=9).items
    assert "1 commit of auth/login is not handed in" in first.text
    assert first.command == "git worker done auth"
    assert f"{place} is on aside, not on docs/guide" in second.text
    assert second.command == f"git -C {place} switch docs/guide"


def test_a_review_that_waits_for_its_parent(world: World) -> None:
    """A stacked review names its parent, and the command that is not refused."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("docs", "guide", start="auth")
    start(world.session(), "docs", pid=os.getpid())
    world.commit("docs", {"guide": "1\n"})
    world.submit("docs")
    (item,) = read_needs(world.session(), limit=9).items
    assert item.text == "guide; stacked on auth, and auth is at work"
    assert item.command == "git worker wait auth && git worker approve auth docs"
    world.submit("auth")
    world.approve("auth")
    (first, second) = read_needs(world.session(), limit=9).items
    commands = {one.source: one.command for one in (first, second)}
    assert commands["docs"] == "git worker approve docs"


def test_a_target_that_was_moved_to_unreviewed_work(world: World) -> None:
    """The inbox names the worker whose branch the target was moved to, until it is read."""
    world.working("auth", "login", {"a": "1\n"})
    drain(world.session())
    before, after = world.tip(), world.tip("auth/login")
    world.git("update-ref", "refs/heads/main", after, cwd=world.path("auth"))
    drain(world.session())
    (item,) = read_needs(world.session(), limit=9).items
    assert (item.kind, item.text) == ("message", "main was moved to auth/login without an approval")
    assert str(item.command).startswith(f"git log --stat {before}..{after}")
    world.git("update-ref", "refs/heads/main", before)
    world.spawn("docs", "guide")
    world.git("update-ref", "refs/heads/main", after)
    world.git("update-ref", "refs/heads/main", before)
    drain(world.session())
    assert len(read_needs(world.session(), limit=9).items) == 1, "docs has no commit of its own"


def test_many_messages_hide_no_question(world: World) -> None:
    """With more messages than are shown, the inbox says so, and still has each open question."""
    world.working("auth", "login", {"a": "1\n"})
    author = open_repository(str(world.root), identity="auth")
    for number in range(4):
        author.send_note("hq", f"note {number}")
    with contextlib.suppress(Conflict):
        ask(world.session(identity="auth"), "Which port?", wait_s=0)
    inbox = read_needs(world.session(), limit=3)
    assert inbox.has_more
    assert [one.kind for one in inbox.items] == ["question", "message", "message"]
    assert "more: git worker inbox -n 1000" in render_inbox(inbox, width=None, color=False)
    service = open_repository(str(world.root))
    assert len(service.inbox(limit=2).items) == 2
    assert service.count_inbox() == 5


def test_an_item_is_the_same_with_another_text(world: World) -> None:
    """An item keeps its identity while its text and its age change."""
    world.in_review("auth", "login", {"a": "1\n"})
    (before,) = read_needs(world.session(), limit=3).items
    world.in_review("css", "theme", {"a": "2\n"})
    check_branches(world.session())
    after = read_needs(world.session(), limit=3).items
    (same,) = [one for one in after if one.identity == before.identity]
    assert (same.source, same == before) == ("auth", False)
