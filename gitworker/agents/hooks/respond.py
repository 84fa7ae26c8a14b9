"""Answer one event of an agent's hook: a heartbeat, and news for the agent.

On the hot path: an event without news imports nothing heavy and starts no process. Messages stay
unread until the caller has printed the answer and calls `acknowledge`.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.agents.hooks.hook_context import Answer, HookContext, News
from gitworker.agents.hooks.rules_dialects import (
    FORGETS,
    PROMPT,
    START,
    STOP,
    WAITING,
)
from gitworker.agents.hooks.rules_session import (
    FORGOTTEN,
    NOT_BEGUN,
    begins_turn,
    due_beat,
    is_sign_of_work,
    needs_start,
    waits_for_work,
)
from gitworker.agents.hooks.unread_mail import mail_text, read_mail, read_upto
from gitworker.errors import Conflict
from gitworker.store.claims import lost_claims
from gitworker.store.records.agent_hooks import find_hook_facts, remember

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.agents.hooks.rules_dialects import AgentEvent
    from gitworker.store.records.agent_hooks import HookFacts


def respond(context: HookContext, event: AgentEvent) -> Answer | None:
    """Record an event of a worker's agent and return the answer.

    None if the caller is no worker with a task. Raises GitWorkerError or OSError if that fails.
    """
    with context.store.read() as reader:
        facts = find_hook_facts(reader, context.worker)
        if facts is None or facts.task_id is None:
            return None
        news = News(
            facts,
            read_mail(reader, context.worker, facts),
            [name for name, _ in lost_claims(reader, context.worker)],
        )
    before = facts.memory
    has_forgotten = facts.reason == FORGOTTEN and event.meaning == PROMPT
    if begins_turn(event.meaning, context.given):
        facts.stops, facts.reason = 0, None
    if event.meaning == FORGETS:
        facts.reason = FORGOTTEN
    if event.meaning == STOP:
        from gitworker.agents.hooks.stop_gate import (
            end_turn,  # git: 25 ms, at the end of a turn only
        )

        answer = end_turn(context, event, news)
    else:
        answer = _inform(context, event, news, has_forgotten=has_forgotten)
    try:
        if not answer.text or event.meaning != STOP:
            answer.has_published = _send_beat(context, news, event.meaning)
        if facts.memory != before:
            remember(context.store, context.worker, facts)
    except Conflict:  # the database is busy: the next event writes, but news cannot wait
        # An agent is never kept at work without a count, and a question has no next event.
        if event.meaning in (STOP, WAITING):
            raise
    return answer


def acknowledge(context: HookContext, answer: Answer) -> None:
    """Record that the agent has read the messages of an answer."""
    if answer.upto is not None:
        from gitworker.store.messages.mailbox import acknowledge_message

        acknowledge_message(context.store, context.worker, answer.upto, now=clock.now_ms())


def _send_beat(context: HookContext, news: News, meaning: str) -> bool:
    """Send the heartbeat that an event calls for; return whether a message was published."""
    facts = news.facts
    age_ms = None if facts.beat_ms is None else clock.now_ms() - facts.beat_ms
    due = due_beat(
        meaning, state=facts.state, status=facts.status, set_status=facts.set_status,
        age_ms=age_ms,
    )  # fmt: skip
    if due is None:
        return False
    from gitworker.bus.heartbeat_message import (  # 1 ms, for at most one event in five seconds
        HeartbeatReport,
        send_heartbeat,
    )

    if due.status is not None:
        facts.set_status = due.status
    sign = HeartbeatReport(due.status)
    has_published = send_heartbeat(
        context.store, context.paths, worker=context.worker, sign=sign, lease_ms=context.lease_ms
    )
    if is_sign_of_work(meaning) and waits_for_work(
        facts.state, is_interrupted=facts.is_interrupted
    ):
        from gitworker.agents.hooks.begin_work import is_due  # 3 ms, until the work has begun

        if is_due(context.paths, context.worker, facts.version):
            _begin_work(context, news)
    return has_published


def _inform(context: HookContext, event: AgentEvent, news: News, *, has_forgotten: bool) -> Answer:
    """Return the news; at the start of a session, the work begins and the agent is introduced.

    An agent that `has_forgotten` its introduction gets it again.
    """
    if event.meaning in (WAITING, FORGETS):
        return Answer()
    parts = []
    if event.meaning == START:
        is_supervised = context.is_supervised
        is_bound = not is_supervised and _is_bound(news.facts)
        if needs_start(news.facts.state, is_supervised=is_supervised, is_bound=is_bound):
            _begin_work(context, news)
    if event.meaning == START or has_forgotten:
        from gitworker.agents.hooks.texts import introduction

        parts.append(introduction(context, news))
    parts += [_lost_text(context, news), mail_text(context, news)]
    if is_sign_of_work(event.meaning):
        parts.append(_refused_text(context, news))
    return Answer("\n\n".join(part for part in parts if part), upto=read_upto(news))


def _is_bound(facts: HookFacts) -> bool:
    """Return whether the process of a worker is known to run, and its task is not interrupted."""
    if facts.pid is None or facts.waits_for_author or facts.is_paused:
        return False
    from gitworker.liveness.process_origin import is_local  # 1 ms, once a session
    from gitworker.processes.table import is_running

    return (
        is_local((facts.host, facts.boot_id, facts.pid_ns))
        and is_running(facts.pid, facts.pid_start) is True
    )


def _begin_work(context: HookContext, news: News) -> None:
    """Let a job start the worker, unless its task is lost, which the agent learns with the claims.

    If the job is refused, the agent's next event reports that, and the end of its turn repeats it.
    """
    if news.facts.task_id in news.lost:
        return
    from gitworker.agents.hooks.begin_work import start_begin_job  # 3 ms, once a session

    start_begin_job(context.repository.common_dir, context.worker)
    news.facts.state = "WORKING"


def _refused_text(context: HookContext, news: News) -> str:
    """Return the refusal to begin the work, once; the end of this turn does not repeat it."""
    facts = news.facts
    if not waits_for_work(facts.state, is_interrupted=facts.is_interrupted):
        return ""
    from gitworker.agents.hooks.begin_work import take_refusal  # 3 ms, until the work has begun

    refusal = take_refusal(context.paths, context.worker, facts.version)
    if not refusal:
        return ""
    facts.reason = NOT_BEGUN
    return f"{NOT_BEGUN}{refusal}"


def _lost_text(context: HookContext, news: News) -> str:
    """Return the claims that were lost since the last report; the loss of a task comes once."""
    facts = news.facts
    known = set(facts.lost.split("\n"))
    facts.lost = "\n".join(name for name in news.lost if name == facts.task_id)
    if known.issuperset(news.lost):
        return ""
    from gitworker.bus.heartbeat_message import require_claims_kept

    try:
        require_claims_kept(context.store, context.worker)
    except Conflict as error:
        return f"{error.message}\n    {error.hint}"
    return ""
