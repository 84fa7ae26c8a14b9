"""The scripted model, and a repository whose agents reach nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.scripted_model.server import ScriptedModel, scripted_model
from tests.agents.real.machine import AgentMachine, make_machine, make_place
from tests.agents.real.plans import PLANS
from tests.agents.supervised import end_runs


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Serve the plans of these tests."""
    with scripted_model(PLANS) as served:
        yield served


@pytest.fixture
def machine(
    request: pytest.FixtureRequest, hermetic: Path, model: ScriptedModel
) -> Iterator[AgentMachine]:
    """Give a repository outside /tmp; agents and supervisors that still run are ended."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    made = make_machine(make_place(name) / "repo", hermetic, model)
    yield made
    end_runs(made.root / ".git/worker-state")
