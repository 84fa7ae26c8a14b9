"""Messages: order, cursors, ids that count once, waking, and full-text search."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitworker.store.api import SearchIndex, Store
from gitworker.store.backend import open_search_index, open_store
from gitworker.store.messages.inboxes import (
    inbox_messages,
    newest_verdict,
    unanswered_messages,
)
from gitworker.store.messages.mailbox import (
    NewMessage,
    Selection,
    begin_cursor,
    count_after,
    cursor_of,
    find_message,
    first_left_out,
    insert_message,
    move_cursor,
    newest_seq,
    publish_message,
    unread_as_json,
    unread_messages,
)

DEADLINE_S = 30


def message(id: str, to: str | None = None, payload: str | None = None) -> NewMessage:
    """Return a note from hq."""
    return NewMessage(id, "x-note", ts_ms=1, sender="hq", to=to, payload=payload)


def test_messages_are_in_order(store: Store, other: Store) -> None:
    """Positions grow by one with each message; a failed transaction leaves no gap."""
    publish_message(store, message("a"))
    with suppress(ZeroDivisionError), other.write() as writer:
        insert_message(writer, message("lost"))
        raise ZeroDivisionError
    publish_message(other, message("b"))
    assert [one.id for one in unread_messages(store, "auth", limit=9)] == ["a", "b"]
    assert newest_seq(store) == 2


def test_an_id_counts_once(store: Store) -> None:
    """A message whose id exists is not stored again."""
    publish_message(store, message("a", payload='{"n":1}'))
    publish_message(store, message("a", payload='{"n":2}'))
    found = find_message(store, "a")
    assert found is not None
    assert (found.payload, newest_seq(store)) == ('{"n":1}', 1)


def test_a_cursor_moves_forward_only(store: Store) -> None:
    """An agent reads messages to itself or to all after its cursor, which never moves back."""
    for number, to in enumerate(["a", None, "b", "a"]):
        publish_message(store, message(str(number), to))
    for seq in (2, 1):
        with store.write() as writer:
            move_cursor(writer, "a", seq, now=1)
    assert cursor_of(store, "a") == 2
    assert [one.id for one in unread_messages(store, "a", limit=9)] == ["3"]
    assert [one.id for one in unread_messages(store, "b", limit=1)] == ["1"]


def test_a_cursor_begins_once(store: Store) -> None:
    """A first cursor is at the end, or before the first message to the agent, and then stays."""
    for number, to in enumerate([None, "b", None]):
        publish_message(store, message(str(number), to))
    for agent in ("a", "b", "a"):
        with store.write() as writer:
            begin_cursor(writer, agent)
        publish_message(store, message(f"after {agent}"))
    assert [one.id for one in unread_messages(store, "a", limit=9)] == ["after a", "after b"]
    assert [one.id for one in unread_messages(store, "b", limit=2)] == ["1", "2"]


def test_a_selection_of_unread_messages(store: Store) -> None:
    """A selection has the reader's messages of a type or sender, and knows those left out."""
    for number, to in enumerate([None, "a", "a", "b"]):
        publish_message(store, message(str(number), to))
    mine, others = Selection(mine=True), Selection(type="x-other", sender="hq")

    def ids(selection: Selection) -> list[str]:
        found = unread_as_json(store, "a", limit=9, selection=selection)
        return [one.message.id for one in found]

    assert (ids(Selection()), ids(mine), ids(others)) == (["0", "1", "2"], ["1", "2"], [])
    assert first_left_out(store, "a", mine) is None
    assert first_left_out(store, "a", others) == 1
    assert count_after(store, "a", mine, after=2, limit=9) == 1
    assert count_after(store, "a", Selection(sender="hq"), after=0, limit=2) == 2


