"""Run a share of the variants of tests that have many, others at each commit (`--share`)."""

import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

LEAST = 4  # so many variants of a test always run
ROOT = Path(__file__).parents[1]


def shown_variants(count: int, share: int, turn: int) -> set[int]:
    """Return the numbers of the variants to run of a test with `count`.

    They are the first one, which coverage measures at each commit, and one in `share` of the
    others, spread evenly. After at most `share` turns, each variant has run.
    """
    others = count - 1
    shown = min(others, max(LEAST - 1, -(-others // share)))
    return {0} | {1 + (place * others // shown + turn) % others for place in range(shown)}


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the variants that are not in the share of this turn."""
    share, turn = config.getoption("share"), config.getoption("share_turn")
    if share <= 1:
        return
    tests: dict[tuple[str, bool], list[pytest.Item]] = defaultdict(list)
    for item in items:
        is_slow = item.get_closest_marker("slow") is not None
        tests[item.nodeid.partition("[")[0], is_slow].append(item)
    shown = {
        id(variants[place])
        for variants in tests.values()
        for place in shown_variants(len(variants), share, turn)
    }
    left_out = [item for item in items if id(item) not in shown]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if id(item) in shown]


def commits() -> int:
    """Return how many commits HEAD has, 0 without git: each commit runs other variants."""
    done = subprocess.run(
        ["git", "rev-list", "--count", "HEAD"], cwd=ROOT, check=False, capture_output=True
    )
    return int(done.stdout) if done.returncode == 0 else 0


def add_options(parser: pytest.Parser) -> None:
    """Add the options; pytest-xdist hands both of them to its processes."""
    group = parser.getgroup("variants")
    group.addoption(
        "--share", type=int, default=1, metavar="N",
        help=f"of each test with more than {LEAST} variants, run one in N, others at each commit",
    )  # fmt: skip
    group.addoption(
        "--share-turn", type=int, metavar="TURN",
        help="which of them; by default the number of commits",
    )  # fmt: skip
