"""Messages: threads by task, or the results of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.web.pages.message_threads import threads

if TYPE_CHECKING:
    from gitworker.web.request import Ask

MESSAGES_READ = 300
KINDS = frozenset({"message", "commit"})


def read(ask: Ask) -> dict[str, Any]:
    """Return the threads, of one task if it is named, and the messages that a search has found."""
    words = ask.query.get("q", "")
    task = ask.query.get("task", "")
    found = threads(ask.service.log(limit=MESSAGES_READ, types=KINDS).events)
    return {
        "threads": [one for one in found if not task or one.task == task], "task": task,
        "words": words, "found": ask.service.search(words.split()) if words.split() else [],
    }  # fmt: skip
