"""House rule on hints: each is run by a test in the state in which it is printed, and helps."""

from collections import Counter

from tests.architecture.house import snippet
from tests.hints.proving import proven_lines, unproven
from tests.hints.templates import Template, all_templates, templates_of

FIX = (
    "write a case in tests/hints that prints the hint and follows it, or let a test of its room end"
    " with it, and add the line `MODULE | HINT | TEST` to tests/hints/proven.txt"
)


def test_every_hint_is_proven() -> None:
    """No hint of the source lacks a test; a hint that no machine can print is deleted."""
    found = [f"{one.module}: {one.text}" for one in unproven(all_templates())]
    assert not found, "\n".join([*found, f"How to fix: {FIX}"])


def test_the_table_is_current() -> None:
    """Each line of the table names a hint that exists, once."""
    lines = proven_lines()
    twice = [one for one, number in Counter(line.template for line in lines).items() if number > 1]
    gone = {line.template for line in lines} - set(all_templates())
    assert (twice, gone) == ([], set()), f"remove these lines: {twice} {gone}"


def test_the_rule_finds_a_new_hint() -> None:
    """A hint without a test is found in an f-string, a constant and a list of lines."""
    module = snippet(
        'raise Refused("no", f"git worker frob {worker}   # now")\n'
        'HINT = "git worker frob --all"\n'
        'lines = ["error: x", f"hint: git -C {place} frob"]\nundo = "undo: git worker frob"\n'
        'message = "git cannot frob"\n'
    )
    found = unproven(templates_of([module]))
    texts = {"git worker frob {}", "git worker frob --all", "git -C {} frob", "git worker frob"}
    assert {one.text for one in found} == texts
    assert unproven([Template("gitworker/x.py", "git worker list")]) == []
