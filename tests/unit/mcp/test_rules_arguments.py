"""The arguments of a tool: the first wrong one is refused by name, before the tool runs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.errors import Invalid
from gitworker.mcp.rules_arguments import check_arguments
from gitworker.mcp.tool import choice, flag, integer, number, text, texts

SCHEMA: dict[str, Any] = {
    "required": ["name"],
    "properties": {
        "name": text("A name."),
        "note": text("A note.", empty=True),
        "mode": choice("A mode.", "start", "stop"),
        "share": number("A share.", 0, 1),
        "epoch": integer("An epoch."),
        "dry": flag("A flag."),
        "paths": texts("Paths."),
    },
}
GOOD = (
    {"name": "a"},
    {"name": "ä €", "note": "", "mode": "stop", "share": 0.5, "epoch": 7, "dry": True},
    {"name": "a", "share": 1, "paths": []},
    {"name": "a", "paths": ["x", "y z"]},
)
WRONG: dict[str, dict[str, Any]] = {
    "t needs the argument name": {},
    "t has no argument 'worker'; its arguments: name, note, mode, share, epoch, dry, paths": {
        "name": "a", "worker": "ui",
    },
    "the argument name of t must be a text": {"name": None},
    "the argument name of t is empty": {"name": "  \n"},
    "the argument name of t contains a NUL or half of a surrogate pair": {"name": "a\0b"},
    "the argument note of t contains a NUL or half of a surrogate pair": {
        "name": "a", "note": "\udc80",
    },
    "the argument mode of t must be one of: start, stop": {"name": "a", "mode": "go"},
    "the argument share of t must be a number": {"name": "a", "share": True},
    "the argument share of t must be between 0 and 1": {"name": "a", "share": float("inf")},
    "the argument epoch of t must be an integer": {"name": "a", "epoch": 1.5},
    "the argument epoch of t must be at least 1": {"name": "a", "epoch": 0},
    "the argument dry of t must be true or false": {"name": "a", "dry": 1},
    "the argument paths of t must be a list": {"name": "a", "paths": "x"},
    "each element of the argument paths of t must be a text": {"name": "a", "paths": [{}]},
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize("arguments", GOOD, ids=str)
def test_good_arguments(arguments: dict[str, Any]) -> None:
    """Arguments of the declared types pass."""
    check_arguments("t", SCHEMA, arguments)


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message: str) -> None:
    """A wrong argument is refused in one sentence that names it."""
    with pytest.raises(Invalid) as caught:
        check_arguments("t", SCHEMA, WRONG[message])
    assert (caught.value.message, caught.value.code) == (message, "invalid_arguments")


@given(st.dictionaries(st.sampled_from(list(SCHEMA["properties"])) | st.text(), JSON))
def test_any_arguments(arguments: dict[str, Any]) -> None:
    """Whatever JSON a client sends, the check passes it or raises Invalid."""
    try:
        check_arguments("t", SCHEMA, arguments)
    except Invalid:
        return
    assert isinstance(arguments["name"], str)


def test_a_tool_without_arguments() -> None:
    """A tool without arguments says so."""
    with pytest.raises(Invalid, match=r"t has no argument 'a'; its arguments: none$"):
        check_arguments("t", {"required": [], "properties": {}}, {"a": 1})
