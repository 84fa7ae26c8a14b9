"""`exec` without click: an agent begins within eight bare interpreter starts."""

from __future__ import annotations

from gitworker.agents.launch import LaunchContext
from gitworker.agents.rounds.supervise_rounds import supervise_rounds
from gitworker.agents.rules import UnfinishedOperation
from gitworker.agents.supervise import RunRequest, SupervisedRun
from gitworker.bus.caller.identity import ambiguous_caller
from gitworker.cli.hot.place import HotContext, find_hot_context
from gitworker.cli.hot.words import SECONDS_MAX, split_words
from gitworker.cli.output import narrate

OPTIONS = {"--time-limit": "S", "--as": "ID"}
END_OF_OPTIONS = "--"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.session import Session


def run_exec(words: list[str]) -> int | None:
    """Supervise an agent and return its exit status; None if click must parse it."""
    if END_OF_OPTIONS not in words:
        return None
    at = words.index(END_OF_OPTIONS)
    split = split_words(words[:at], OPTIONS)
    program = words[at + 1 :]
    if split is None or len(split[1]) > 1 or not program:
        return None
    values, rest = split
    try:
        limit_s = float(values["--time-limit"]) if "--time-limit" in values else None
    except ValueError:
        return None
    if limit_s is not None and not 0 < limit_s <= SECONDS_MAX:
        return None
    identity = values.get("--as")
    place = find_hot_context(identity)
    if place is None:
        return None

    def open_session() -> Session:
        from gitworker.cli.call import CommandLine  # 40 ms, while the agent starts

        return CommandLine(identity).open_settled()

    request = RunRequest(program, time_limit_s=limit_s)
    try:
        ended = exec_at(place, rest[0] if rest else None, request, open_session=open_session)
    except UnfinishedOperation:  # the full command settles the interrupted operation
        return None
    narrate(ended.message)
    return ended.status


def exec_at(
    place: HotContext, name: str | None, request: RunRequest, *, open_session: Callable[[], Session]
) -> SupervisedRun:
    """Supervise an agent, and its rounds, for the worker with this name or the caller's worker."""
    if name is None and place.other is not None:
        raise ambiguous_caller(place.actor, place.other)
    lease_ms = place.limits.claims_lease_s * 1000
    post = LaunchContext(
        place.store, place.paths, place.actor, lease_ms=lease_ms,
        agent_limits=place.limits.agent_limits,
    )  # fmt: skip
    return supervise_rounds(post, name, request, open_session=open_session, report=narrate)
