"""House rule on the machines: the running system fires each of their events in some test."""

from collections import Counter

from tests.architecture.fired import FIRED, lines_of, unfired

FIX = (
    "let a test fire it, and add the line `MACHINE | EVENT | TEST` to tests/architecture/fired.txt"
)


def test_every_event_is_fired() -> None:
    """No event of a machine lacks a line in the table."""
    assert not unfired(lines_of(FIRED.read_text())), FIX


def test_the_table_is_current() -> None:
    """Each line names an event that exists, once."""
    lines = lines_of(FIRED.read_text())
    twice = [one for one, number in Counter(line[:2] for line in lines).items() if number > 1]
    known = set(unfired(()))
    gone = [line for line in lines if f"{line.machine} {line.event}" not in known]
    assert (twice, gone) == ([], []), f"remove these lines: {twice} {gone}"


def test_the_rule_finds_an_event_without_a_test() -> None:
    """An event without a line is found."""
    text = "\n".join(f"{' | '.join(one.split())} | tests/x.py::test_x" for one in unfired(()))
    assert unfired(lines_of(text)) == []
    first, _, rest = text.partition("\n")
    assert unfired(lines_of(rest)) == [" ".join(first.split(" | ")[:2])]
