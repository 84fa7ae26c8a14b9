"""Comments from the draft to the end of their discussion."""

import pytest

from gitworker.agents.rounds.return_prompt import find_return_prompt
from gitworker.errors import Invalid, NotFound, Refused
from gitworker.observe.inbox.inbox import render_inbox
from gitworker.observe.inbox.mail import read_mail
from gitworker.progress import Event, Notice
from gitworker.review.comments.draft import comment, drop, edit
from gitworker.review.comments.list_comments import list_comments
from gitworker.review.comments.open_comments import open_comment_lines
from gitworker.review.comments.send import CHANGES_REQUESTED, reject, send
from gitworker.review.comments.settle import handle, reopen, resolve
from gitworker.review.compare import compare
from gitworker.review.page.page import read_page
from gitworker.review.viewed_marks import view
from gitworker.states.engine import InvalidTransition
from gitworker.store.messages.mailbox import acknowledge_message, newest_seq
from gitworker.store.reviewing.comments import OLD, is_read
from gitworker.store.workers import load_worker
from gitworker.workers.approve import approve
from tests.review.kit import begin, comments, page
from tests.workers.world import World, unchanged


def test_a_review_is_one_message(world: World) -> None:
    """All drafts are sent as one message with numbers, places, quoted lines and words."""
    begin(world)
    first = comment(world.session(), "auth", "code.py:5-6", text="why five?")
    old = comment(world.session(), "auth", "code.py:5", text="it was right", is_old=True)
    whole = comment(world.session(), "auth", None, text="two commits, please")
    dropped = comment(world.session(), "auth", None, text="no")
    edit(world.session(), first.id, text="why five?\nand not six?")
    drop(world.session(), dropped.id)
    assert world.messages("review_result") == []
    sent = send(world.session(), "auth")
    (result,) = world.messages("review_result")
    assert [one.id for one in sent.comments] == [first.id, old.id, whole.id]
    assert (result["verdict"], result["note"]) == ("commented", "two commits, please")
    assert result["comments"] == [
        {
            "number": first.id, "round": 1, "state": "sent", "path": "code.py", "side": "new",
            "lines": [5, 6], "quoted": ["five", "line 6"], "text": "why five?\nand not six?",
            "reply": "",
        },
        {
            "number": old.id, "round": 1, "state": "sent", "path": "code.py", "side": OLD,
            "lines": [5, 5], "quoted": ["line 5"], "text": "it was right", "reply": "",
        },
        {
            "number": whole.id, "round": 1, "state": "sent", "path": None, "side": None,
            "lines": None, "quoted": [], "text": "two commits, please", "reply": "",
        },
    ]  # fmt: skip
    assert world.states("auth", "login") == ("IN_REVIEW", "AWAITING_APPROVAL")
    with unchanged(world, "nothing_to_send"):
        send(world.session(), "auth")
    with unchanged(world, "refused"):
        edit(world.session(), first.id, text="later")
    with unchanged(world, "refused"):
        drop(world.session(), first.id)


def test_the_author_reads_and_handles_comments(world: World) -> None:
    """The inbox shows comments in words; once read and committed they are handled by number."""
    begin(world)
    place = world.path("auth")
    first = comment(world.session(), "auth", "code.py:5", text="why?")
    send(world.session(), "auth", verdict=CHANGES_REQUESTED, note="see below")
    mine = world.session(place)
    shown = render_inbox(read_mail(mine, limit=20), width=None, color=False)
    assert "changes requested: see below" in shown
    assert f"    comment {first.id} on code.py:5\n        > five\n        why?" in shown
    assert f"    comment {first.id + 1} on the change as a whole" in shown
    with mine.store.read() as reader:
        assert [is_read(reader, one) for one in comments(world)] == [False, False]
        upto = newest_seq(reader)
    acknowledge_message(mine.store, "auth", upto, now=1)
    with mine.store.read() as reader:
        assert [is_read(reader, one) for one in comments(world)] == [True, True]
    with unchanged(world, "refused"):
        handle(mine, first.id)
    tip = world.commit("auth", {"code.py": "x\n"})
    handled = handle(world.session(place), first.id)
    assert (handled.state, handled.handled_commit) == ("handled", tip)
    answered = handle(world.session(place), first.id + 1, answer="it is one change")
    assert (answered.state, answered.answer) == ("handled", "it is one change")
    with unchanged(world, "not_allowed"):
        resolve(world.session(place), first.id)


def test_a_comment_is_reopened_and_resolved(world: World) -> None:
    """A reopened comment is delivered again with the reply; a resolved one is closed."""
    begin(world)
    first = comment(world.session(), "auth", "code.py:5", text="why?")
    with unchanged(world, "invalid_transition", InvalidTransition):
        resolve(world.session(), first.id)
    send(world.session(), "auth")
    handle(world.session(world.path("auth")), first.id, answer="so")
    reopen(world.session(), first.id, reply="that is no reason")
    send(world.session(), "auth")
    (again,) = world.messages("review_result")[-1]["comments"]
    assert (again["number"], again["state"], again["reply"]) == (
        first.id, "reopened", "that is no reason",
    )  # fmt: skip
    assert resolve(world.session(), first.id).state == "resolved"
    events: list[Event] = []
    assert resolve(world.session(report=events.append), first.id).state == "resolved"
    assert events == [Notice(f"comment {first.id} is resolved already: nothing changed")]


