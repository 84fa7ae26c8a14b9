"""How many agents a run may start, by the limits of projects and of a kind of agent."""

from gitworker.orchestrator.rules_next import Limits
from gitworker.orchestrator.turns.rules_places import KindFacts, ProjectFacts, limits_of, places_of

WANTED = Limits(0, lands=True, rounds=3)
DEFAULT = ProjectFacts()


def agents_of(
    *projects: ProjectFacts, wanted: int | None = None, kind: KindFacts | None = None
) -> int:
    """Return the number of agents of a run."""
    return limits_of(projects, kind or KindFacts(), WANTED, agents=wanted).agents


def test_the_number_of_a_run_replaces_defaults_only() -> None:
    """It stays below numbers that a person has set, in which the agents of others count."""
    limited = DEFAULT._replace(is_set=True, running=1, others=1)
    assert agents_of(DEFAULT) == 2
    assert agents_of(DEFAULT, wanted=4) == 4
    assert agents_of(limited, wanted=4) == 1
    assert agents_of(limited, DEFAULT) == 3
    assert agents_of(limited, DEFAULT, wanted=4) == 4
    assert agents_of(DEFAULT._replace(others=1), wanted=4) == 4


def test_a_kind_of_agent_has_a_limit() -> None:
    """The agents of the kind that others have started count."""
    assert agents_of(DEFAULT, wanted=4, kind=KindFacts(others=1, at_once=3)) == 2
    assert agents_of(DEFAULT, wanted=4, kind=KindFacts(others=4, at_once=3)) == 0
    assert limits_of([DEFAULT], KindFacts(others=1), WANTED, agents=1).others
    assert not limits_of([DEFAULT], KindFacts(), WANTED, agents=1).others


def test_a_project_has_places() -> None:
    """None without a limit, 0 if it starts nothing, else the agents that it may still start."""
    assert places_of(DEFAULT, agents=4) is None
    assert places_of(DEFAULT._replace(running=2, others=1), agents=None) == 1
    assert places_of(DEFAULT._replace(is_set=True, running=2, others=1), agents=4) == 0
    assert places_of(DEFAULT._replace(is_set=True, running=1, others=1), agents=4) == 1
    assert places_of(DEFAULT._replace(status="PAUSED"), agents=4) == 0
    assert places_of(DEFAULT._replace(has_tokens=False), agents=4) == 0
