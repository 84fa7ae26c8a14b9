"""Check the arguments of a tool against its schema, so that the tools receive the right types."""

from __future__ import annotations

from gitworker.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = {
    "string": "a text", "number": "a number", "integer": "an integer", "boolean": "true or false",
    "array": "a list", "object": "an object",
}  # fmt: skip


def check_arguments(tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise Invalid for the first unknown, missing or wrong argument.

    Knows the keywords that our schemas use. A null counts as a wrong type.
    """
    known = schema["properties"]
    for name in arguments:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise _invalid(f"{tool} has no argument {ascii(name)[:80]}; its arguments: {takes}")
    for name in schema["required"]:
        if name not in arguments:
            raise _invalid(f"{tool} needs the argument {name}")
    for name, value in arguments.items():
        _check(f"the argument {name} of {tool}", known[name], value)


def _check(label: str, schema: Mapping[str, Any], value: Any) -> None:
    kind = schema["type"]
    if not _is_kind(kind, value):
        raise _invalid(f"{label} must be {KINDS[kind]}")
    if kind == "string":
        _check_text(label, schema, value)
    elif kind == "array":
        if len(value) < schema.get("minItems", 0):
            raise _invalid(f"{label} is empty")
        for one in value:
            _check(f"each element of {label}", schema["items"], one)
    elif kind in ("number", "integer"):
        low, high = schema["minimum"], schema.get("maximum")
        if value < low or (high is not None and value > high):
            limits = f"at least {low}" if high is None else f"between {low} and {high}"
            raise _invalid(f"{label} must be {limits}")


def _check_text(label: str, schema: Mapping[str, Any], value: str) -> None:
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        raise _invalid(f"{label} must be one of: {', '.join(allowed)}")
    if len(value.strip()) < schema.get("minLength", 0):
        raise _invalid(f"{label} is empty")
    if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise _invalid(f"{label} contains a NUL or half of a surrogate pair")


def _is_kind(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "array":
        return isinstance(value, list)
    return not isinstance(value, bool) and isinstance(
        value, int if kind == "integer" else int | float
    )


def _invalid(message: str) -> Invalid:
    return Invalid(message, code="invalid_arguments")
