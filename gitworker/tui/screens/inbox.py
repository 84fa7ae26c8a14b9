"""The inbox: the items that need a person, each with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from gitworker import clock
from gitworker.errors import Invalid
from gitworker.service.outcome_words import (
    Outcome,
    landing_outcome,
    order_outcome,
    restart_outcome,
)
from gitworker.tui.keys import INBOX
from gitworker.tui.rows.list_rows import inbox_rows
from gitworker.tui.view import Loaded, View, bindings

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.observe.inbox.inbox import InboxItem
    from gitworker.tui.screens.write import Written

MESSAGES = frozenset({"message", "budget"})
ABOUT_NO_WORKER = "this item is not about a worker; see its command"


class InboxView(View):
    """The inbox of the person."""

    KEYS = INBOX
    BINDINGS: ClassVar[list[Any]] = bindings(INBOX)
    TITLE_TEXT = "Inbox"

    def read(self, width: int) -> Loaded:
        """Return the items."""
        inbox = self.room.service.inbox()
        return Loaded(inbox_rows(inbox, width=width), inbox)

    def grow(self) -> None:
        """Show the present ages."""
        if self.data is not None and self.has_parts:
            self.data = self.data._replace(now_ms=clock.now_ms())
            self.body.show(inbox_rows(self.data, width=max(20, self.size.width)))

    @property
    def item(self) -> InboxItem | None:
        """Return the item under the cursor."""
        found: InboxItem | None = self.body.key
        return found

    def action_open(self) -> None:
        """Answer a question or a message; else review the worker."""
        item = self.item
        if item is None or self.is_lost():
            return
        if item.seq is not None:
            self.action_answer()
        else:
            self.room.show_worker(item.source)

    def action_answer(self) -> None:
        """Write an answer to the item's question or message, or a message to its worker."""
        from gitworker.tui.screens.write import WriteScreen

        item, service = self.item, self.room.service
        if item is None or self.is_lost():
            return
        purpose = f"answer {item.source} {item.seq}"

        def send(written: Written | None) -> None:
            if written is None:
                return
            label = f"answer {item.source}"
            self.room.change(label, lambda: answer(written.text), purpose=purpose)

        def answer(text: str) -> Outcome:
            if not text:
                raise Invalid("the text is empty")
            if item.question is not None:
                service.reply(item.source, text, number=item.question)
                return Outcome(f"{item.source} has your answer")
            service.send_note(item.source, text, reply_to=item.id)
            return Outcome(f"sent to {item.source}")

        heading = [f"Your answer to {item.source}", *item.text.split("\n")[:2]]
        self.room.push_screen(WriteScreen(heading, purpose=purpose, ways=["send"]), send)

    def action_acknowledge(self) -> None:
        """Acknowledge the messages up to the one under the cursor."""
        if self.is_lost():
            return
        item, service = self.item, self.room.service
        if item is None or item.seq is None:
            self.refuse("this item is a state, which ends when it is settled")
            return
        seq = item.seq

        def acknowledge() -> Outcome:
            service.ack(seq)
            return Outcome(f"messages up to #{seq} are read")

        self.room.change("read", acknowledge)

    def action_land(self) -> None:
        """Land the work of the item."""
        if self.is_lost():
            return
        item, service = self.item, self.room.service
        if item is None or item.seq is not None:
            self.refuse(ABOUT_NO_WORKER)
            return
        name = item.source
        self.room.change(f"land {name}", lambda: landing_outcome(service.merge([name])))

    def action_begin(self) -> None:
        """Let a paused agent continue, or start the agent of the item again."""
        if self.is_lost():
            return
        item, service = self.item, self.room.service
        if item is None or item.seq is not None:
            self.refuse(ABOUT_NO_WORKER)
            return
        name, is_paused = item.source, item.kind == "paused"

        def begin() -> Outcome:
            if not is_paused:
                return restart_outcome(service, name)
            return order_outcome(service, name, "resume")

        self.room.change(f"start {name}", begin)

    def commands(self) -> Any:
        """Yield the commands of the item."""
        calls: dict[str, Callable[[], None]] = {
            "answer": self.action_answer, "acknowledge": self.action_acknowledge,
            "land": self.action_land, "begin": self.action_begin,
        }  # fmt: skip
        for one in INBOX:
            yield one.effect.capitalize(), f"key {one.shown}", calls[one.action]
