"""The call of a known agent: its adapter, its program, the session that it continues."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.agents.adapters.agent_call import AgentCall
from gitworker.agents.adapters.find_adapter import adapter_names, find_adapter
from gitworker.agents.command import require_program
from gitworker.errors import Invalid, NotFound, Refused
from gitworker.rules_text import quoted
from gitworker.store.records.run_results import find_run_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.agents.adapters.rules_adapter import Adapter
    from gitworker.session import Session
    from gitworker.store.workers import Worker

COMMAND_TYPE = "command"  # an agent that is no known one
PIP = "pip install 'gitworker[acp]'"


def find_agent(
    session: Session,
    name: str,
    *,
    options: Sequence[str] = (),
    prompt: str | None = None,
    continued: Worker | None = None,
) -> AgentCall:
    """Return the call of a known agent; it continues the last session of a worker's task.

    Raises the errors of `find_adapter`, NotFound if the program is not installed, and Refused if
    there is no session of this agent, or if it cannot continue one.
    """
    adapter = find_adapter(session, name)
    _require_installed(adapter, options)
    last = None if continued is None else _last_session(session, adapter, continued)
    prices = session.settings.agents_prices
    return AgentCall(adapter, options=options, prompt=prompt, session=last, prices=prices)


def require_agent_type(session: Session, name: str, command: Sequence[str]) -> None:
    """Raise unless an agent of this type can be started: a known one, or the type `command`.

    Raises the errors of `find_agent`; those for an unknown type name the known ones.
    """
    if name != COMMAND_TYPE:
        try:
            find_agent(session, name, options=command)
        except NotFound as error:
            if error.code == NotFound.code:
                error.detail = f"known types: {', '.join(sorted(adapter_names(session)))}, command"
            raise
    elif command:
        require_program(command[0], os.environ, directory=None)
    else:
        raise Invalid(
            "an agent of the type command needs its command",
            "git worker agent add -h", code="usage",
        )  # fmt: skip


def _require_installed(adapter: Adapter, options: Sequence[str]) -> None:
    words = adapter.words(options=options, session=None, paths={})
    if not words:
        raise Invalid(
            f"agent {adapter.name} requires the command of an agent that speaks the protocol",
            f"git worker exec <worker> --agent {adapter.name} -- <command>",
            code="usage",
        )
    if adapter.speaks_acp:
        _require_library(adapter)
    program = words[0]
    try:
        require_program(program, os.environ, directory=None)
    except NotFound:
        if adapter.install == PIP:
            raise  # the program is not part of the adapter
        hint = f"git config worker.agents.{adapter.name}.command <command>"
        if len(parts := program.split()) > 1:  # each word of a command is a line
            lines = " ".join(map(quoted, parts))
            name = f"worker.agents.{adapter.name}.command"
            hint = f"git config --replace-all {name} \"$(printf '%s\\n' {lines})\""
        raise NotFound(
            f"agent {adapter.name} is not installed: {ascii(program)[:80]} is not on PATH",
            adapter.install or hint,
            code="agent_missing",
        ) from None


def _require_library(adapter: Adapter) -> None:
    from importlib.util import find_spec  # 4 ms, only for this protocol

    if find_spec("acp") is None:
        raise NotFound(
            f"agent {adapter.name} needs the package agent-client-protocol, which is not installed",
            PIP,
            code="agent_missing",
        )


def _last_session(session: Session, adapter: Adapter, worker: Worker) -> str:
    with session.store.read() as reader:
        last = find_run_result(reader, worker.worker_id, worker.task_id)
    hint = f"git worker exec {worker.worker_id} --agent {adapter.name} -m <text>"
    if last is None or last.session is None or last.agent != adapter.name:
        raise Refused(
            f"worker {worker.worker_id} has no session of {adapter.name} to continue",
            hint,
        )
    if not adapter.can_resume:
        raise Refused(
            f"agent {adapter.name} cannot continue a session",
            hint,
        )
    return last.session
