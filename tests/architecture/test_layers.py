"""House rules on layers: import-linter checks the order, these tests check its contract."""

import ast
import re
import tomllib
from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter
from typing import Any

from tests.architecture.house import PURE_ROOMS, ROOT, Module, modules, nodes


def contracts() -> dict[str, dict[str, Any]]:
    """Return import-linter's contracts by id."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    return {contract["id"]: contract for contract in settings["contracts"]}


def rooms() -> set[str]:
    """Return every module and package directly below gitworker."""
    found = {path.stem for path in (ROOT / "gitworker").glob("*.py")} - {"__init__"}
    found |= {path.parent.name for path in (ROOT / "gitworker").glob("*/__init__.py")}
    assert len(found) > 5, "the rule saw hardly any room: is ROOT right?"
    return found


def listed() -> list[str]:
    """Return the rooms of the layer contract, top first."""
    return [name for layer in contracts()["layers"]["layers"] for name in re.findall(r"\w+", layer)]


def test_every_room_has_its_layer() -> None:
    """Every module and package directly below gitworker is named in the layer contract."""
    missing = rooms() - set(listed())
    fix = "give it a layer in [tool.importlinter] of pyproject.toml, and give the reason there"
    assert not missing, f"no layer for {sorted(missing)}. How to fix: {fix}"


def unmapped(page: str, wanted: Set[str]) -> set[str]:
    """Return the rooms that the first column of the page's tables does not name."""
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return set(wanted) - {name for cell in cells for name in re.findall(r"`(\w+)/?`", cell)}


def test_every_room_is_on_the_map() -> None:
    """Every module and package directly below gitworker is in the map of ARCHITECTURE.md."""
    missing = unmapped((ROOT / "ARCHITECTURE.md").read_text("utf-8"), rooms())
    assert not missing, f"How to fix: describe {sorted(missing)} in the map of ARCHITECTURE.md"


def test_the_map_rule_bites() -> None:
    """The rule finds a room that only the text names."""
    assert unmapped("| `a/`, `b` | c |\nthe room `d/`\n", {"a", "b", "d"}) == {"d"}


def test_no_room_is_listed_twice() -> None:
    """A room has one layer."""
    names = listed()
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"{sorted(twice)} are listed twice. How to fix: keep the lower one"


def test_packages_are_packages() -> None:
    """Every folder below gitworker that holds Python is a package, which the linter sees."""
    folders = {path.parent for path in (ROOT / "gitworker").rglob("*.py")}
    blind = sorted(str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists())
    assert not blind, f"How to fix: add an __init__.py with a docstring in {blind}"


def test_purity_is_contracted() -> None:
    """Both pure rooms are in the contract that forbids I/O."""
    sources = set(contracts()["pure"]["source_modules"])
    wanted = {f"gitworker.{room}" for room in PURE_ROOMS}
    assert wanted <= sources, "How to fix: add the room to the contract `pure` in pyproject.toml"


def test_contract_is_exhaustive() -> None:
    """import-linter itself refuses a room that has no layer."""
    fix = "How to fix: keep `exhaustive = true` in the contract `layers`"
    assert contracts()["layers"]["exhaustive"] is True, fix


def imported(module: Module, known: Set[str]) -> set[str]:
    """Return the modules of `known` that a module imports, inside functions too."""
    found = set()
    for node in nodes(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known) or {node.module}
    return found & known


def circles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    order = TopologicalSorter(graph)
    try:
        order.prepare()
    except CycleError as error:
        return [error.args[1]]
    return []


def test_no_import_circles() -> None:
    """No module imports itself through others, imports for type checkers included."""
    found = {
        module.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): module
        for module in modules("gitworker")
    }
    graph = {name: imported(module, found.keys()) - {name} for name, module in found.items()}
    fix = "How to fix: move the shared part to a module below both"
    assert circles(graph) == [], fix


def test_circle_rule_bites() -> None:
    """The rule finds a circle over three modules, and no circle in a chain."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})
