"""The methods of the service for reviews: the page, comments, marks, rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.review.comments.list_comments import CommentList
    from gitworker.review.comments.send import SentReview
    from gitworker.review.compare import Comparison
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.viewed_marks import ViewedMarks
    from gitworker.session import Session
    from gitworker.store.reviewing.comments import Comment
    from gitworker.store.workers import Worker


class CommentMethods(ServiceBase):
    """Reviews as data; see `WorkMethods` for the names of workers and the imports."""

    def review(self, worker: str | None = None, *, records_look: bool = False) -> ReviewPage:
        """Return a review: task, evidence, changes, comments, and the caller's viewed marks.

        `records_look`: the next `compare_rounds` of the caller begins at this version.
        """
        from gitworker.review.page.page import read_page

        with self._reading() as session:
            found = self._handed_in(session, worker)
            return read_page(session, found, records_look=records_look)

    def review_comments(self, worker: str | None = None) -> CommentList:
        """Return the comments on a worker's work or on that of all workers."""
        from gitworker.review.comments.list_comments import list_comments

        with self._reading() as session:
            found = None if worker is None else self._handed_in(session, worker)
            return list_comments(session, found)

    def comment(
        self,
        worker: str,
        place: str | None = None,
        *,
        text: str,
        is_old: bool = False,
        at: str | None = None,
    ) -> Comment:
        """Add a draft on `FILE:LINE[-LINE]` of the newest round, or on the whole round.

        `is_old`: the lines are those before the change. `at`: they are those of the round with
        this tip.
        """
        from gitworker.review.comments.draft import comment

        with self._acting() as session:
            self._handed_in(session, worker)
            words = self._without_secrets(text)
            return comment(session, worker, place, text=words, is_old=is_old, at=at)

    def edit_comment(self, number: int, *, text: str) -> Comment:
        """Replace the words of a draft."""
        from gitworker.review.comments.draft import edit

        with self._acting() as session:
            return edit(session, number, text=self._without_secrets(text))

    def drop_comment(self, number: int) -> Comment:
        """Delete a draft."""
        from gitworker.review.comments.draft import drop

        with self._acting() as session:
            return drop(session, number)

    def send_review(
        self, worker: str, *, verdict: str = "commented", note: str = "", at: str | None = None
    ) -> SentReview:
        """Send the caller's drafts to the author; the verdict `changes_requested` returns the work.

        With the verdict `approved` the work is approved first (`at`: see `approve`), and drafts are
        sent if there are any. Raises the refusal of the approval, and sends nothing then. With
        `changes_requested`, `at` is the tip of the round that the caller has seen.
        """
        from dataclasses import replace

        from gitworker.review.comments.send import send

        with self._acting() as session:
            note = self._without_secrets(note)
            if verdict != "approved":
                return send(session, worker, verdict=verdict, note=note, at=at)
            from gitworker.workers.approve import approve

            approved = approve(session, worker, note=note, at=at)
            sent = send(session, approved.worker.worker_id, may_be_empty=True)
            return replace(sent, worker=approved.worker, verdict=verdict)

    def handle_comment(
        self, number: int, *, answer: str = "", commit: str | None = None
    ) -> Comment:
        """Record that the author has handled a comment, by a commit or an answer."""
        from gitworker.review.comments.settle import handle

        with self._acting() as session:
            return handle(session, number, answer=self._without_secrets(answer), commit=commit)

    def resolve_comment(self, number: int) -> Comment:
        """Record that a comment needs nothing more."""
        from gitworker.review.comments.settle import resolve

        with self._acting() as session:
            return resolve(session, number)

    def reopen_comment(self, number: int, *, reply: str = "") -> Comment:
        """Open a comment again; the next `send_review` publishes it."""
        from gitworker.review.comments.settle import reopen

        with self._acting() as session:
            return reopen(session, number, reply=self._without_secrets(reply))

    def mark_viewed(
        self,
        worker: str,
        chosen: str | None = None,
        *,
        clear: bool = False,
        at: str | None = None,
    ) -> ViewedMarks:
        """Mark the hunks of a file, one hunk by its id, or all as viewed; or clear the marks.

        `at` is the tip of the round that the caller has seen.
        """
        from gitworker.review.viewed_marks import view

        with self._acting() as session:
            self._handed_in(session, worker)
            return view(session, worker, chosen, clear=clear, at=at)

    def compare_rounds(self, worker: str, rounds: str | None = None) -> Comparison:
        """Return the changes between two rounds, `N..M`, or since the caller's last look."""
        from gitworker.review.compare import compare

        with self._reading() as session:
            self._handed_in(session, worker)
            return compare(session, worker, rounds)

    def require_round(self, worker: str, tip: str) -> None:
        """Raise Conflict unless a worker's newest round has this tip, which the caller has seen."""
        from gitworker.review.rounds import require_seen

        with self._reading() as session:
            require_seen(session, self._handed_in(session, worker), tip)

    def _handed_in(self, session: Session, name: str | None) -> Worker:
        """Return a worker whose newest hand-in is in this repository, also from another machine."""
        from gitworker.worktrees.elsewhere import bring_handed_in

        found = self._worker(session, name)
        bring_handed_in(session, found)
        return found
