"""Which registered agent takes a task in a run that names none."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.orchestrator.turns.rules_crew import (
    CrewAgent,
    Obstacle,
    Roster,
    TaskKind,
    find_other_machine,
    has_place,
    lacks,
    obstacle_of,
    parse_kind,
    takers_of,
)
from gitworker.tasks.agents.rules_places import Place, Places

ADA = CrewAgent("ada", "claude", ("python",), tasks=4, at_work=1)
BOB = CrewAgent("bob", "codex", ("python", "sql"), tasks=2)
CYD = CrewAgent("cyd", "codex", is_paused=True)
CREW = (ADA, BOB, CYD)
HERE = Place()


def test_the_least_utilised_agent_takes_a_task() -> None:
    """The agent with the smallest share of its tasks is next, then by name, then none."""
    roster = Roster(CREW, of_kind=Counter())
    takers = ("ada", "bob", "cyd")
    chosen = [roster.choose(takers) for _ in range(6)]
    assert chosen == ["bob", "ada", "ada", "bob", "ada", None]
    assert roster.has_passed
    other = Roster(CREW, of_kind=Counter())
    other.note("bob")
    other.note("bob", is_counted=True)
    other.note("left")
    other.note(None)
    assert [other.choose(["bob"]), other.choose(["ada"])] == [None, "ada"]


def test_the_limit_of_a_kind_holds() -> None:
    """Agents of one kind start only up to its limit, those of other commands included."""
    crew = [CrewAgent(name, "codex", tasks=9, kind_others=1, kind_limit=3) for name in ("a", "b")]
    roster = Roster(crew, of_kind=Counter(codex=1))
    assert [roster.choose(["a", "b"]) for _ in range(2)] == ["a", None]


def test_who_may_take_a_task() -> None:
    """Capabilities and the wish for a name or a type decide; without an agent a reason is given."""
    sql = TaskKind(capabilities=("sql",))
    assert takers_of(sql, CREW, HERE) == ("bob",)
    assert takers_of(TaskKind(), CREW, HERE) == ("ada", "bob", "cyd")
    assert takers_of(TaskKind(agent="codex"), CREW, HERE) == ("bob", "cyd")
    gpu = TaskKind(capabilities=("gpu",))
    assert obstacle_of(gpu, takers_of(gpu, CREW, HERE), CREW) == Obstacle(
        "no registered agent can take it: it requires the capability gpu",
        "git worker agent add --type '<type>' --capability gpu <name>", lasts=True,
    )  # fmt: skip
    assert obstacle_of(sql, ("bob",), CREW) is None
    assert obstacle_of(sql, ("cyd",), CREW) == Obstacle(
        "agent cyd is paused", "git worker agent resume cyd"
    )
    broken = (CrewAgent("dan", state="ERROR"),)
    assert obstacle_of(sql, ("dan",), broken) == Obstacle(
        "agent dan has failed", "git worker agent resume dan"
    )
    lacking = (CrewAgent("eve", lack="no program"), CYD._replace(lack="no program"))
    assert Roster(lacking, of_kind=Counter()).choose(["eve"]) is None
    assert obstacle_of(sql, ("eve",), lacking) == Obstacle(
        "agent eve cannot start: no program", "git worker agent show eve"
    )
    assert obstacle_of(sql, ("cyd",), lacking[1:]) == Obstacle(
        "agent cyd is paused", "git worker agent resume cyd"
    )
    assert lacks((*lacking[:1], *broken)) == ["agent eve cannot start: no program"]


@pytest.mark.parametrize(
    ("agent", "wish", "is_left"),
    [
        (None, None, True),  # a run of all agents, of which none has it here
        ("ada", None, True),
        ("ada", "eve", False),  # the task names an agent that has it itself
        ("claude", None, True),  # not a registered one
    ],
)
def test_a_task_that_is_left_to_another_machine(
    agent: str | None, wish: str | None, is_left: bool
) -> None:
    """A run of one agent and a run of all leave a task that only another machine can run."""
    eve = CrewAgent("eve", capabilities=("gpu",), machine="gamma" if agent is None else None)
    places = Places(HERE, (Place("gamma", ("gpu",)),), frozenset({"gpu"}))
    found = find_other_machine(TaskKind(wish, ("gpu",)), [ADA, eve], places, agent=agent)
    assert (found is not None) is is_left


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 30))
def test_the_choice_is_even_and_within_the_limits(tasks: list[int], number: int) -> None:
    """No agent exceeds its tasks, and all get work before one that is busier."""
    crew = [CrewAgent(f"a{at}", tasks=most) for at, most in enumerate(tasks)]
    names = [one.name for one in crew]
    roster = Roster(crew, of_kind=Counter())
    chosen = [roster.choose(names) for _ in range(number)]
    counts = Counter(name for name in chosen if name)
    assert all(counts[one.name] <= one.tasks for one in crew)
    assert counts.total() == min(number, sum(tasks))
    shares = [Counter(chosen[:at])[name] for at, name in enumerate(chosen) if name]
    assert shares == sorted(shares) or len(set(tasks)) > 1
    assert all(not (first is None and then) for first, then in pairwise(chosen))


def test_the_kind_of_a_queued_task() -> None:
    """A kind is the agent or type that a task names, and the capabilities that it requires."""
    assert parse_kind(" []") == TaskKind()
    assert parse_kind('codex ["go", "sql"]') == TaskKind("codex", ("go", "sql"))


@pytest.mark.parametrize(
    ("kind", "agent", "running", "limits", "is_open"),
    [
        (TaskKind(), None, {}, {}, True),
        (TaskKind("cyd"), None, {}, {}, False),
        (TaskKind("gpu"), None, {}, {}, True),
        (TaskKind("bob"), None, {"codex": 1}, {"codex": 2}, True),
        (TaskKind("bob"), None, {"codex": 2}, {"codex": 2}, False),
        (TaskKind(None, ("python",)), None, {"codex": 2}, {"codex": 2}, True),
        (TaskKind(None, ("python",)), None, {"claude": 9, "codex": 2}, {"codex": 2, "claude": 9},
         False),
        (TaskKind(), "claude", {"codex": 2}, {"codex": 2}, True),
        (TaskKind("codex"), "claude", {"codex": 2}, {"codex": 2}, False),
        (TaskKind("bob"), "claude", {"codex": 2}, {"codex": 2}, False),
        (TaskKind("bob"), "claude", {"codex": 1}, {"codex": 2}, True),
    ],
)  # fmt: skip
def test_the_kinds_that_have_a_place(
    kind: TaskKind,
    agent: str | None,
    running: Mapping[str, int],
    limits: Mapping[str, int],
    is_open: bool,
) -> None:
    """A kind has a place if an agent that may take it is free, or if no agent ever could."""
    assert has_place(kind, CREW, agent=agent, running=running, limits=limits, here=HERE) is is_open
    busy = (ADA._replace(at_work=4),)
    assert not has_place(TaskKind(), busy, agent=None, running={}, limits={}, here=HERE)
