"""Rounds, comments and marks of a review are read as they were written, and guarded."""

import pytest

from gitworker.errors import Conflict, GitWorkerError
from gitworker.model.ids import Oid
from gitworker.states.comment_machine import COMMENT_MACHINE, CommentState
from gitworker.store.api import Store
from gitworker.store.messages.transitions import NewTransition, insert_transition
from gitworker.store.reviewing.comments import (
    OLD,
    Comment,
    NewComment,
    Place,
    add_comment,
    comments_of,
    drop_comment,
    find_comment,
    is_read,
    set_answer,
    set_message,
    set_reply,
    set_text,
)
from gitworker.store.reviewing.marks import (
    clear_viewed,
    find_look,
    mark_viewed,
    record_look,
    viewed_among,
)
from gitworker.store.reviewing.rounds import (
    RoundCommit,
    add_round,
    find_newest_round,
    rounds_of,
)

PLACE = Place("src/\udcff\n.py", OLD, 3, 4, ("a\r", "b\udcff"))
NEW = NewComment("auth", "login", 1, "hq", "Ada <a@x>", "why?", PLACE)
COMMITS = (RoundCommit(Oid("c1"), "p1", "Ada <a@x>", "One\n\nbody \udcff"),)


def step(comment: Comment, event: str, state: str) -> NewTransition:
    """Return a transition of a comment."""
    return NewTransition(
        "comment", str(comment.id), comment.version + 1, comment.state, event, state, 5, "hq",
        metadata="{}", lines="[]",
    )  # fmt: skip


def test_rounds_are_numbered_for_each_task(store: Store, other: Store) -> None:
    """Each base and tip makes one round of its task, numbered from 1."""
    for task, tips in (("login", "abb"), ("other", "a")):
        for tip in tips:
            with store.write() as writer:
                add_round(
                    writer, "auth", task, base=Oid("0"), tip=Oid(tip), commits=COMMITS, now=7
                )  # fmt: skip
    found = rounds_of(other, "auth", "login")
    assert [(one.number, one.base, one.tip) for one in found] == [(1, "0", "a"), (2, "0", "b")]
    assert (found[0].commits, found[0].created_at_ms) == (COMMITS, 7)
    newest = find_newest_round(other, "auth", "other")
    assert newest is not None
    assert newest.number == 1
    assert find_newest_round(other, "auth", None) is None


def test_a_comment_is_read_as_it_was_written(store: Store, other: Store) -> None:
    """A draft keeps its place, whatever bytes path and lines have; only a draft changes."""
    with store.write() as writer:
        first = add_comment(writer, NEW, now=7)
        second = add_comment(writer, NEW._replace(place=None), now=8)
        dropped = add_comment(writer, NEW, now=9)
        set_text(writer, first, "because")
    with store.write() as writer:
        drop_comment(writer, dropped)
    assert comments_of(other, "auth", "login") == [first._replace(text="because"), second]
    assert (first.place, first.state, first.version) == (PLACE, CommentState.DRAFT, 0)
    assert find_comment(other, dropped.id) is None
    with store.write() as writer:
        assert add_comment(writer, NEW, now=9).id > dropped.id


@pytest.mark.parametrize(("origin", "event"), COMMENT_MACHINE.table)
def test_a_comment_moves_by_legal_transitions_only(
    store: Store, origin: CommentState, event: str
) -> None:
    """Each step of the machine changes the row; the same step to another state is refused."""
    paths = {
        "draft": [], "sent": [("send", "sent")],
        "handled": [("send", "sent"), ("handle", "handled")],
        "resolved": [("send", "sent"), ("resolve", "resolved")],
        "reopened": [("send", "sent"), ("resolve", "resolved"), ("reopen", "reopened")],
    }  # fmt: skip
    target = next(end for (start, by), end in COMMENT_MACHINE.table.items()
                  if (start, by) == (origin, event))  # fmt: skip
    with store.write() as writer:
        comment = add_comment(writer, NEW, now=1)
    for name, state in [*paths[origin], (event, target)]:
        with pytest.raises(GitWorkerError), store.write() as writer:
            insert_transition(writer, step(comment, name, "draft"))
        for fault in ({"version": comment.version + 2}, {"entity": f"0{comment.id}"}):
            with pytest.raises(Conflict), store.write() as writer:
                insert_transition(writer, step(comment, name, state)._replace(**fault))
        with store.write() as writer:
            insert_transition(writer, step(comment, name, state))
        found = find_comment(store, comment.id)
        assert found is not None
        comment = found
    assert (comment.state, comment.state_changed_at_ms) == (target, 5)


def test_a_sent_comment_keeps_its_words(store: Store) -> None:
    """A comment that was sent is neither rewritten nor dropped; answer and reply are added."""
    with store.write() as writer:
        comment = add_comment(writer, NEW, now=1)
        insert_transition(writer, step(comment, "send", "sent"))
        set_text(writer, comment, "other")
        drop_comment(writer, comment)
        set_message(writer, comment, "m1")
        set_answer(writer, comment, commit="c9", answer="done")
        set_reply(writer, comment, "not yet", identity="hq")
    found = find_comment(store, comment.id)
    assert found is not None
    assert (found.message_id, found.reopened_by, is_read(store, found)) == (None, "hq", False)
    with store.write() as writer:
        set_message(writer, comment, "m1")
    found = find_comment(store, comment.id)
    assert found is not None
    assert (found.text, found.message_id, found.handled_commit) == ("why?", "m1", "c9")
    assert (found.answer, found.reply) == ("done", "not yet")
    assert is_read(store, found)  # no such message waits for the worker
    assert not is_read(store, found._replace(id=99))


def test_marks_are_of_one_reviewer(store: Store) -> None:
    """A mark is set once, cleared, and known to its reviewer only."""
    with store.write() as writer:
        for hunk in ("h1", "h1", "h2"):
            mark_viewed(writer, "ada", hunk, path="\udcff", now=1)
        clear_viewed(writer, "ada", "h2")
    assert viewed_among(store, "ada", ["h1", "h2", "h3"]) == {"h1"}
    assert viewed_among(store, "bob", ["h1"]) == frozenset()


def test_the_last_look_is_kept(store: Store) -> None:
    """A look replaces the one before it."""
    assert find_look(store, "ada", "auth", "login") is None
    for tip in ("a", "b"):
        with store.write() as writer:
            record_look(writer, "ada", "auth", "login", base=Oid("0"), tip=Oid(tip), now=3)
    assert find_look(store, "ada", "auth", "login") == ("0", "b", 3)
