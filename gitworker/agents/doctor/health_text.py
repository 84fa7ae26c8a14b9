"""The agents with their health, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.agents.doctor.rules_problems import AgentHealth, Problem
from gitworker.observe.text import BOLD, GREEN, NOTHING, RED, one_line, paint, table

if TYPE_CHECKING:
    from gitworker.agents.doctor.diagnose import AgentDoctor

HEAD = ("AGENT", "VERSION", "COMMITS", "BUS", "PROBED IN")
YES, NO, BROKEN = "yes", "no", "broken"
PLACES = {"sandbox": "its sandbox", "shell": "a plain shell"}
COLORS = {YES: GREEN, NO: RED, BROKEN: RED}
METHOD = (
    "Probed without a model, in a throw-away repository: git commit and git worker msg send, in the"
    "\nagent's own sandbox if it offers a command for that, else in a plain shell."
)


def render_agent_doctor(found: AgentDoctor, *, width: int | None, color: bool) -> str:
    """Return a table of the installed agents, the problems with their repairs, and the others."""
    installed = [one for one in found.agents if one.path is not None or one.problems]
    lines = []
    if installed:
        colors = {1: COLORS, 2: COLORS, 3: COLORS}
        rows = [_cells(one) for one in installed]
        lines += [*table(HEAD, rows, width=width, colors=colors, color=color), "", METHOD]
    for name, problems in (("", found.problems), *((one.agent, one.problems) for one in installed)):
        for problem in problems:
            lines += ["", *_problem(name, problem, color=color)]
    others = [one for one in found.agents if one not in installed]
    if others:
        title = "Not installed:" if installed else "No known agent is installed. To install one:"
        size = max(len(one.agent) for one in others)
        lines += ["", title, *(f"  {one.agent:<{size}}  {one_line(one.install)}" for one in others)]
    if installed:
        count = sum(len(one.problems) for one in installed) + len(found.problems)
        summary = "no problem" if not count else f"{count} problem{'s' if count > 1 else ''}"
        lines += ["", paint(summary, BOLD, color=color)]
    return "\n".join(lines).lstrip("\n")


def json_agent_doctor(found: AgentDoctor) -> dict[str, Any]:
    """Return the agents and the problems as JSON data."""
    return {
        "healthy": found.is_healthy,
        "agents": [_agent(one) for one in found.agents],
        "problems": [one._asdict() for one in found.problems],
    }


def _cells(one: AgentHealth) -> tuple[str, ...]:
    failed = any(problem.code.startswith("version_") for problem in one.problems)
    version = BROKEN if failed or one.path is None else one.version or NOTHING
    place = PLACES.get(one.probed or "", NOTHING)
    return (one.agent, version, _answer(one.commits), _answer(one.reaches_bus), place)


def _answer(value: bool | None) -> str:
    return NOTHING if value is None else YES if value else NO


def _problem(name: str, problem: Problem, *, color: bool) -> list[str]:
    subject = f"{name}: " if name else ""
    message = paint(f"{subject}{one_line(problem.message)}", RED, color=color)
    return [message, f"→ {one_line(problem.repair)}"]


def _agent(one: AgentHealth) -> dict[str, Any]:
    return {
        "agent": one.agent,
        "installed": one.path is not None,
        "path": one.path,
        "version": one.version,
        "probed": one.probed,
        "commits": one.commits,
        "reaches_bus": one.reaches_bus,
        "problems": [problem._asdict() for problem in one.problems],
        "install": one.install or None,
    }
