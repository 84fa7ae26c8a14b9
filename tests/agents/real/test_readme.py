"""The first commands of the README, with a real agent."""

import re
import shlex
from pathlib import Path

import pytest

from fixtures.scripted_model.plans import Shell, Text
from fixtures.scripted_model.server import scripted_model
from tests.agents.real.machine import ROOT, make_machine, make_place, require_agent

pytestmark = pytest.mark.agents
WORK = (Shell("git commit --allow-empty -m Work"), Text("I did it."))


def test_first_screen(hermetic: Path) -> None:
    """The README's plan lands with the README's command and Claude Code."""
    require_agent("claude")
    screen = re.search(r"```console\n(.*?)```", ROOT.joinpath("README.md").read_text(), re.S)
    assert screen is not None
    show, *plan, command, _ = screen[1].splitlines()
    with scripted_model({"default": WORK}) as model:
        machine = make_machine(make_place("readme"), hermetic, model)
        machine.root.joinpath("Makefile").write_text("test-auth:\n\ttrue\n")
        machine.git("add", "Makefile")
        machine.git("commit", "-q", "-m", "Add tests")
        machine.root.joinpath(show.split()[-1]).write_text("\n".join(plan) + "\n")
        words = shlex.split(command.removeprefix("$ git worker "), comments=True)
        answer = machine.run(*words)
    assert answer.status == 0, answer
    rows = sorted(line.split("\t")[:2] for line in answer.out.splitlines() if "\t" in line)
    assert rows == [["check", "landed"], ["form", "landed"], ["menu", "landed"]]
    # Two agents that commit nothing on one commit within a second make one and the same commit.
    assert machine.git("log", "--format=%s", "main").split().count("Work") in (2, 3)
