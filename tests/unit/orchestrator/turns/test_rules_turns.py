"""Projects share the agent time by their weights, over a long run and after a pause."""

import heapq
import random
from collections import Counter

import pytest

from gitworker.orchestrator.turns.rules_turns import (
    CREDIT_MAX_MS,
    ProjectQueue,
    account,
    take_turns,
)


def used_time(weights: dict[str, float], *, agents: int, seed: int, hours: int) -> Counter[str]:
    """Return the agent time of each project, with always READY tasks and a simulated clock.

    The tasks of a project take ten times as long as those of another.
    """
    draw = random.Random(seed)
    credits = dict.fromkeys(weights, 0.0)
    ends: list[tuple[float, int, str]] = []
    used: Counter[str] = Counter()
    now = 0.0
    for number in range(10**6):
        running = Counter(project for _, _, project in ends)
        queues = [
            ProjectQueue(one, weight, credits[one], running[one], tuple(f"{one}/{i}" for i in "ab"))
            for one, weight in weights.items()
        ]
        for task in take_turns(queues, number=agents - len(ends)):
            project = task.partition("/")[0]
            length = draw.expovariate(1 / (300_000 if project == "a" else 30_000))
            heapq.heappush(ends, (now + length, number * 10 + len(ends), project))
            used[project] += int(length)
        later, _, _ = ends[0]
        running = Counter(project for _, _, project in ends)
        queues = [one._replace(running=running[one.project]) for one in queues]
        credits = account(
            [one._replace(credit_ms=credits[one.project]) for one in queues],
            elapsed_ms=later - now,
        )
        now = later
        heapq.heappop(ends)
        if now > hours * 3_600_000:
            break
    return used


@pytest.mark.parametrize(("agents", "seed"), [(1, 1), (2, 2), (4, 3), (16, 4)])
def test_agent_time_follows_the_weights(agents: int, seed: int) -> None:
    """Weights 3:1 give agent time 3:1 within 10 %, though tasks differ in length."""
    used = used_time({"a": 3.0, "b": 1.0}, agents=agents, seed=seed, hours=20 + 100 // agents)
    assert used["a"] / used["b"] == pytest.approx(3, rel=0.1)


def test_three_projects_share() -> None:
    """Weights 1:1:2 give a quarter, a quarter and a half."""
    used = used_time({"a": 1.0, "b": 1.0, "c": 2.0}, agents=3, seed=5, hours=60)
    total = sum(used.values())
    shares = {one: round(time / total, 1) for one, time in used.items()}
    assert shares["c"] == 0.5
    assert used["a"] / used["b"] == pytest.approx(1, rel=0.1)


def test_starts_of_one_moment_take_turns() -> None:
    """Four free places are shared 3:1 at once, and a project never gets more than its places."""
    a = ProjectQueue("a", 3.0, ready=("a1", "a2", "a3", "a4"))
    b = ProjectQueue("b", 1.0, ready=("b1", "b2"))
    assert Counter(task[0] for task in take_turns([a, b], number=4)) == {"a": 3, "b": 1}
    assert take_turns([a._replace(places=1), b], number=4) == ("a1", "b1", "b2")
    assert take_turns([a._replace(places=0), b], number=1) == ("b1",)
    assert take_turns([a._replace(ready=())], number=4) == ()


def test_an_idle_project_saves_no_credit() -> None:
    """A project without work loses its credit, and one that is kept from work has a limit."""
    idle = ProjectQueue("a", credit_ms=50.0)
    busy = ProjectQueue("b", credit_ms=-50.0, running=1)
    assert account([idle, busy], elapsed_ms=10) == {"a": 0.0, "b": -50.0}
    kept = ProjectQueue("a", ready=("a1",), places=0)
    credits = account([kept, busy], elapsed_ms=1e12)
    assert credits == {"a": CREDIT_MAX_MS, "b": -CREDIT_MAX_MS}
