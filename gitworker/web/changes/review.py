"""The verbs of a review: comments, viewed marks and verdicts, as in `git worker review`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Invalid
from gitworker.service.outcome_words import marks_words, review_words
from gitworker.web.changes.forms import done, read_path, read_text, require_number, require_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitworker.web.jobs import Notice
    from gitworker.web.request import Site

VERDICTS = frozenset({"commented", "changes_requested"})


def approve(site: Site, worker: str, form: Mapping[str, str]) -> Notice:
    """Approve the commit that the page has shown, and send the drafts."""
    at = form.get("at")
    if not at:
        raise Invalid("the approval names no commit; load the page again")
    site.service.require_round(worker, at)
    sent = site.service.send_review(worker, verdict="approved", note=read_text(form, "note"), at=at)
    return done(review_words(sent))


def send(site: Site, worker: str, form: Mapping[str, str]) -> Notice:
    """Send the drafts and the note with a verdict; `changes_requested` sends the work back."""
    verdict = form.get("verdict", "")
    if verdict not in VERDICTS:
        raise Invalid("choose: request changes, or send as comments")
    note = read_text(form, "note")
    at = form.get("tip") or None
    if at is None and verdict == "changes_requested":
        raise Invalid("the request names no commit; load the page again")
    sent = site.service.send_review(worker, verdict=verdict, note=note, at=at)
    return done(review_words(sent))


def comment(site: Site, worker: str, form: Mapping[str, str]) -> Notice:
    """Add a draft on lines of a file, which may have had another name before the change."""
    is_old, at = form.get("side") == "old", form.get("tip") or None
    path = (read_path(form, "old_path") if is_old else "") or read_path(form)
    place = f"{path}:{form.get('lines', '').strip()}"
    text = require_text(form, "text")
    found = site.service.comment(worker, place, text=text, is_old=is_old, at=at)
    return done(f"comment {found.id} is a draft", focus=f"comment-{found.id}")


def edit(site: Site, _worker: str, form: Mapping[str, str]) -> Notice:
    """Replace the words of a draft."""
    number = require_number(form)
    site.service.edit_comment(number, text=require_text(form, "text"))
    return done(f"comment {number} is changed", focus=f"comment-{number}")


def drop(site: Site, _worker: str, form: Mapping[str, str]) -> Notice:
    """Delete a draft."""
    number = require_number(form)
    site.service.drop_comment(number)
    return done(f"comment {number} is deleted")


def resolve(site: Site, _worker: str, form: Mapping[str, str]) -> Notice:
    """Record that a comment needs nothing more."""
    number = require_number(form)
    site.service.resolve_comment(number)
    return done(f"comment {number} is resolved", focus=f"comment-{number}")


def reopen(site: Site, _worker: str, form: Mapping[str, str]) -> Notice:
    """Open a comment again; the next review sends it."""
    number = require_number(form)
    site.service.reopen_comment(number, reply=read_text(form, "text"))
    return done(
        f"comment {number} is reopened; it is sent with your next review",
        focus=f"comment-{number}",
    )


def mark(*, clear: bool) -> Callable[[Site, str, Mapping[str, str]], Notice]:
    """Return the change that marks a hunk or a file as viewed, or clears the marks."""

    def change(site: Site, worker: str, form: Mapping[str, str]) -> Notice:
        hunk = form.get("hunk", "")
        chosen = hunk or read_path(form)
        if not chosen:
            raise Invalid("the mark names no file")
        at = form.get("tip") or None
        found = site.service.mark_viewed(worker, chosen, clear=clear, at=at)
        focus = f"hunk-{hunk}" if hunk else f"name-{form.get('file', '')}"
        return done(marks_words(found), focus=focus)

    return change


# The last part of the path → the change.
CHANGES: Mapping[str, Callable[[Site, str, Mapping[str, str]], Notice]] = {
    "review": send,
    "comment": comment,
    "edit": edit,
    "drop": drop,
    "resolve": resolve,
    "reopen": reopen,
    "viewed": mark(clear=False),
    "unviewed": mark(clear=True),
}
