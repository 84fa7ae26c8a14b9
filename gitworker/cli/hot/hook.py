"""`hook EVENT` without click: answer an agent's hook. It never stops the agent."""

from __future__ import annotations

import os
import select

from gitworker.agents.hooks.hook_context import Answer, HookContext, answer_of
from gitworker.agents.hooks.respond import acknowledge, respond
from gitworker.agents.hooks.rules_dialects import EVENTS, PLAIN, WAITING
from gitworker.cli.hot.place import HotContext, find_hot_context
from gitworker.model.ids import RESERVED

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.agents.hooks.rules_dialects import AgentEvent
    from gitworker.session import Session

STDIN = 0
INPUT_WAIT_MS = 1000  # an agent writes its input at once
CHUNK = 1 << 16
WRITE_WAIT_MS = 300  # the agent waits for us, and a heartbeat that is left out comes with the next
BLOCKED_WAIT_MS = 5000  # no event follows until a person has answered, and `inbox` must list that
WORKTREE = "GITWORKER_WORKTREE"  # `exec` sets it


def run_hook(words: list[str]) -> int | None:
    """Answer an event of an agent's hook and return 0; None if click must parse the words."""
    if len(words) != 1 or words[0] not in EVENTS:
        return None
    answer_event(EVENTS[words[0]], given=_read_input())
    return 0


def answer_event(event: AgentEvent, identity: str | None = None, *, given: bytes = b"") -> None:
    """Print the answer to an event; silent outside the worktrees of workers, and on a failure."""
    place = None
    try:
        place = find_hot_context(identity)
        if place is None or place.actor in RESERVED:
            return
        waits = event.meaning == WAITING
        place.store.wait_at_most(BLOCKED_WAIT_MS if waits else WRITE_WAIT_MS)
        context = _context(place, given)
        found = respond(context, event)
        if found is None:
            return
        _print(event, found)
        acknowledge(context, found)
        if found.has_published:
            place.notify()
    except Exception:  # noqa: BLE001 - the agent goes on without an answer
        if place is not None:
            _log_failure(place.paths.root, event.name)


def _context(place: HotContext, given: bytes) -> HookContext:
    def open_session() -> Session:
        from gitworker.cli.call import CommandLine  # 40 ms, if the work begins or is handed in
        from gitworker.progress import ignore

        return CommandLine(place.actor).open(ignore)

    return HookContext(
        place.actor,
        place.repository,
        place.store,
        place.paths,
        open_session=open_session,
        lease_ms=place.limits.claims_lease_s * 1000,
        is_supervised=WORKTREE in os.environ,
        hands_in=place.limits.agent_hand_in,
        given=given,
    )


def _print(event: AgentEvent, found: Answer) -> None:
    text = answer_of(event, found.text)
    if not text:
        return
    from gitworker.cli.output import answer, answer_line  # 0.5 ms, which a silent hook does not pay

    if event.form == PLAIN:
        answer(text)
    else:
        answer_line(text)


def _read_input() -> bytes:
    """Read the agent's input to its end: an agent could fail on a closed pipe. Return the start."""
    given = b""
    waiter = select.poll()
    waiter.register(STDIN, select.POLLIN)
    try:
        while not os.isatty(STDIN) and waiter.poll(INPUT_WAIT_MS):
            data = os.read(STDIN, CHUNK)
            if not data:
                break
            given = given if len(given) >= CHUNK else given + data
    except OSError:
        pass
    return given


def _log_failure(state: str, event: str) -> None:
    import traceback  # 10 ms, only for a failure

    from gitworker.hookentry import log_failure

    log_failure(state, f"hook {event}: {traceback.format_exc()}")
