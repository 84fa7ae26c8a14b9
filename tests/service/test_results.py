"""Every method of the service returns frozen data that `to_json` can render."""

import ast
import dataclasses
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cache
from types import EllipsisType, ModuleType, NoneType
from typing import Any

from gitworker.service import Service
from gitworker.service.results import RENDERED_BY

PLAIN = (NoneType, EllipsisType, str, int, bool)
# No views: a prepared call of an agent, which a supervisor runs, and a service for one reading.
NO_RESULT = {"find_agent", "one_reading"}
METHODS = [
    name
    for name, _ in inspect.getmembers(Service, inspect.isfunction)
    if not name.startswith("_") and name not in NO_RESULT
]


@cache
def names_of(module: ModuleType) -> dict[str, Any]:
    """Return the names of a module with those that it imports for type checkers only."""
    names = dict(vars(module))
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                assert isinstance(line, ast.ImportFrom)
                assert line.module is not None
                home = importlib.import_module(line.module)
                names |= {one.asname or one.name: getattr(home, one.name) for one in line.names}
    return names


def results_of(method: Callable[..., Any]) -> Iterator[Any]:
    """Yield the classes that the annotation of a method's result names."""
    plain = inspect.unwrap(method)
    names = names_of(importlib.import_module(plain.__module__))
    yield from parts(typing.get_type_hints(plain, globalns=names)["return"])


def parts(kind: Any) -> Iterator[Any]:
    """Yield the classes within a type; a message, which is a dict, is its own JSON."""
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is dict or not arguments:
        yield kind
        return
    for argument in arguments:
        yield from parts(argument)


def is_frozen(kind: Any) -> bool:
    """Report whether a class is a named tuple or a frozen dataclass."""
    if dataclasses.is_dataclass(kind):
        return bool(vars(kind)["__dataclass_params__"].frozen)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def test_results() -> None:
    """A result is plain, a message, or frozen data that has a renderer."""
    assert len(METHODS) > 100
    for name in METHODS:
        for kind in results_of(getattr(Service, name)):
            if kind in PLAIN or typing.get_origin(kind) is dict:
                continue
            assert is_frozen(kind), f"{name} returns {kind}, which is not frozen"
            home = kind.__module__.removeprefix("gitworker.")
            assert {home, f"{home}:{kind.__name__}"} & RENDERED_BY.keys(), f"{name}: {kind}"


def test_renderers_exist() -> None:
    """Each renderer of the table is a function."""
    for place in set(RENDERED_BY.values()):
        module, _, name = place.partition(":")
        assert callable(getattr(importlib.import_module(f"gitworker.{module}"), name))
