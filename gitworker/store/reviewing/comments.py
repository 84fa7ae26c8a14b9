"""Review comments as stored. Their state changes by transitions only."""

import json
from typing import NamedTuple

from gitworker.states.comment_machine import CommentState
from gitworker.store.api import Reader, Row, Writer

OLD, NEW = "old", "new"


class Place(NamedTuple):
    """The lines that a comment is about: `side` is OLD before the change, NEW after it."""

    path: str
    side: str
    first: int
    last: int
    quoted: tuple[str, ...]


class NewComment(NamedTuple):
    """A draft on a round; without a place it is about the round as a whole.

    `identity` owns it; `reviewer` is its name for people.
    """

    worker: str
    task: str
    round: int
    identity: str
    reviewer: str
    text: str
    place: Place | None = None


class Comment(NamedTuple):
    """One comment. `id` is the number that people use; times are epoch milliseconds."""

    id: int
    worker_id: str
    task_id: str
    round: int
    identity: str
    reviewer: str
    place: Place | None
    text: str
    created_at_ms: int
    state: CommentState
    version: int
    state_changed_at_ms: int
    message_id: str | None
    handled_commit: str | None
    answer: str
    reply: str
    reopened_by: str | None


def add_comment(writer: Writer, new: NewComment, *, now: int) -> Comment:
    """Insert a draft and return it."""
    place = new.place
    writer.run(
        "comments.insert",
        worker=new.worker, task=new.task, round=new.round, identity=new.identity,
        reviewer=new.reviewer, text=new.text,
        path=None if place is None else json.dumps(place.path),
        side=NEW if place is None else place.side,
        first_line=None if place is None else place.first,
        last_line=None if place is None else place.last,
        quoted=json.dumps([] if place is None else place.quoted), now=now,
    )  # fmt: skip
    row = writer.row("comments.inserted")
    found = None if row is None else find_comment(writer, row["id"])
    assert found is not None
    return found


def find_comment(reader: Reader, number: int) -> Comment | None:
    """Return the comment with a number, or None."""
    row = reader.row("comments.by_id", id=number)
    return None if row is None else _comment(row)


def comments_of(reader: Reader, worker: str, task: str | None) -> list[Comment]:
    """Return the comments on a worker's task, drafts included, oldest first."""
    return [_comment(row) for row in reader.rows("comments.of_task", worker=worker, task=task)]


def left_drafts(reader: Reader, identity: str) -> list[Comment]:
    """Return the drafts of an identity on tasks that their worker no longer has, oldest first."""
    return [_comment(row) for row in reader.rows("comments.left_drafts", identity=identity)]


def set_text(writer: Writer, comment: Comment, text: str) -> None:
    """Replace the words of a draft."""
    writer.run("comments.set_text", id=comment.id, text=text)


def drop_comment(writer: Writer, comment: Comment) -> None:
    """Delete a draft."""
    writer.run("comments.drop", id=comment.id)


def set_message(writer: Writer, comment: Comment, message: str) -> None:
    """Record the message that publishes a comment."""
    writer.run("comments.set_message", id=comment.id, message=message)


def set_answer(writer: Writer, comment: Comment, *, commit: str, answer: str) -> None:
    """Record the commit and the words with which the author handles a comment."""
    writer.run("comments.set_answer", id=comment.id, commit_oid=commit, answer=answer)


def set_reply(writer: Writer, comment: Comment, reply: str, *, identity: str) -> None:
    """Record the words with which a comment is reopened; the next review publishes them."""
    writer.run("comments.set_reply", id=comment.id, reply=reply, identity=identity)


def is_read(reader: Reader, comment: Comment) -> bool:
    """Return whether its worker has acknowledged the message that published a comment last."""
    row = reader.row("comments.is_read", id=comment.id)
    return row is not None and bool(row["is_read"])


def _comment(row: Row) -> Comment:
    values = dict(row)
    path, side, first, last, quoted = (
        values.pop(name) for name in ("path", "side", "first_line", "last_line", "quoted")
    )
    place = None
    if path is not None:
        place = Place(json.loads(path), side, first, last, tuple(json.loads(quoted)))
    values["state"] = CommentState(values["state"])
    return Comment(place=place, **values)
