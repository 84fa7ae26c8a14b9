"""House rules on purity: code that decides takes facts, returns decisions, and decides alone."""

import ast
from collections.abc import Iterator
from functools import cache

from tests.architecture.house import (
    PURE_ROOMS,
    Module,
    dotted,
    imports,
    matches,
    modules,
    nodes,
    require_clean,
    snippet,
)

PURE_STANDARD = (
    "__future__",
    "abc",
    "bisect",
    "collections",
    "copy",
    "dataclasses",
    "datetime",  # to parse and compare; test_doors forbids its clocks
    "decimal",
    "difflib",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "importlib.import_module",  # names that load on first use
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "shlex",
    "statistics",
    "string",
    "textwrap",
    "types",
    "typing",
    "unicodedata",
)
PURE_OURS = ("gitworker.errors", "gitworker.model", "gitworker.states")
PURE_FOR_RULES = ("gitworker.config.Settings",)  # a frozen record from the callers
IMPURE_CALLS = ("open", "print", "input", "exec", "eval", "__import__")
# Path → why it may compare states outside the tables and rules.
MAY_COMPARE: dict[str, str] = {}
STATE_NAMES = ("state", "status")


def is_pure(module: Module) -> bool:
    """Return whether the module must be pure."""
    return module.room in PURE_ROOMS or module.is_rules


def find_impurity(module: Module) -> Iterator[str]:
    """Complain about imports and calls with side effects or outside input."""
    for name, statement in imports(module.tree):
        ours = matches(name, PURE_OURS) or any(part.startswith("rules") for part in name.split("."))
        ours = ours or (module.is_rules and matches(name, PURE_FOR_RULES))
        if not ours and not matches(name, PURE_STANDARD):
            yield f"{module.at(statement)}: imports {name}"
    for node in nodes(module.tree):
        if isinstance(node, ast.Call) and dotted(node.func) in IMPURE_CALLS:
            yield f"{module.at(node)}: calls {dotted(node.func)}"


def find_state_decisions(module: Module) -> Iterator[str]:
    """Complain about a state or status compared with a named one."""
    if module.path in MAY_COMPARE:
        return
    for node in nodes(module.tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_state, sides)) and any(map(_is_named_state, sides)):
                yield f"{module.at(node)}: {ast.unparse(node)}"
        elif isinstance(node, ast.Match) and _is_state(node.subject):
            yield f"{module.at(node)}: match {ast.unparse(node.subject)}"


def test_pure_rooms() -> None:
    """States, model and every rules file import pure modules only."""
    fix = "hand the fact in as an argument (`now`, text that was read, a random number)"
    require_clean(find_impurity, filter(is_pure, modules("gitworker")), fix)


def test_rooms_that_must_be_pure_exist() -> None:
    """The purity rule sees both pure rooms."""
    rooms = {module.room for module in modules("gitworker")}
    assert set(PURE_ROOMS) <= rooms, "a pure room was renamed: name it in house.PURE_ROOMS"


def test_states_are_compared_in_rules_only() -> None:
    """Nothing outside states, model and rules decides by comparing a state."""
    fix = (
        "ask a table (gitworker.states), or move the decision to <room>/rules*.py;"
        " a renderer that must compare is listed in MAY_COMPARE with its reason"
    )
    deciders = [module for module in modules("gitworker") if not is_pure(module)]
    require_clean(find_state_decisions, deciders, fix)


def test_exceptions_are_needed() -> None:
    """Every file that may compare states exists."""
    paths = {module.path for module in modules("gitworker")}
    assert set(MAY_COMPARE) <= paths, "MAY_COMPARE names a missing file: take it off"


def test_purity_rules_find_faults() -> None:
    """Each purity rule finds the common ways to break it and leaves numbers and pure code alone."""
    impure = snippet("import os\nfrom gitworker import clock\nopen('x')\nimport json\n")
    assert len(list(find_impurity(impure))) == 3
    deciding = snippet(
        "a.state == 'IDLE'\nTaskStatus.READY != task.status\nrow['state'] in ('IDLE', 'WORKING')\n"
        "match worker.state:\n    case _: pass\nstatus is WorkerState.IDLE\n"
    )
    assert len(list(find_state_decisions(deciding))) == 5
    harmless = snippet(
        "done.status == 0\nchange.status == 'D'\nstate == before.state\nx.status in ok\n"
    )
    assert list(find_state_decisions(harmless)) == []


@cache
def _state_names() -> frozenset[str]:
    """Return every value of the enums of model that end in State or Status."""
    found: set[str] = set()
    for module in modules("gitworker/model"):
        for node in nodes(module.tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith(("State", "Status")):
                values = [n.value for n in ast.walk(node) if isinstance(n, ast.Assign)]
                found |= {str(v.value) for v in values if isinstance(v, ast.Constant)}
    assert "IDLE" in found, "the enums of gitworker.model no longer name the states: adapt the rule"
    return frozenset(found)


def _is_state(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in STATE_NAMES
    return dotted(node).rpartition(".")[2] in STATE_NAMES


def _is_named_state(node: ast.AST) -> bool:
    """Return whether a node names a state: a text, an enum's member, or several of them."""
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return any(map(_is_named_state, node.elts))
    if isinstance(node, ast.Constant):
        return node.value in _state_names()
    head, _, _ = dotted(node).rpartition(".")
    return head.endswith(("State", "Status"))
