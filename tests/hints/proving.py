"""The proofs: each hint of the source with the test that prints it and shows that it helps.

`proven.txt` holds one line for each hint: module, template and test. Such a test either follows the
hint itself and notes it, or ends with it; then it is followed after the test, before its fixtures
end. The test fails if it does not print the hint, or if the hint does not help.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.hints.templates import READS, WAITS, Template

PROVEN = Path(__file__).with_name("proven.txt")
SEPARATOR = " | "


class Line(NamedTuple):
    """A line of the table: a hint, and the test that proves it."""

    template: Template
    test: str


@cache
def proven_lines() -> tuple[Line, ...]:
    """Return the lines of the table."""
    return tuple(_lines(PROVEN.read_text(encoding="utf-8")))


def _lines(text: str) -> Iterator[Line]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            module, _, rest = line.partition(SEPARATOR)
            command, _, test = rest.rpartition(SEPARATOR)
            yield Line(Template(module, command), test)


@cache
def hints_proven_by() -> dict[str, list[Template]]:
    """Return the hints that each test proves."""
    found: dict[str, list[Template]] = {}
    for line in proven_lines():
        found.setdefault(line.test, []).append(line.template)
    return found


def unproven(templates: Iterable[Template]) -> list[Template]:
    """Return the hints that no test proves."""
    known = {line.template for line in proven_lines()}
    return [one for one in templates if one not in known and not proves_itself(one)]


def proves_itself(template: Template) -> bool:
    """Return whether a hint has no values and only reads: one test runs all of these."""
    return (
        READS.match(template.text) is not None
        and not {"{", "<"} & set(template.text)
        and WAITS.search(template.text) is None
    )
