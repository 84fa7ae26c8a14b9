"""Find the adapter of an agent: the user's own, the repository's once trusted, or a known one."""

from __future__ import annotations

import json
import os
import tomllib
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from gitworker.agents.adapters.rules_adapter import LISTS, Adapter, parse_adapter
from gitworker.config import FILE_NAME
from gitworker.errors import NotFound
from gitworker.paths import open_regular
from gitworker.store.scheduling.agents import all_registered
from gitworker.verify.trust import require_trusted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.session import Session

KNOWN = f"{os.path.dirname(__file__)}/adapters.toml"
CONFIG = "worker.agents."


def find_adapter(session: Session, name: str) -> Adapter:
    """Return an agent's adapter: git's configuration wins over the file, the file over ours.

    Raises NotFound for an unknown name, Invalid for a wrong table, and Refused if the table of the
    repository is not trusted.
    """
    known = known_adapters()
    of_file = _tables_of_file(session.settings.adapters)
    of_user = _tables_of_config(session.git_config)
    if name not in {*known, *of_file, *of_user}:
        near = get_close_matches(name, sorted({*known, *of_file, *of_user}), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise NotFound(
            f"no agent is called {name[:80]!r}{hint}",
            "git worker agents doctor",
        )
    adapter = known.get(name)
    if name in of_file:
        require_trusted(session, "agents")
        adapter = parse_adapter(name, of_file[name], adapter, origin=f"{FILE_NAME} of the target")
    if name in of_user:
        adapter = parse_adapter(name, of_user[name], adapter, origin="git config")
    assert adapter is not None
    return adapter


def adapter_names(session: Session) -> list[str]:
    """Return the names of all agents: those of the package, the repository's, the user's."""
    of_file = _tables_of_file(session.settings.adapters)
    return list({**known_adapters(), **of_file, **_tables_of_config(session.git_config)})


def agent_names(session: Session) -> list[str]:
    """Return the agents that a task may name: the registered and all known ones."""
    with session.store.read() as reader:
        registered = [one.name for one in all_registered(reader)]
    return [*registered, *adapter_names(session)]


@cache
def known_adapters() -> Mapping[str, Adapter]:
    """Return the adapters of the package, by name."""
    with open(KNOWN, "rb", opener=open_regular) as file:
        tables = tomllib.load(file)
    return {
        name: parse_adapter(name, table, None, origin="adapters.toml")
        for name, table in tables.items()
    }


def _tables_of_file(texts: tuple[str, ...]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for text in texts:
        found.update(json.loads(text))
    return found


def _tables_of_config(config: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Return the tables of `worker.agents.NAME.FIELD`; a list has one item a line."""
    found: dict[str, dict[str, object]] = {}
    for key, text in config.items():
        name, dot, field = key.removeprefix(CONFIG).rpartition(".")
        if key.startswith(CONFIG) and dot:
            value = [line for line in text.split("\n") if line] if field in LISTS else text
            found.setdefault(name, {})[field] = value
    return found
