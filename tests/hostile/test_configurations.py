"""No setting and no variable of the user's git changes what our commands do or print."""

import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from gitworker.cli.group import GROUP
from tests.hostile.life import Seen, live
from tests.hostile.switches import HIDDEN, SHOWN, VARIABLES

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
SEED = int(os.environ.get("GITWORKER_TEST_SEED", "20261122"))
ALONE = 9  # at this scale (`make crash`) each switch has a whole life of its own as well
GROUPS = (3, 6, 12, 24)  # the lives that share the hidden switches: fewer switches hide each other


class Switch(NamedTuple):
    """One setting (its key has a dot) or variable, with its value."""

    name: str
    value: str


def switches(*tables: dict[str, str]) -> list[Switch]:
    """Return the switches of some tables."""
    return [Switch(*item) for table in tables for item in table.items()]


def verbs() -> set[str]:
    """Return every verb of the command line, as click finds it."""
    context = click.Context(GROUP)
    found: set[str] = set()
    for name in GROUP.list_commands(context):
        command = GROUP.get_command(context, name)
        below = command.list_commands(context) if isinstance(command, click.Group) else []
        found |= {f"{name} {one}" for one in below} or {name}
    return found


def sampled() -> Iterator[list[Switch]]:
    """Share all switches among a few lives in a random order; at a larger scale, again and again.

    Switches that change how a diff looks have lives of their own: all others compare diffs too.
    """
    chance = random.Random(SEED)
    for number in range(max(1, round(SCALE))):
        count = GROUPS[number % len(GROUPS)]
        if number == ALONE:
            yield from ([one] for one in switches(HIDDEN, VARIABLES, SHOWN))
        for pool, groups in ((switches(HIDDEN, VARIABLES), count), (switches(SHOWN), count // 3)):
            mixed = chance.sample(pool, len(pool))
            yield from (mixed[start::groups] for start in range(groups))


def setting(switch: Switch) -> str:
    """Return the lines of a configuration file that make one setting."""
    section, _, rest = switch.name.partition(".")
    middle, _, key = rest.rpartition(".")
    head = f'[{section} "{middle}"]' if middle else f"[{section}]"
    return f"{head}\n\t{key} = {json.dumps(switch.value)}\n"


def differences(expected: Seen, root: Path, group: Sequence[Switch]) -> list[str]:
    """Play one life under these switches and return each difference from the expected one."""
    config = "".join(setting(one) for one in group if "." in one.name)
    variables = {one.name: one.value for one in group if "." not in one.name}
    try:
        found = live(root, config, variables)
    except AssertionError as error:
        return [f"the life ended early: {error}"]
    is_shown = any(one.name in SHOWN for one in group)
    return [
        f"{key}:\n  expected {value!r}\n  found    {found.get(key)!r}"
        for key, value in expected.items()
        if value != found.get(key) and not (is_shown and " diff " in key)
    ]


def find_culprits(expected: Seen, root: Path, group: list[Switch]) -> list[Switch]:
    """Return the smallest part of the group, by halves, that still makes a difference."""
    while len(group) > 1:
        middle = len(group) // 2
        for half in (group[:middle], group[middle:]):
            if differences(expected, root / f"{len(group)}-{half[0].name}", half):
                group = half
                break
        else:
            break
    return group


@pytest.fixture(autouse=True)
def _hooks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish a commit in the command that finds it, not in the background."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")


@pytest.fixture(scope="module")
def cache() -> dict[str, Seen]:
    """Hold the life without switches for all tests of this process."""
    return {}


@pytest.fixture
def expected(cache: dict[str, Seen], tmp_path: Path, _hooks_off: None) -> Seen:
    """Return the life without any switch."""
    if not cache:
        cache["plain"] = live(tmp_path / "plain", "", {})
    return cache["plain"]


@pytest.mark.slow
def test_a_life_has_every_verb(expected: Seen) -> None:
    """No verb of the command line is missing, so each one runs under every switch."""
    assert set(expected["verbs"]) == verbs()  # type: ignore[call-overload]


@pytest.mark.slow
@pytest.mark.parametrize("group", list(sampled()), ids=lambda group: f"{group[0].name}-and-others")
def test_switches_change_nothing(tmp_path: Path, expected: Seen, group: list[Switch]) -> None:
    """Commits, states, files, answers and exit statuses are those of a life without switches."""
    found = differences(expected, tmp_path / "all", group)
    if found:
        culprits = find_culprits(expected, tmp_path, group)
        pytest.fail(f"under {culprits}:\n" + "\n".join(found))


@pytest.mark.slow
def test_the_comparison_notices_a_switch(tmp_path: Path, expected: Seen) -> None:
    """A name of the user that the commits must have is found as a difference in the branches."""
    found = differences(expected, tmp_path / "named", [Switch("user.name", "Grace Tester")])
    assert any("Grace Tester" in one for one in found if one.startswith("refs/heads/main")), found
