"""Values as TOML in one line, for options of agents. Pure."""

import json
import re
from collections.abc import Mapping

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: object) -> str:
    """Return a table, list, text, number or truth value in TOML, without a line feed."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)}={toml_value(one)}" for name, one in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(toml_value(one) for one in value)}]"
    # A basic string of TOML has JSON's escapes, but not its pairs of surrogates.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else toml_value(name)
