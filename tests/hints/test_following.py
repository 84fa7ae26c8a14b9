"""The judgement of a hint: it fails for a command that fails, or that ends nothing."""

from pathlib import Path

import pytest

from tests.cli.test_hint_walk import failed, in_review
from tests.hints.following import Printed, Proof, follow, hints_of, is_temporary, perform
from tests.hints.templates import Template
from tests.workers.world import World


def test_hints_of_an_output() -> None:
    """Hints are found behind their leads, in JSON, and without their remarks."""
    document = '{"error": {"hint": "git worker a   # x"}, "workers": [{"next": "git worker b"}]}'
    err = "error: no\nhint: git worker c   # or: d\nsent it; next: git worker e\n"
    found = list(hints_of(f"{document}\n  → git worker f\n", err))
    assert found == [f"git worker {name}" for name in ("c", "e", "a", "b", "f")]


@pytest.mark.parametrize("hint", ["git worker frob", "git worker show nobody", "false"])
def test_a_useless_hint_is_found(quiet: World, hint: str) -> None:
    """A command that does not exist, names no worker or fails does not help."""
    in_review(quiet)
    refusal = "1error: worker auth is in review, so its work cannot start again\n"
    assert follow(Printed([], str(quiet.root), said=refusal), hint) is not None


def test_a_hint_that_changes_nothing_is_found(quiet: World) -> None:
    """A command that succeeds does not help if the refusal is the same afterwards."""
    failed(quiet)
    command = "git worker approve auth"
    refused = Printed([], str(quiet.root), again=command)
    done = perform(command, refused)
    refused.said = f"{done.status}{done.err}"
    assert "refused again" in (follow(refused, "git worker hooks install") or "")
    assert follow(refused, "git worker resume auth") is None


def test_hints_are_run_in_the_directories_of_tests_only(tmp_path: Path) -> None:
    """No command runs, or names a path, outside of the tests' directories."""
    assert (is_temporary(str(tmp_path)), is_temporary("/"), is_temporary("")) == (
        True,
        False,
        False,
    )
    for place, hint in (("/", "git init"), (str(tmp_path), "rm -rf /nowhere/at/all")):
        assert "not run" in (follow(Printed([], place), hint) or "")


def test_a_test_that_does_not_print_its_hint_fails() -> None:
    """A line of the table that its test does not prove is an error of that test."""
    with pytest.raises(AssertionError, match="does not print git worker frob"):
        Proof({}).require([Template("gitworker/x.py", "git worker frob")])
