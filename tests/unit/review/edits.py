"""Random edits of a file, and its change as the text of a unified diff."""

import difflib
import os
from itertools import count
from typing import NamedTuple

from hypothesis import strategies as st


class Edit(NamedTuple):
    """Replace `removed` lines at a place (a fraction of the file) by new ones."""

    at: float
    removed: int
    added: tuple[str, ...]


def scale(examples: int) -> int:
    """Return a number of examples, larger by GITWORKER_TEST_SCALE."""
    return int(examples * float(os.environ.get("GITWORKER_TEST_SCALE", "1")))


def edits(*, same: bool = False) -> st.SearchStrategy[list[Edit]]:
    """Return edits; `same`: the new lines can equal others."""
    words = ["line 0", "line 1", "line 3", "other"] if same else ["new"]
    one = st.builds(
        Edit, st.floats(0, 1), st.integers(0, 3),
        st.lists(st.sampled_from(words), max_size=3).map(tuple),
    )  # fmt: skip
    return st.lists(one, max_size=5)


def changed(lines: list[str], steps: list[Edit]) -> list[str]:
    """Return the lines after the edits; `new` lines get a number, so that they are distinct."""
    numbers = count(1)
    result = list(lines)
    for step in steps:
        at = round(step.at * len(result))
        added = [f"new {next(numbers)}" if one == "new" else one for one in step.added]
        result[at : at + step.removed] = added
    return result


def patch_text(old: list[str], new: list[str], *, context: int) -> str:
    """Return the change of file `f` as git writes it; empty without a change."""
    lines = list(difflib.unified_diff(old, new, "a/f", "b/f", n=context, lineterm=""))
    return "\n".join(["diff --git a/f b/f", *lines, ""]) if lines else ""
