"""House rule on the tables that name tests: pytest collects each of them under exactly that id."""

import subprocess
import sys
from collections.abc import Collection

from tests.architecture.fired import FIRED, lines_of
from tests.architecture.house import ROOT
from tests.hints.proving import hints_proven_by

COLLECT = ("--collect-only", "-q", "-p", "no:xdist", "-p", "no:cacheprovider")


def test_every_named_test_is_collected() -> None:
    """A test of proven.txt or fired.txt exists with its parameters, so its proof is required."""
    named = {*hints_proven_by(), *(line.test for line in lines_of(FIRED.read_text()))}
    wrong = uncollected(named)
    assert not wrong, "\n".join([*wrong, "How to fix: write the id as `pytest --collect-only -q`"])


def test_the_rule_finds_a_wrong_id() -> None:
    """A test that does not exist and one with other parameters are found; a right id is not."""
    path = "tests/hints/test_race_hints.py"
    right = f"{path}::test_the_hint_of_a_race_helps[moved-git reflog show {{}}]"
    wrong = [f"{path}::test_the_hint_of_a_race_helps[moved]", f"{path}::test_unknown"]
    assert uncollected([right, *wrong]) == wrong


def uncollected(tests: Collection[str]) -> list[str]:
    """Return those of the tests that pytest does not collect under their id."""
    files = sorted({test.partition("::")[0] for test in tests})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *COLLECT, *files], cwd=ROOT, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(set(tests) - set(done.stdout.splitlines()))