def test_the_inbox(store: Store) -> None:
    """An inbox has messages to the agent, and those of others to all about its task."""
    about = message("about")
    about.correlation_id = "t1"
    automatic = NewMessage("auto", "state_change", ts_ms=1, sender="hq", correlation_id="t1")
    own = NewMessage("own", "x-note", ts_ms=1, sender="a", correlation_id="t1")
    order = NewMessage("order", "cmd", ts_ms=1, sender="hq", to="a")
    for one in (message("all"), about, automatic, own, message("direct", "a"), order):
        publish_message(store, one)
    found = inbox_messages(store, "a", task="t1", automatic=["state_change"], limit=9)
    assert [one.id for one in found] == ["about", "direct", "order"]
    with store.write() as writer:
        move_cursor(writer, "a.supervisor", newest_seq(writer), now=1)
    found = inbox_messages(store, "a", task="t1", automatic=["state_change"], limit=9)
    assert [one.id for one in found] == ["about", "direct"]


def test_unanswered_messages(store: Store) -> None:
    """A message is unanswered until one with its id comes back; a read one only as a question."""
    publish_message(store, NewMessage("q", "x-question", ts_ms=1, sender="a", to="hq"))
    publish_message(store, NewMessage("n", "x-note", ts_ms=1, sender="a", to="hq"))
    assert [one.id for one in unanswered_messages(store, "hq", limit=9)] == ["q", "n"]
    with store.write() as writer:
        move_cursor(writer, "hq", 2, now=1)
    assert [one.id for one in unanswered_messages(store, "hq", limit=9)] == ["q"]
    publish_message(store, NewMessage("r", "x-note", ts_ms=1, sender="hq", to="a", in_reply_to="q"))
    assert unanswered_messages(store, "hq", limit=9) == []


def test_the_newest_verdict(store: Store) -> None:
    """A verdict counts until the worker hands in again."""
    asked = NewMessage("1", "review_request", ts_ms=1, sender="a", correlation_id="t1")
    judged = NewMessage("2", "review_result", ts_ms=1, sender="hq", to="a", correlation_id="t1")
    publish_message(store, asked)
    assert newest_verdict(store, "a", "t1") is None
    publish_message(store, judged)
    verdict = newest_verdict(store, "a", "t1")
    assert verdict is not None
    assert verdict.id == "2"
    asked.id = "3"
    publish_message(store, asked)
    assert newest_verdict(store, "a", "t1") is None


def test_texts_survive(store: Store) -> None:
    """Text of any language comes back unchanged."""
    publish_message(store, message("a", payload='{"text":"Grüße 漢字 🎉"}'))
    found = find_message(store, "a")
    assert found is not None
    assert found.payload == '{"text":"Grüße 漢字 🎉"}'


def test_a_waiting_reader_wakes(store: Store, location: str) -> None:
    """A waker returns once another connection has committed, and not before."""

    def publish() -> None:
        other = open_store(location)
        publish_message(other, message("a"))
        other.close()

    with store.open_waker() as waker:
        waker.changed()
        assert not waker.wait(0.05)
        thread = threading.Thread(target=publish)
        thread.start()
        assert waker.wait(DEADLINE_S)
        thread.join(DEADLINE_S)
    assert newest_seq(store) == 1


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SearchIndex]:
    """An empty full-text index, which is a local file whatever the backend."""
    opened = open_search_index(str(tmp_path / "search"))
    yield opened
    opened.close()


def test_words_are_found(index: SearchIndex) -> None:
    """A search returns the newest matches first, below a position, up to a limit."""
    index.add([(1, "login form"), (2, "sign up"), (3, "the LOGIN page")], until=4, last_id="last")
    assert index.position() == 4
    assert index.find('"login"', before=99, limit=9) == [3, 1]
    assert index.find('"login"', before=3, limit=9) == [1]
    assert index.find('"login"', before=99, limit=1) == [3]


def test_messages_leave_the_index(index: SearchIndex) -> None:
    """Dropped messages are not found any more; an index that is cleared begins at 0."""
    index.add([(1, "login"), (2, "login"), (3, "login")], until=3, last_id="last")
    index.drop([3])
    index.drop_below(2)
    assert index.find('"login"', before=99, limit=9) == [2]
    index.clear()
    assert (index.position(), index.find('"login"', before=99, limit=9)) == (0, [])


def test_a_message_is_indexed_once(index: SearchIndex) -> None:
    """Messages that another process has indexed meanwhile are skipped."""
    index.add([(1, "login")], until=2, last_id="m2")
    index.add([(1, "login"), (3, "login")], until=3, last_id="last")
    assert index.find('"login"', before=99, limit=9) == [3, 1]
