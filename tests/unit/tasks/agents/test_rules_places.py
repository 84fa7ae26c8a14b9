"""The machines of a fleet on which an agent can do a task."""

from typing import NamedTuple

import pytest

from gitworker.tasks.agents.rules_places import (
    Place,
    Places,
    TaskKind,
    find_elsewhere,
    find_lacking,
    may_take,
)


class Agent(NamedTuple):
    """A registered agent."""

    name: str
    agent_type: str = "claude"
    capabilities: tuple[str, ...] = ()
    machine: str | None = None


ADA = Agent("ada", capabilities=("python", "sql"))
GAMMA, DELTA = Place("gamma", ("gpu",)), Place("delta", ("gpu", "disk"), is_silent=True)
PLACES = Places(Place("alpha", ("mac",)), (GAMMA, DELTA), frozenset({"mac", "gpu", "disk", "tape"}))


@pytest.mark.parametrize(
    ("required", "wish", "fits"),
    [
        ((), None, True), (("python",), None, True), (("rust",), None, False),
        ((), "ada", True), ((), "claude", True), ((), "codex", False),
    ],
)  # fmt: skip
def test_an_agent_fits_a_task(required: tuple[str, ...], wish: str | None, fits: bool) -> None:
    """An agent has the capabilities of its task, and the name or type that the task names."""
    assert may_take(ADA, Place(), TaskKind(wish, required)) is fits


def test_the_capabilities_of_a_machine_count_like_those_of_an_agent() -> None:
    """An agent can take a task if itself or its machine has each capability."""
    kind = TaskKind(None, ("python", "mac"))
    assert may_take(ADA, PLACES.here, kind)
    assert not may_take(ADA, GAMMA, kind)
    assert find_elsewhere(kind, [ADA], PLACES) is None


def test_a_task_for_other_machines() -> None:
    """The machines that have what a task requires are named, and whether they are silent."""
    assert find_elsewhere(TaskKind(None, ("gpu",)), [ADA], PLACES) == (
        "only the machines gamma or delta (silent) can run it: it requires the capability gpu",
        "git worker fleet status",
    )
    disk = find_elsewhere(TaskKind(None, ("disk", "sql")), [ADA], PLACES)
    assert disk is not None
    assert disk.reason == (
        "only the machine delta (silent) can run it: it requires the capabilities disk, sql"
    )
    assert find_elsewhere(TaskKind(None, ("gpu", "rust")), [ADA], PLACES) is None
    assert find_elsewhere(TaskKind("bob", ("gpu",)), [ADA], PLACES) is None


def test_a_person_vouches_for_a_named_agent() -> None:
    """In a run of one agent only the capabilities that a machine has, or had, decide."""
    assert find_lacking(TaskKind(None, ("rust", "mac")), None, PLACES) is None
    assert find_lacking(TaskKind(None, ("gpu",)), None, Places()) is None
    own = Agent("bob", capabilities=("gpu",))
    assert find_lacking(TaskKind(None, ("gpu",)), own, PLACES) is None
    found = find_lacking(TaskKind(None, ("rust", "disk")), ADA, PLACES)
    assert found is not None
    assert found.reason.endswith("delta (silent) can run it: it requires the capability disk")
    assert find_lacking(TaskKind(None, ("tape", "gpu")), ADA, PLACES) == (
        "no machine of the fleet can run it: it requires the capabilities tape, gpu",
        "git worker fleet edit --capability tape --capability gpu",
    )


def test_an_agent_of_one_machine() -> None:
    """It takes tasks there only; without it the reason is that, or what the task requires."""
    eve = Agent("eve", machine="gamma")
    assert may_take(eve, GAMMA, TaskKind())
    assert not may_take(eve, PLACES.here, TaskKind())
    only = "only the machine gamma can run it: its agent runs only there"
    for found in (
        find_elsewhere(TaskKind("eve"), [ADA, eve], PLACES),
        find_lacking(TaskKind("eve"), eve, PLACES),
    ):
        assert found == (only, "git worker fleet status")
    assert find_elsewhere(TaskKind(), [ADA, eve], PLACES) is None
    assert find_lacking(TaskKind(), eve._replace(machine="old"), PLACES) == (
        "its agent runs only on a machine that has left the fleet", None,
    )  # fmt: skip
