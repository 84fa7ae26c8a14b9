"""The unread messages of an agent, for its hooks. On the hot path."""

from __future__ import annotations

from gitworker.model.message import AUTOMATIC, MessageType
from gitworker.store.messages.inboxes import inbox_messages

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
    return inbox_messages(
        reader, worker, task=facts.task_id, automatic=AUTOMATIC, limit=MESSAGES_SHOWN + 1
    )


def mail_text(context: HookContext, news: News) -> str:
    """Return the unread messages in words, each with the command that settles it."""
    task = news.facts.task_id
    shown = [one for one in news.mail[:MESSAGES_SHOWN] if not _is_own_assignment(one, task)]
    if task is None or not shown:
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


def _is_own_assignment(message: StoredMessage, task: str | None) -> bool:
    """Return whether a message only assigns the task that the agent works on."""
    return message.type == MessageType.TASK_ASSIGN and message.correlation_id == task
