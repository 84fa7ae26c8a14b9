"""`exec` without click: an agent begins within eight bare interpreter starts."""

from __future__ import annotations

from gitworker.agents.launch import LaunchContext
from gitworker.agents.rounds.supervise_rounds import supervise_rounds
from gitworker.agents.rules_run import UnfinishedOperation
from gitworker.agents.supervise import RunRequest, SupervisedRun
from gitworker.bus.caller.identity import ambiguous_caller
from gitworker.cli.hot.place import HotContext, find_hot_context
from gitworker.cli.hot.words import FLAG, SECONDS_MAX, split_words
from gitworker.cli.output import complain, document, narrate, silence
from gitworker.errors import NEEDS_LINK, GitWorkerError, Unavailable

OPTIONS = {
    "--time-limit": "S", "--as": "ID", "--json": FLAG, "--supervisor": FLAG,
    "--no-auto-resume": FLAG,
}  # fmt: skip
END_OF_OPTIONS = "--"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitworker.agents.launch import AgentRun
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
    is_supervisor = "--supervisor" in values
    if is_supervisor != ("--json" in values):  # `exec --json` prints the end of the agent, too
        return None
    request = _request(program, values)
    if request is None:
        return None
    try:
        ended = _exec(values.get("--as"), rest[0] if rest else None, request)
    except UnfinishedOperation:  # the full command settles the interrupted operation
        return None
    except GitWorkerError as error:
        if not is_supervisor or error.code == NEEDS_LINK:  # which runs again, with a link
            raise
        return complain(error, as_json=True)
    if ended is None:
        return None
    narrate(ended.message)
    return ended.status


def supervisor(request: RunRequest) -> RunRequest:
    """Return the request of a supervisor whose caller waits for the start only."""
    request.on_start = _report_start
    request.is_silent = request.is_detached = True
    return request


def run_fields(run: AgentRun) -> dict[str, Any]:
    """Return a run that has begun as the fields of a JSON document."""
    return {
        "worker": run.worker, "task": run.task, "worktree": run.worktree, "run": run.id,
        "pid": run.pid, "command": run.command,
    }  # fmt: skip


def _report_start(run: AgentRun) -> None:
    from contextlib import suppress  # 2 ms, only for a supervisor

    with suppress(OSError, Unavailable):  # the caller has ended; the agent needs us all the same
        document(run_fields(run))
    silence()


def _request(program: list[str], values: dict[str, str]) -> RunRequest | None:
    """Return the request that the options make; None if click must report its time limit."""
    try:
        limit_s = float(values["--time-limit"]) if "--time-limit" in values else None
    except ValueError:
        return None
    if limit_s is not None and not 0 < limit_s <= SECONDS_MAX:
        return None
    request = RunRequest(program, time_limit_s=limit_s)
    request.auto_resume = False if "--no-auto-resume" in values else None
    return supervisor(request) if "--supervisor" in values else request


def _exec(identity: str | None, name: str | None, request: RunRequest) -> SupervisedRun | None:
    """Supervise an agent; return None if the repository is not set up yet."""
    place = find_hot_context(identity, waits=True)
    if place is None:
        return None

    def open_session() -> Session:
        from gitworker.cli.call import CommandLine  # 40 ms, while the agent starts

        return CommandLine(identity).open_settled()

    return exec_at(place, name, request, open_session=open_session)


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
