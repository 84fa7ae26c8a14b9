"""House rules on layers: import-linter keeps the order, these tests keep its contract."""

import re
import tomllib
from typing import Any

from tests.architecture.house import PURE_ROOMS, ROOT


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
    fix = "give it a layer in [tool.importlinter] of pyproject.toml, and say why there"
    assert not missing, f"no layer for {sorted(missing)}. How to fix: {fix}"


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
    """Both pure rooms stand under the contract that forbids I/O."""
    sources = set(contracts()["pure"]["source_modules"])
    wanted = {f"gitworker.{room}" for room in PURE_ROOMS}
    assert wanted <= sources, "How to fix: add the room to the contract `pure` in pyproject.toml"


def test_contract_is_exhaustive() -> None:
    """import-linter itself refuses a room that has no layer."""
    fix = "How to fix: keep `exhaustive = true` in the contract `layers`"
    assert contracts()["layers"]["exhaustive"] is True, fix
