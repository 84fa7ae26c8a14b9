"""Rules of the search for the first worker of a window that fails: the prefix to verify next. Pure.

The prefix of length n of a window contains its first n workers. If a prefix fails, every longer one
fails, so the culprit is the first worker whose prefix fails.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class SearchSpan(NamedTuple):
    """The state of a search in a window of `size` workers: prefix `green` passes, `red` fails.

    At first only the limits are known: 0 passes, and size + 1 counts as failing.
    """

    size: int
    green: int
    red: int

    @property
    def is_settled(self) -> bool:
        """Return True if the longest passing prefix is known."""
        return self.red == self.green + 1

    @property
    def has_failure(self) -> bool:
        """Return True if any prefix failed."""
        return self.red <= self.size

    def learn(self, prefix: int, *, passed: bool) -> "SearchSpan":
        """Return the span after a verdict on one prefix."""
        if passed:
            return self._replace(green=max(self.green, prefix))
        return self._replace(red=min(self.red, prefix))

    def concerns(self, prefix: int) -> bool:
        """Return True if a verdict on a prefix would give new information."""
        return self.green < prefix < self.red


def whole(size: int) -> SearchSpan:
    """Return the span before any verdict: the base of the window counts as passing."""
    return SearchSpan(size, 0, size + 1)


def span_of(size: int, verdicts: Iterable[Mapping[str, Any]]) -> SearchSpan:
    """Return the span after the recorded verdicts on prefixes (`prefix` and `passed`)."""
    span = whole(size)
    for one in verdicts:
        span = span.learn(one["prefix"], passed=one["passed"])
    return span


def next_probes(span: SearchSpan, slots: int, running: Iterable[int] = ()) -> list[int]:
    """Return the prefixes to verify now, with `slots` runs at once and some running already.

    The whole window comes first. Further slots assume that it fails: they split the unknown range
    evenly, so that a failure is narrowed down at once. The first ones give the most information.
    """
    busy = {prefix for prefix in running if span.concerns(prefix)}
    wanted: list[int] = []
    if not span.has_failure:
        wanted.append(span.size)
    parts = slots if not span.has_failure else slots + 1
    width = span.red - span.green if span.has_failure else span.size - span.green
    by_information = sorted(range(1, parts), key=lambda part: (abs(2 * part - parts), -part))
    wanted += [span.green + round(width * part / parts) for part in by_information]
    fresh = [p for p in dict.fromkeys(wanted) if span.concerns(p) and p not in busy]
    return fresh[: max(0, slots - len(busy))]
