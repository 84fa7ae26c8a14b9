"""Registered agents: their fields, and the tasks that they may take."""

import pytest

from gitworker.errors import Invalid
from gitworker.model.agent import AgentState
from gitworker.tasks.agents.rules_registered import (
    has_room,
    parse_capabilities,
    parse_env,
    require_number,
    unfit_words,
)


def test_words_of_the_command_line() -> None:
    """Variables and capabilities are read in order, each once; bad ones are refused."""
    assert parse_env(["A=1", "B=x=y", "A=2"]) == (("A", "2"), ("B", "x=y"))
    assert parse_capabilities(["python,sql", "python"]) == ("python", "sql")
    for bad in ("A", "=1", "1A=2", "A\0B=1", "A=\0"):
        with pytest.raises(Invalid):
            parse_env([bad])
    for bad in ("", "a b", "-a"):
        with pytest.raises(Invalid):
            parse_capabilities([bad])
    with pytest.raises(Invalid):
        require_number(0)
    require_number(1)


def test_an_agent_has_room() -> None:
    """An agent gets a task if it is usable, not paused, and below its number of tasks."""
    assert has_room(AgentState.BUSY, at_work=1, tasks=2, is_paused=False)
    assert not has_room(AgentState.BUSY, at_work=2, tasks=2, is_paused=False)
    assert not has_room(AgentState.IDLE, at_work=0, tasks=2, is_paused=True)
    assert not has_room(AgentState.ERROR, at_work=0, tasks=2, is_paused=False)


def test_words_about_a_task_that_no_agent_fits() -> None:
    """The wish and the capabilities are named, and the command registers such an agent."""
    assert unfit_words(required=(), wish="codex") == (
        "no registered agent can take it: it names the agent codex",
        "git worker agent add --type codex <name>",
    )
    _, command = unfit_words(required=("a; b",), wish="x y")
    assert command == "git worker agent add --type 'x y' --capability 'a; b' <name>"
    assert unfit_words(required=("sql", "web"), wish=None) == (
        "no registered agent can take it: it requires the capabilities sql, web",
        "git worker agent add --type '<type>' --capability sql --capability web <name>",
    )


def test_words_about_a_task_whose_agents_are_on_machines_that_have_left() -> None:
    """A task that wishes nothing still has words and a command."""
    assert unfit_words(required=(), wish=None) == (
        "no registered agent can take it: it has no agent on a machine that is in the fleet",
        "git worker agent add --type '<type>' <name>",
    )
