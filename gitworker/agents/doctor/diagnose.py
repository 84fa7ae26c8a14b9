"""agents doctor: ask every installed agent for its version, and probe its shell without a model.

No agent is started with a prompt, and no setting of an agent is read or written by us.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.agents.adapters.find_adapter import adapter_names, find_adapter
from gitworker.agents.doctor.probe_place import (
    ProbePlace,
    finish_probe,
    probe_place,
    start_probe,
)
from gitworker.agents.doctor.rules_problems import (
    NAMESPACE_SETTINGS,
    AgentHealth,
    ProbeResult,
    Probes,
    Problem,
    common_problems,
    find_version,
    probe_problems,
    signing_settings,
    version_problems,
)
from gitworker.agents.environment.identity import IdentityQuestion
from gitworker.agents.environment.own_program import NAME, find_own_program
from gitworker.errors import GitWorkerError
from gitworker.paths import open_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.agents.adapters.rules_adapter import Adapter
    from gitworker.session import Session

VERSION_S = 20.0  # for all programs together; a program in Python or Node needs up to 5 s
READ_S = 0.5  # to read the answer of a program that ended while we waited for another


class AgentDoctor(NamedTuple):
    """Every known agent, and the problems that concern all of them."""

    agents: tuple[AgentHealth, ...]
    problems: tuple[Problem, ...]

    @property
    def is_healthy(self) -> bool:
        """Return whether no problem was found; an agent that is not installed is not one."""
        return not self.problems and not any(one.problems for one in self.agents)


def diagnose_agents(session: Session) -> AgentDoctor:
    """Return the health of the known agents, the repository's and the user's."""
    identity = IdentityQuestion(session.main_top)
    path = os.environ.get("PATH", os.defpath)
    program = find_own_program(started_as=sys.argv[0], interpreter=sys.executable, path=path)
    adapters: list[Adapter] = []
    broken: list[AgentHealth] = []
    for name in adapter_names(session):
        try:
            adapter = find_adapter(session, name)
            adapters += [adapter] if adapter.has_program else []
        except GitWorkerError as error:  # its table is wrong, or not trusted
            problem = Problem(error.code, error.message, error.hint or "git worker config")
            broken.append(AgentHealth(name, "", "", problems=(problem,)))
    installed = [one for one in adapters if shutil.which(one.command[0])]
    answers = ask_versions(installed)
    variables = identity.answer()
    common = common_problems(variables, program, is_on_path=shutil.which(NAME) is not None)
    whole = [one for one in installed if not _fails(answers[one.name])]
    probes: dict[str, Probes] = {}
    if whole:
        settings = signing_settings(session.git_config)
        with probe_place(session.paths.root, variables, program, settings=settings) as place:
            probes = _probe_all(place, whole)
    found = [_health(one, answers.get(one.name), probes.get(one.name)) for one in adapters]
    return AgentDoctor((*(_without(one, common) for one in found), *broken), common)


def ask_versions(adapters: Sequence[Adapter]) -> dict[str, ProbeResult | None]:
    """Return the answer of each program to the question for its version, asked all at once.

    An agent whose table has no such question is not asked: it could begin to work.
    """
    asked = [one for one in adapters if one.version]
    running = {one.name: start_probe(one.version, cwd="/", env=os.environ) for one in asked}
    deadline_ms = clock.monotonic_ms() + int(VERSION_S * 1000)
    found: dict[str, ProbeResult | None] = {one.name: None for one in adapters}
    try:
        for name, process in running.items():
            left_s = (deadline_ms - clock.monotonic_ms()) / 1000
            found[name] = finish_probe(process, max(READ_S, left_s))
    finally:
        for process in running.values():
            if process is not None:
                process.abandon()
    return found


def _probe_all(place: ProbePlace, adapters: Sequence[Adapter]) -> dict[str, Probes]:
    """Probe every agent; those without a sandbox of their own share the probe of a plain shell."""
    plain = next((place.probe(one) for one in adapters if not one.probe), None)
    found = {one.name: place.probe(one) for one in adapters if one.probe}
    return found | {one.name: plain for one in adapters if not one.probe and plain is not None}


def _fails(answer: ProbeResult | None) -> bool:
    return answer is not None and answer.status != 0


def _health(adapter: Adapter, answer: ProbeResult | None, probes: Probes | None) -> AgentHealth:
    renewal = adapter.install or f"git config worker.agents.{adapter.name}.command <command>"
    program = adapter.command[0]
    health = AgentHealth(adapter.name, program, renewal, path=shutil.which(program))
    if health.path is None:
        return health
    problems = version_problems(adapter.version, answer, renewal)
    if probes is not None:
        problems += probe_problems(probes, renewal, _system())
        health = health._replace(
            probed=probes.place, commits=probes.commit.status == 0,
            reaches_bus=probes.message.status == 0,
        )  # fmt: skip
    version = None if answer is None else find_version(answer)
    return health._replace(version=version, problems=problems)


def _without(health: AgentHealth, common: Sequence[Problem]) -> AgentHealth:
    """Return the health without a failed commit that the missing identity explains."""
    if not any(one.code == "identity" for one in common):
        return health
    return health._replace(problems=tuple(one for one in health.problems if one.code != "commit"))


def _system() -> dict[str, str]:
    """Return the settings of the system that concern user namespaces."""
    found = {}
    for name in NAMESPACE_SETTINGS:
        try:
            with open(f"/proc/sys/{name.replace('.', '/')}", opener=open_regular) as file:
                found[name] = file.read().strip()
        except OSError:  # not this system's
            continue
    return found
