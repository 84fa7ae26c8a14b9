"""The end of an agent's turn: reasons to keep it at work, else the hand-in. Starts `git status`.

A start of the work that no job could record is repeated first.
"""

from __future__ import annotations

from gitworker.agents.hooks.hook_context import Answer, text_of_error
from gitworker.agents.hooks.rules_dialects import SILENT
from gitworker.agents.hooks.rules_session import (
    ASSIGNED,
    AT_WORK,
    MESSAGES,
    NOT_BEGUN,
    RETURNED,
    UNCOMMITTED,
    may_keep,
)
from gitworker.agents.hooks.unread_mail import mail_text, read_upto
from gitworker.errors import GitWorkerError
from gitworker.model.ids import Branch
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.checkout_status import end_command, open_operation, read_status

TYPE_CHECKING = False  # `typing` costs 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.agents.hooks.hook_context import HookContext, News
    from gitworker.agents.hooks.rules_dialects import AgentEvent

FILES_SHOWN = 5
EMPTY = "empty_branch"


def end_turn(context: HookContext, event: AgentEvent, news: News) -> Answer:
    """Return the reason that keeps the agent at work; without one, hand its work in.

    The agent ends if the same reason kept it before, or if it was kept too often in a row.
    """
    facts = news.facts
    has_reason = False
    for key, text in _reasons(context, news):
        has_reason = True
        if event.form != SILENT and may_keep(key, stops=facts.stops, last=facts.reason):
            facts.stops, facts.reason = facts.stops + 1, key
            return Answer(text, upto=read_upto(news) if key.startswith(MESSAGES) else None)
    if has_reason or not context.hands_in or facts.state not in AT_WORK:
        return Answer()
    refusal = _hand_in(context, news)
    if refusal and event.form != SILENT and may_keep(refusal, stops=facts.stops, last=facts.reason):
        facts.stops, facts.reason = facts.stops + 1, refusal
        return Answer(refusal)
    return Answer()


def _reasons(context: HookContext, news: News) -> Iterator[tuple[str, str]]:
    """Yield the reasons to go on, most urgent first: a key that identifies it, a text."""
    facts = news.facts
    text = mail_text(context, news)
    if text:
        yield f"{MESSAGES} {news.mail[-1].seq}", text
    if facts.state not in AT_WORK:
        return
    refusal = _begin_work(context, news)
    if refusal:
        yield NOT_BEGUN, f"{NOT_BEGUN}{refusal}"
    git = Git(context.repository.top or context.repository.git_dir)
    if facts.returned_by is not None and _tip(git, context, news) == facts.returned_tip:
        from gitworker.agents.hooks.texts import text_of_return  # 30 ms, for returned work only

        yield f"{RETURNED} {facts.returned_tip}", text_of_return(context)
    busy = open_operation(context.repository.git_dir)
    if busy is not None:
        ways = "git worker sync --continue" if busy == "rebase" else f"git {end_command(busy)}"
        yield f"{UNCOMMITTED} {busy}", f"A {busy} is open here.\n    {ways}"
        return
    status = read_status(git)
    if not status.is_clean:
        paths = (*status.paths, *status.untracked_paths)
        listed = ", ".join(paths[:FILES_SHOWN])
        more = f" and {len(paths) - FILES_SHOWN} more" if len(paths) > FILES_SHOWN else ""
        yield (
            UNCOMMITTED,
            f"Not committed: {listed}{more}. Uncommitted work is not handed in.\n"
            "    git add <files> && git commit -m <message>",
        )


def _begin_work(context: HookContext, news: News) -> str:
    """Begin work whose start was not recorded; return the refusal, "" without one."""
    if news.facts.state != ASSIGNED or news.facts.task_id in news.lost:
        return ""
    from gitworker.agents.hooks.begin_work import begin_now  # 100 ms, if no job could begin it

    return begin_now(context.open_session(), context.worker)


def _tip(git: Git, context: HookContext, news: News) -> str | None:
    branch = news.facts.branch
    if branch is None:
        return None
    from gitworker.model.ref_names import ref_of  # 1 ms, for returned work and hand-ins only
    from gitworker.repo.plumbing.refs import find_tip

    return find_tip(git, context.repository.common_dir, ref_of(Branch(branch)))


def _hand_in(context: HookContext, news: News) -> str:
    """Hand in a branch that has moved since its fork point; return the refusal, "" without one."""
    git = Git(context.repository.top or context.repository.git_dir)
    if _tip(git, context, news) in (None, news.facts.base_oid):
        return ""
    from gitworker.workers.submit import Submission, submit  # 100 ms, for finished work only

    try:
        submit(context.open_session(), context.worker, Submission())
    except GitWorkerError as error:
        if error.code == EMPTY:
            return ""
        return f"The work cannot be handed in: {text_of_error(error)}"
    return ""
