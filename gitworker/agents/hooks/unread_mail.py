"""The unread messages of an agent, for its hooks. On the hot path."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.agents.hooks.hook_context import HookContext, News
    from gitworker.store.api import Reader
    from gitworker.store.messages.mailbox import StoredMessage
    from gitworker.store.records.agent_hooks import HookFacts

MESSAGES_SHOWN = 20


def read_mail(reader: Reader, worker: str, facts: HookFacts) -> list[StoredMessage]:
    """Return the unread messages that concern a worker, one more than are shown at once."""
    if facts.newest <= facts.cursor:
        return []
    from gitworker.model.message import AUTOMATIC  # 0.5 ms, only for messages
    from gitworker.store.messages.inboxes import inbox_messages

    return inbox_messages(
        reader, worker, task=facts.task_id, automatic=AUTOMATIC, limit=MESSAGES_SHOWN + 1
    )


def mail_text(context: HookContext, news: News) -> str:
    """Return the unread messages in words, each with the command that settles it."""
    task = news.facts.task_id
    if task is None or not news.mail:
        return ""
    from gitworker.model.message import MessageType

    shown = [  # all but those that only assign the task that the agent works on
        one
        for one in news.mail[:MESSAGES_SHOWN]
        if one.type != MessageType.TASK_ASSIGN or one.correlation_id != task
    ]
    if not shown:
        return ""
    from gitworker.agents.hooks.texts import text_of_mail  # 30 ms, only for messages

    return text_of_mail(context, shown, task)


def read_upto(news: News) -> int | None:
    """Return the position up to which an agent has read the bus with all its mail; or None.

    Broadcasts that do not concern its task count as read.
    """
    if not news.mail:
        return None
    has_more = len(news.mail) > MESSAGES_SHOWN
    return news.mail[MESSAGES_SHOWN - 1].seq if has_more else news.facts.newest
