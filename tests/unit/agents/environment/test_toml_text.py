"""Values in TOML are read back as they were."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from gitworker.agents.environment.toml_text import toml_value

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)


@given(VALUES)
def test_round_trip(value: object) -> None:
    """Tables, lists, texts with any character, numbers and truth values stay."""
    text = f"x={toml_value(value)}"
    assert "\n" not in text
    assert tomllib.loads(text) == {"x": value}
