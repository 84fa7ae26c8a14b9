"""The words of the hooks for an agent: its introduction, its messages.

On the hot path: every session begins with the introduction.
"""

from __future__ import annotations

from gitworker.agents.hooks.rules_session import AT_WORK
from gitworker.model.message import MessageType
from gitworker.rules_text import one_line
from gitworker.store.messages.inboxes import last_hand_in
from gitworker.store.records.runs import find_prompt

TYPE_CHECKING = False  # `typing` costs 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.agents.hooks.hook_context import HookContext, News
    from gitworker.store.messages.mailbox import StoredMessage

TASK_SHOWN = 6000  # agents cut a text of more than 10,000 characters
PAGE = """\
git commit -am 'Add the form'      as often as you like; every commit is published
git worker sync                    rebase onto the target, from time to time
git worker inbox                   your messages; git worker send <worker> <text> writes one
git worker heartbeat --status blocked     if you cannot go on
git worker done -m 'Works'         hand in: commit everything first
git worker fail -m 'Why'           give up
Commit on your branch only. Do not check out, merge or push the target, and do not approve your own
work. The whole guide: git worker help agent"""


def introduction(context: HookContext, news: News) -> str:
    """Return the identity of a worker, its task, its open return and the guide in short."""
    facts = news.facts
    assert facts.task_id is not None
    with context.store.read() as reader:
        task = find_prompt(reader, facts.task_id)
    if len(task) > TASK_SHOWN:
        task = f"{task[:TASK_SHOWN]}…\n(the whole text: git worker task text)"
    state = facts.state.lower().replace("_", " ")  # the words for it cost an import of 5 ms
    parts = [
        f"You are worker {context.worker} of git worker, on branch {facts.branch}, in a worktree"
        f" of your own. Your task is {facts.task_id}, your state: {state}."
    ]
    if task:
        parts.append(f"The text of your task:\n{task}")
    if facts.state in AT_WORK and facts.returned_by is not None and not has_verdict(news):
        parts.append(text_of_return(context))
    return "\n\n".join(part for part in (*parts, PAGE) if part)


def has_verdict(news: News) -> bool:
    """Return whether the unread messages contain a verdict on the worker's own task."""
    return any(
        one.type == MessageType.REVIEW_RESULT and one.correlation_id == news.facts.task_id
        for one in news.mail
    )


def text_of_return(context: HookContext) -> str:
    """Return the reason for which the work was sent back, with the next commands; or "".

    The review comments that are still open follow.
    """
    from gitworker.observe.workers.returned import returned_text, returned_work  # 20 ms, rarely
    from gitworker.review.comments.open_comments import open_comment_lines
    from gitworker.store.workers import load_worker

    with context.store.read() as reader:
        worker = load_worker(reader, context.worker)
        returned = returned_work(worker)
        comments = open_comment_lines(reader, worker, note=returned.note) if returned else []
    if returned is None:
        return ""
    command = "git worker sync" if returned.files else "git worker done   # after your next commit"
    head = f"Your work was sent back: {returned_text(returned, whole=True)}"
    return "\n".join([head, *(f"    {line}" for line in comments), f"    {command}"])


def text_of_mail(context: HookContext, messages: Sequence[StoredMessage], task: str) -> str:
    """Return messages in short lines, each with the command that settles it.

    Verdicts that a later hand-in has settled are left out.
    """
    from gitworker.observe.inbox.read_messages import open_messages  # 8 ms, only for messages
    from gitworker.observe.inbox.rules_comments import comment_lines
    from gitworker.observe.inbox.rules_messages import rest_command

    with context.store.read() as reader:
        handed_in = last_hand_in(reader, context.worker, task)
    items = list(open_messages(messages, blobs=context.paths.blobs, handed_in=handed_in))
    if not items:
        return ""
    lines = [f"git worker: {len(items)} unread message{'s' if len(items) > 1 else ''}"]
    for item in items:
        head = f"#{item.message.seq} {item.message.type} from {item.message.from_agent}"
        lines.append(one_line(f"{head}: {item.text}" if item.text else head))
        lines += [f"    {line}" for line in comment_lines(item.payload)]
        for command in (rest_command(item.text, item.message.seq), item.command):
            if command is not None:
                lines.append(f"    {one_line(command)}")
    return "\n".join(lines)
