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
EXCEPTED = Path(__file__).with_name("excepted.txt")
SEPARATOR = " | "


class Line(NamedTuple):
    """A line of a table: a hint, and the test that proves it or the reason that none does."""

    template: Template
    proof: str


@cache
def lines_of(path: Path) -> tuple[Line, ...]:
    """Return the lines of a table."""
    return tuple(_lines(path.read_text(encoding="utf-8")))


def _lines(text: str) -> Iterator[Line]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            module, _, rest = line.partition(SEPARATOR)
            command, _, proof = rest.rpartition(SEPARATOR)
            yield Line(Template(module, command), proof)


@cache
def hints_proven_by() -> dict[str, list[Template]]:
    """Return the hints that each test proves."""
    found: dict[str, list[Template]] = {}
    for line in lines_of(PROVEN):
        found.setdefault(line.proof, []).append(line.template)
    return found


def unproven(templates: Iterable[Template]) -> list[Template]:
    """Return the hints that neither a test proves nor a reason excepts."""
    known = {line.template for path in (PROVEN, EXCEPTED) for line in lines_of(path)}
    return [one for one in templates if one not in known and not proves_itself(one)]


def proves_itself(template: Template) -> bool:
    """Return whether a hint has no values and only reads: one test runs all of these."""
    return (
        READS.match(template.text) is not None
        and not {"{", "<"} & set(template.text)
        and WAITS.search(template.text) is None
    )