def test_the_words_of_a_reopening_arrive(world: World) -> None:
    """A reopened comment is not handled before it is sent, and later words replace the first."""
    begin(world)
    first = comment(world.session(), "auth", "code.py:5", text="why?")
    send(world.session(), "auth")
    mine = world.path("auth")
    handle(world.session(mine), first.id, answer="so")
    reopen(world.session(), first.id, reply="no")
    assert open_comment_lines_of(world) == []
    with unchanged(world, "refused"):
        handle(world.session(mine), first.id, answer="so")
    assert reopen(world.session(), first.id, reply="not yet").reply == "not yet"
    send(world.session(), "auth")
    assert world.messages("review_result")[-1]["comments"][0]["reply"] == "not yet"
    assert open_comment_lines_of(world)[-1] == "    not yet"
    assert handle(world.session(mine), first.id, answer="so").state == "handled"


def test_a_reopening_is_sent_by_its_reviewer(world: World) -> None:
    """Another reviewer does not send a comment that was reopened."""
    begin(world)
    place = world.working("qa", "check", {"b": "1\n"})
    first = comment(world.session(), "auth", None, text="why?")
    send(world.session(), "auth")
    resolve(world.session(), first.id)
    reopen(world.session(), first.id, reply="no")
    with unchanged(world, "nothing_to_send", Refused):
        send(world.session(place), "auth")
    assert [one.id for one in send(world.session(), "auth").comments] == [first.id]


def open_comment_lines_of(world: World) -> list[str]:
    """Return the open comments of auth as its prompt has them."""
    with world.session().store.read() as reader:
        return open_comment_lines(reader, load_worker(reader, "auth"))


def test_old_work_handles_nothing(world: World) -> None:
    """An earlier commit, a rebase or the commit before a reopening needs an answer."""
    begin(world)
    old = world.tip("auth/login")
    place = world.path("auth")
    first = comment(world.session(), "auth", "code.py:5", text="why?")
    send(world.session(), "auth")
    world.advance({"other": "x\n"})
    base = world.tip()
    world.git("rebase", "-q", "main", cwd=place)
    for named in (None, old, base, world.tip("auth/login")):
        with unchanged(world, "refused"):
            handle(world.session(place), first.id, commit=named)
    work = world.commit("auth", {"code.py": "x\n"})
    with unchanged(world, "refused"):
        handle(world.session(place), first.id, commit=old)
    assert handle(world.session(place), first.id).handled_commit == work
    world.submit("auth")
    reopen(world.session(), first.id, reply="no")
    send(world.session(), "auth")
    for named in (None, work):
        with unchanged(world, "refused"):
            handle(world.session(place), first.id, commit=named)
    assert handle(world.session(place), first.id, answer="so").handled_commit == ""
    changed = handle(world.session(place), first.id, answer="so it is")
    assert (changed.state, changed.answer) == ("handled", "so it is")


def test_requested_changes_reach_the_agent_without_open_comments(world: World) -> None:
    """The prompt of the next run has the request also if every comment is resolved."""
    begin(world)
    first = comment(world.session(), "auth", "code.py:5", text="why?")
    second = comment(world.session(), "auth", "code.py:30", text="and here?")
    send(world.session(), "auth", verdict=CHANGES_REQUESTED, note="not yet")
    session = world.session()
    prompt = find_return_prompt(session, world.worker("auth"))
    assert prompt is not None
    assert f"comment {first.id} on code.py:5\n      > five\n      why?" in prompt
    assert f"comment {second.id} on code.py:30" in prompt
    for number in (first.id, second.id, second.id + 1):
        resolve(world.session(), number)
    prompt = find_return_prompt(world.session(), world.worker("auth"))
    assert prompt is not None
    assert "changes were requested.\n\nnot yet" in prompt
    assert "comment" not in prompt.partition("The task was")[0]


def test_changes_are_requested_without_a_comment(world: World) -> None:
    """A request for changes needs no comment, and more comments can follow it."""
    begin(world)
    sent = send(world.session(), "auth", verdict=CHANGES_REQUESTED)
    assert (sent.worker.state, sent.comments) == ("WORKING", ())
    assert find_return_prompt(world.session(), world.worker("auth")) is not None
    comment(world.session(), "auth", None, text="one more thing")
    send(world.session(), "auth", verdict=CHANGES_REQUESTED)
    assert [one.state for one in comments(world)] == ["sent"]
    assert len(world.messages("review_result")) == 2


