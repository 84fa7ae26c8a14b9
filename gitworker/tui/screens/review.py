"""The review of one worker: evidence, files by risk, the diff with its comments, the decision."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from gitworker.errors import NotFound
from gitworker.journal.undo.records import find_undoable
from gitworker.lifecycle.rules import is_approved
from gitworker.observe.queue.board_columns import next_review
from gitworker.review.comments.rules_steps import is_draft
from gitworker.review.page.colors import load_lexers
from gitworker.service.outcome_words import (
    Outcome,
    landing_outcome,
    marks_words,
    order_outcome,
    restart_outcome,
    review_words,
)
from gitworker.states.worker_machine import state_label
from gitworker.tui.keys import REVIEW
from gitworker.tui.rows.line_rows import ColorCache, LineKey, is_same_line
from gitworker.tui.rows.queue_rows import Verdict
from gitworker.tui.rows.review_rows import CommentKey, FileKey, HunkKey, Layout, review_rows
from gitworker.tui.rows.rules_choice import choose_lines
from gitworker.tui.view import Loaded, View, bindings

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.journal.undo.records import Record
    from gitworker.observe.workers.status import WorkerLine
    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.page.page import ReviewPage
    from gitworker.tui.rows.review_rows import ReviewRows
    from gitworker.tui.rows.row import AnyRow
    from gitworker.tui.screens.write import Written

RECORDS_READ = 20
LARGE = 2000
SIDED_FROM = 100  # columns of the terminal
NO_COMMENT = "the cursor is not on a comment"
NO_CHANGES = "the changes are not read yet"


class Seen(NamedTuple):
    """A review as it is on the screen; its changes stay until they are read again."""

    page: ReviewPage
    shown: ReviewRows
    undo: Record | None


class ReviewView(View):
    """The review of a worker. Its changes do not change while a person reads them."""

    KEYS = REVIEW
    BINDINGS: ClassVar[list[Any]] = bindings(REVIEW)
    STOPS_EVERYWHERE = True
    FOLLOWS = False

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker
        self._viewed: frozenset[str] | None = None
        self._accepted: str | None = None  # the tip that was read first, or by Ctrl+R
        self._toggled: set[str] = set()
        self._colors = ColorCache()
        self._is_sided = False

    # ------------------------------------------------------------------ reading
    def read(self, width: int) -> Loaded:
        """Return the rows of the newest round."""
        service = self.room.service
        page = service.review(self._worker, records_look=True)
        load_lexers(one.patch.path for one in page.files)
        records = service.undo_records(limit=RECORDS_READ)
        seen = self._seen(page, page.viewed, width, find_undoable(records, self._worker))
        return Loaded(seen.shown.rows, seen)

    def _seen(
        self, page: ReviewPage, viewed: frozenset[str], width: int, undo: Record | None
    ) -> Seen:
        is_sided = self._is_sided and width >= SIDED_FROM
        layout = Layout(self._toggled, width, self._colors, is_sided)
        shown = review_rows(page, viewed=viewed, layout=layout)
        return Seen(page, shown, undo)

    def loaded(self) -> None:
        """Take the viewed marks of the database."""
        self._viewed = self.data.page.viewed
        self._accepted = self._accepted or self.data.page.round.tip
        if len(self.body.rows) > LARGE:
            gc.freeze()  # or each full collection would visit the rows, and stop the screen

    def action_reload(self) -> None:
        """Read the newest round, which may be decided on then."""
        self._accepted = None
        super().action_reload()

    def _is_accepted(self) -> bool:
        """Return whether the round on the screen was chosen; say so if it came by itself."""
        if self.data is None:
            self._refuse_unread()
            return False
        round = self.data.page.round
        if round.tip != self._accepted:
            self.refuse(f"round {round.number} was handed in and is shown now; Ctrl+R accepts it")
            return False
        return True

    def _refuse_unread(self) -> None:
        """Say why there are no changes."""
        self.refuse(self.refusal or NO_CHANGES)

    def on_unmount(self) -> None:
        """Let the rows be collected."""
        gc.unfreeze()

    @property
    def _tip(self) -> str | None:
        """Return the tip of the round on the screen; None before a hand-in."""
        round = None if self.data is None else self.data.page.round
        return round.tip if round is not None and round.number else None

    def title_text(self) -> str:
        """Return the worker with its state, the drafts and the operation that u undoes."""
        frame, _ = self.room.feed.newest
        line = next(
            (one for one in (frame.workers if frame else ()) if one.worker == self._worker), None
        )
        parts = [self._worker]
        if line is not None:
            parts.append(state_label(line.state))
        if self.data is not None:
            seen: Seen = self.data
            if seen.shown.drafts:
                parts.append(f"{seen.shown.drafts} to send")
            if line is not None and _has_other_commits(line, seen.page.round.tip):
                parts.append("other commits than below: Ctrl+R")
            if seen.undo is not None:
                parts.append(f"u undoes {seen.undo.kind}")
        return ", ".join(parts)

    def status_changed(self, *, is_shown: bool) -> None:
        """Show the new state; read the way back again, and the changes only if they are missing."""
        super().status_changed(is_shown=is_shown)
        if self.data is None:
            self.load()
            return
        service = self.room.service
        self.room.read(
            lambda: find_undoable(service.undo_records(limit=RECORDS_READ), self._worker),
            self._set_undo, lambda _: None,
        )  # fmt: skip

    def _set_undo(self, undo: Record | None) -> None:
        if self.data is not None and self.has_parts:
            self.data = self.data._replace(undo=undo)
            self.show_top()

    def _draw(self) -> None:
        """Show the rows again with the present marks and folds, without reading anything."""
        seen: Seen = self.data
        viewed = self._viewed if self._viewed is not None else seen.page.viewed
        self.data = self._seen(seen.page, viewed, max(20, self.size.width), seen.undo)
        self.body.show(self.data.shown.rows)
        self.show_top()

    def on_resize(self) -> None:
        """Wrap the texts again."""
        if self.data is not None:
            self._draw()

    # ------------------------------------------------------------------ moving
    def action_file(self, step: int) -> None:
        """Move to the next or previous file."""
        self.body.move(step, is_wanted=_is_file)

    def action_move(self, step: int) -> None:
        """Move to the next or previous file, hunk or comment."""
        self.body.move(step, is_wanted=_is_item)

    def action_sides(self) -> None:
        """Show the old and the new lines side by side, or in one column again."""
        width = self.size.width
        if self.data is None or (width < SIDED_FROM and not self._is_sided):
            few = f"two columns need a terminal of {SIDED_FROM} columns; this one has {width}"
            if self.data is None:
                self._refuse_unread()
            else:
                self.refuse(few)
            return
        self._is_sided = not self._is_sided
        before = self.body.key
        self._draw()
        if isinstance(before, LineKey):
            self.body.edge(-1)
            self.body.move(1, is_wanted=lambda one: is_same_line(one.key, before))

    def action_extend(self, step: int) -> None:
        """Choose one line more or less."""
        self.body.extend(step)

    def action_open(self) -> None:
        """Fold or unfold a file or a hunk, or show the output of a verification."""
        key = self.body.key
        if isinstance(key, Verdict):
            from gitworker.tui.screens.text import VerifyView

            self.room.push_screen(VerifyView(key.commit))
        elif isinstance(key, (FileKey, HunkKey)):
            name = key.path if isinstance(key, FileKey) else key.id
            self._toggled ^= {name}
            self._draw()

    # ------------------------------------------------------------------ comments
    @property
    def said(self) -> Anchored | None:
        """Return the comment under the cursor."""
        key = self.body.key
        if self.data is None or not isinstance(key, CommentKey):
            return None
        found: Anchored | None = self.data.shown.comments.get(key.number)
        return found

    def action_comment(self) -> None:
        """Write on the chosen lines, on the change as a whole, or change a draft."""
        if self.data is None:
            self._refuse_unread()
            return
        said = self.said
        if said is not None and is_draft(said.comment.state):
            self._edit(said)
            return
        chosen = choose_lines(self.body.keys, self.data.shown.changes.files)
        name, service = self._worker, self.room.service
        place = chosen.place if chosen else None
        side = " (before the change)" if chosen and chosen.is_old else ""
        at = self._tip

        def add(text: str) -> Outcome:
            is_old = chosen is not None and chosen.is_old
            made = service.comment(name, place, text=text, is_old=is_old, at=at)
            return Outcome(f"comment {made.id} is a draft; r sends it")

        self._write(
            [f"Comment on {place or 'the change as a whole'}{side}"], "save", "comment", add
        )

    def _edit(self, said: Anchored) -> None:
        number, service = said.comment.id, self.room.service

        def edit(text: str) -> Outcome:
            service.edit_comment(number, text=text)
            return Outcome(f"comment {number} is changed")

        self._write([f"Comment {number}"], "save", "change", edit, text=said.comment.text)

    def _write(
        self, heading: list[str], way: str, label: str, change: Callable[[str], Outcome],
        *, text: str = "", may_be_empty: bool = False,
    ) -> None:  # fmt: skip
        """Ask for a text and make a change with it."""
        from gitworker.tui.screens.write import WriteScreen

        def end(written: Written | None) -> None:
            if written is None:
                return
            if not written.text and not may_be_empty:
                self.refuse("the text is empty")
                return
            self.room.change(label, lambda: change(written.text), purpose=purpose)

        purpose = f"{self._worker}: {heading[0]}"
        self.room.push_screen(WriteScreen(heading, purpose=purpose, ways=[way], text=text), end)

    def action_drop(self) -> None:
        """Delete the draft under the cursor."""
        said, service = self.said, self.room.service
        if said is None:
            self.refuse(NO_COMMENT)
            return
        number = said.comment.id

        def drop() -> Outcome:
            service.drop_comment(number)
            return Outcome(f"comment {number} is deleted")

        self.room.change("delete", drop)

    def action_resolve(self) -> None:
        """Resolve the comment under the cursor."""
        said, service = self.said, self.room.service
        if said is None:
            self.refuse(NO_COMMENT)
            return
        number = said.comment.id

        def resolve() -> Outcome:
            service.resolve_comment(number)
            return Outcome(f"comment {number} is resolved")

        self.room.change("resolve", resolve)

    def action_reopen(self) -> None:
        """Reopen the comment under the cursor, with a text."""
        said, service = self.said, self.room.service
        if said is None:
            self.refuse(NO_COMMENT)
            return
        number = said.comment.id

        def reopen(text: str) -> Outcome:
            service.reopen_comment(number, reply=text)
            return Outcome(f"comment {number} is reopened; it is sent with your next review")

        self._write([f"Reopen comment {number}"], "reopen", "reopen", reopen, may_be_empty=True)

    def action_viewed(self) -> None:
        """Mark the hunk or the file under the cursor as viewed, or clear the mark."""
        key, service, name = self.body.key, self.room.service, self._worker
        if self.data is None:
            self._refuse_unread()
            return
        if not isinstance(key, (FileKey, HunkKey, LineKey)):
            self.refuse("the cursor is on no file")
            return
        files = self.data.page.files
        ids = {id for one in files if one.patch.path == key.path for id in one.patch.ids}
        if isinstance(key, FileKey):
            chosen = key.path
        else:
            chosen = key.id if isinstance(key, HunkKey) else key.hunk
            ids = {chosen}
        viewed = self._viewed or frozenset()
        clear = bool(ids) and viewed.issuperset(ids)
        if ids:
            self._viewed = viewed - ids if clear else viewed | ids
            self._toggled -= {*ids, key.path}
            if isinstance(key, LineKey):
                self.body.move(-1, is_wanted=lambda one: isinstance(one.key, HunkKey))
            self._draw()
        at = self._tip

        def mark() -> Outcome:
            return Outcome(marks_words(service.mark_viewed(name, chosen, clear=clear, at=at)))

        self.room.change("viewed", mark)

    # ------------------------------------------------------------------ decisions
    def action_approve(self) -> None:
        """Approve the commit on the screen, and send the drafts."""
        if not self._is_accepted():
            return
        tip = self.data.page.round.tip
        self.room.change("approve", lambda: Outcome(self._approve(tip)))

    def _approve(self, tip: str) -> str:
        self.room.service.require_round(self._worker, tip)
        sent = self.room.service.send_review(self._worker, verdict="approved", at=tip)
        return review_words(sent)

    def action_review(self) -> None:
        """Write the text of the review; it is sent with the drafts."""
        from gitworker.tui.screens.write import WriteScreen

        service, name, at = self.room.service, self._worker, self._tip

        def end(written: Written | None) -> None:
            if written is None:
                return
            verdict = "commented" if written.is_second else "changes_requested"
            self.room.change("review", lambda: send(verdict, written.text), purpose=heading[0])

        def send(verdict: str, note: str) -> Outcome:
            sent = service.send_review(name, verdict=verdict, note=note, at=at)
            return Outcome(review_words(sent))

        drafts = self.data.shown.drafts if self.data is not None else 0
        heading = [f"Review of {name}", f"It is sent with your drafts: {drafts}."]
        ways = ["request changes", "send as comments"]
        self.room.push_screen(WriteScreen(heading, purpose=heading[0], ways=ways), end)

    def action_land(self) -> None:
        """Land the work; approve the commit on the screen first if that is still open."""
        if not self._is_accepted():
            return
        page, service, name = self.data.page, self.room.service, self._worker

        def land() -> Outcome:
            if is_approved(service.show(name).worker.state):
                return landing_outcome(service.land_seen(name, page.round.tip))
            self._approve(page.round.tip)
            return landing_outcome(service.merge([name]))

        self.room.change(f"land {name}", land)

    def action_undo(self) -> None:
        """Undo the operation that the title names."""
        record = self.data.undo if self.data is not None else None
        if record is None:
            self.refuse(
                NotFound(f"nothing of {self._worker} can be undone", "git worker undo --list")
            )
            return
        number, service = record.number, self.room.service
        self.room.change(f"undo {record.kind}", lambda: Outcome(service.undo(number).message))

    # ------------------------------------------------------------------ other screens
    def action_since(self) -> None:
        """Show the changes since the last look."""
        from gitworker.tui.screens.text import RoundsView

        page = self.data.page if self.data is not None else None
        rounds = None
        if page is not None and page.looked and page.looked < page.round.number:
            rounds = f"{page.looked}..{page.round.number}"
        self.room.push_screen(RoundsView(self._worker, rounds))

    def action_rounds(self) -> None:
        """Ask for two rounds, and show the changes from one to the other."""
        from gitworker.tui.screens.ask import AskScreen
        from gitworker.tui.screens.text import RoundsView

        if self.data is None:
            self._refuse_unread()
            return
        newest = self.data.page.round.number
        if newest < 2:
            self.refuse("there is only one round" if newest else "nothing was handed in yet")
            return

        def show(text: str | None) -> None:
            if text:
                self.room.push_screen(RoundsView(self._worker, text))

        heading = [f"Changes of {self._worker} between two of its rounds: 1..{newest}"]
        self.room.push_screen(AskScreen(heading, text=f"{newest - 1}..{newest}"), show)

    def action_next_review(self) -> None:
        """Show the next review instead of this one."""
        frame, _ = self.room.feed.newest
        following = next_review(frame.workers if frame else (), self._worker)
        if following is None:
            self.refuse("no other work waits for a review")
            return
        room = self.room
        room.pop_screen()
        room.show_worker(following)

    def action_log(self) -> None:
        """Follow the log of the agent."""
        from gitworker.tui.screens.talk import LogView

        self.room.push_screen(LogView(self._worker))

    def action_talk(self) -> None:
        """Show the conversation."""
        from gitworker.tui.screens.talk import TalkView

        self.room.push_screen(TalkView(self._worker))

    def commands(self) -> Any:
        """Yield the keys of a review, and the orders to the agent."""
        for one in REVIEW:
            call = getattr(self, f"action_{one.action}", None)
            if call is not None:
                yield one.effect.capitalize(), f"key {one.shown}", call
        for word, command in (("Pause", "pause"), ("Continue", "resume"), ("Stop", "stop")):
            yield f"{word} the agent of {self._worker}", "", self._orders(command)
        yield f"Start the agent of {self._worker} again", "", self._restart

    def _orders(self, command: str) -> Callable[[], None]:
        service, name = self.room.service, self._worker
        return lambda: self.room.change(command, lambda: order_outcome(service, name, command))

    def _restart(self) -> None:
        service, name = self.room.service, self._worker
        self.room.change("start", lambda: restart_outcome(service, name))


def _has_other_commits(line: WorkerLine, tip: str) -> bool:
    """Return whether the branch has other commits than a version; an approval only rebases it."""
    return line.tip is not None and line.tip.oid != tip and not is_approved(line.state)


def _is_file(one: AnyRow) -> bool:
    return one.is_file


def _is_item(one: AnyRow) -> bool:
    return isinstance(one.key, (FileKey, HunkKey, CommentKey, Verdict))
