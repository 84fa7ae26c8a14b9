"""The caller of an agent's hook, the news for its agent, and the answer. On the hot path."""

from __future__ import annotations

from gitworker.agents.hooks.rules_dialects import CONTEXT, PLAIN, SILENT

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.agents.hooks.rules_dialects import AgentEvent
    from gitworker.errors import GitWorkerError
    from gitworker.paths import Repository, StatePaths
    from gitworker.session import Session
    from gitworker.store.api import Store
    from gitworker.store.messages.mailbox import StoredMessage
    from gitworker.store.records.agent_hooks import HookFacts


class HookContext:
    """The worker whose agent calls, in its repository and store; `open_session` opens a session.

    `lease_ms` is the lease of its claims. `is_supervised`: our supervisor has started the agent.
    `hands_in`: at the end of a turn, finished work is to be handed in. `given` is the input.
    """

    __slots__ = (
        "given", "hands_in", "is_supervised", "lease_ms", "open_session", "paths", "repository",
        "store", "worker",
    )  # fmt: skip

    def __init__(
        self,
        worker: str,
        repository: Repository,
        store: Store,
        paths: StatePaths,
        *,
        open_session: Callable[[], Session],
        lease_ms: int,
        is_supervised: bool = False,
        hands_in: bool = False,
        given: bytes = b"",
    ) -> None:
        self.worker = worker
        self.repository = repository
        self.store = store
        self.paths = paths
        self.open_session = open_session
        self.lease_ms = lease_ms
        self.is_supervised = is_supervised
        self.hands_in = hands_in
        self.given = given


class News:
    """The facts of a worker at one moment, its unread messages and the claims that it has lost."""

    __slots__ = ("facts", "lost", "mail")

    def __init__(self, facts: HookFacts, mail: list[StoredMessage], lost: list[str]) -> None:
        self.facts = facts
        self.mail = mail
        self.lost = lost


class Answer:
    """The text for the agent, "" for silence.

    `upto` is the position on the bus that the agent has read with it. `has_published`: followers
    of the bus must be woken.
    """

    __slots__ = ("has_published", "text", "upto")

    def __init__(
        self, text: str = "", *, upto: int | None = None, has_published: bool = False
    ) -> None:
        self.text = text
        self.upto = upto
        self.has_published = has_published


def text_of_error(error: GitWorkerError) -> str:
    """Return the words of an error with its hint, for an agent."""
    return f"{error.message}\n    {error.hint}" if error.hint else error.message


def answer_of(event: AgentEvent, text: str) -> str:
    """Return the line on standard output that gives a text to the agent; "" without a text."""
    if not text or event.form == SILENT:
        return ""
    if event.form == PLAIN:
        return text
    from gitworker.bus.files.json_line import json_value

    if event.form == CONTEXT:
        return (
            f'{{"hookSpecificOutput": {{"hookEventName": {json_value(event.name)},'
            f' "additionalContext": {json_value(text)}}}}}'
        )
    return f'{{"decision": {json_value(event.form)}, "reason": {json_value(text)}}}'