def test_drafts_belong_to_their_reviewer(world: World) -> None:
    """Another reviewer neither sees, changes nor sends a draft."""
    begin(world)
    place = world.working("qa", "check", {"b": "1\n"})
    draft = comment(world.session(), "auth", None, text="mine")
    theirs = world.session(place)
    for attempt in (drop, resolve):
        with unchanged(world, "not_found", NotFound):
            attempt(theirs, draft.id)
    with unchanged(world, "nothing_to_send", Refused):
        send(theirs, "auth")
    comment(world.session(place), "auth", None, text="of qa")
    assert [one.text for one in send(world.session(place), "auth").comments] == ["of qa"]
    with unchanged(world, "not_allowed"):
        handle(world.session(place), draft.id + 1, answer="no")


def test_drafts_on_an_earlier_task_are_listed(world: World) -> None:
    """A draft whose task has landed is listed for its reviewer alone, who can drop it."""
    begin(world)
    draft = comment(world.session(), "auth", None, text="too late")
    world.approve("auth")
    world.land("auth")
    world.working("auth", "next", {"n": "1\n"})
    found = list_comments(world.session()).comments
    assert [(one.comment.id, one.is_outdated) for one in found] == [(draft.id, True)]
    place = world.working("qa", "check", {"b": "1\n"})
    assert list_comments(world.session(place)).comments == ()
    drop(world.session(), draft.id)
    assert list_comments(world.session()).comments == ()


def test_drafts_and_marks_survive_another_name(world: World) -> None:
    """Drafts, marks and the last look belong to the identity, also if git's user changes."""
    begin(world)
    draft = comment(world.session(), "auth", None, text="mine")
    view(world.session(), "auth")
    with world.session().store.read() as reader:
        worker = load_worker(reader, "auth")
    read_page(world.session(), worker, records_look=True)
    world.git("config", "--global", "user.email", "ada@new.example")
    shown = page(world)
    assert [one.comment.id for one in shown.comments] == [draft.id]
    assert len(shown.viewed) == 2
    assert compare(world.session(), "auth").text == ""
    (sent,) = send(world.session(), "auth").comments
    assert (sent.identity, sent.reviewer) == ("hq", "Ada Tester <ada@example.org>")
    assert world.messages("review_result")[0]["reviewer"] == "Ada Tester <ada@new.example>"


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("code.py", Invalid), ("code.py:", Invalid), ("code.py:0", Invalid),
        ("code.py:6-5", Invalid), ("code.py:5-", Invalid), (":5", Invalid), ("code.py:x", Invalid),
        ("code.py:41", Invalid), ("code.py:40-99", Invalid), ("other.py:1", NotFound),
        ("data:1", Invalid), ("code.py:1²", Invalid),
    ],
)  # fmt: skip
def test_unknown_places_are_refused(world: World, place: str, kind: type[Exception]) -> None:
    """A comment needs existing lines of a text file."""
    world.advance({"data": b"\0\n"})
    begin(world)
    with pytest.raises(kind):
        comment(world.session(), "auth", place, text="why?")
    assert comments(world) == []


def test_no_comment_before_a_hand_in(world: World) -> None:
    """Work that was not handed in has no round, and an empty comment is refused."""
    world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "not_found", NotFound):
        comment(world.session(), "auth", None, text="early")
    world.submit("auth")
    with unchanged(world, "usage", Invalid):
        comment(world.session(), "auth", None, text=" \n")


def test_hostile_names_and_text(world: World) -> None:
    """A path with a newline, a colon and other bytes keeps its comment; text is safe."""
    name = "a:1\n\udcffb\x1b[2J"
    world.in_review("auth", "login", {name: "one\r\ntwo \x1b[31m\r\nthree"})
    first = comment(world.session(), "auth", f"{name}:2-3", text="esc \x1b]0;x\x07")
    assert first.place is not None
    assert first.place.quoted == ("two \x1b[31m\r", "three")
    reject(world.session(), "auth", note="no")
    shown = render_inbox(read_mail(world.session(world.path("auth")), limit=9), width=None,
                         color=False)  # fmt: skip
    assert "\x1b" not in shown
    assert "comment 1 on a:1\\n?b\\x1b[2J:2-3" in shown


def test_an_approval_names_the_comments_that_were_not_sent(world: World) -> None:
    """The drafts of all reviewers are counted, and stay until they are sent."""
    begin(world)
    comment(world.session(), "auth", None, text="do not land this")
    said: list[str] = []

    def report(event: Event) -> None:
        if isinstance(event, Notice):
            said.append(event.text)

    approve(world.session(report=report), "auth")
    assert said == [
        "1 comment on auth not sent: git worker review list auth, then git worker review send auth"
        " --comment"
    ]
    assert [one.state for one in comments(world)] == ["draft"]
    said.clear()
    send(world.session(), "auth")
    approve(world.session(report=report), "auth")
    assert not any("not sent" in line for line in said)
