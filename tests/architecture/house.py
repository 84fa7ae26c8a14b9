"""Helpers of the house rules: the files they read, and their reports.

A rule is a function from one `Module` to the complaints about it. `require_clean` runs it over the
project and reports findings with a fix; `snippet` lets a rule's own test show that it finds faults.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON_TOPS = ("gitworker", "tests", "fixtures", "benchmarks", "docs")
PURE_ROOMS = ("states", "model")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Module:
    """A Python file of the project: its path from the root, its text, its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """Return the second part of the path without suffix: the room below gitworker."""
        parts = self.path.removesuffix(".py").split("/")
        return parts[1] if len(parts) > 1 else ""

    @property
    def name(self) -> str:
        """Return the file's name without suffix."""
        return self.path.removesuffix(".py").rpartition("/")[2]

    @property
    def is_rules(self) -> bool:
        """Return whether the file decides (`rules*.py`) and must be pure."""
        return self.name.startswith("rules")

    def at(self, node: ast.AST) -> str:
        """Return `path:line` of a node."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


Rule = Callable[[Module], Iterable[str]]


@cache
def modules(*tops: str) -> tuple[Module, ...]:
    """Return every Python file below the given folders; fail if no file is found."""
    found: list[Module] = []
    for top in tops:
        paths = sorted((ROOT / top).rglob("*.py"))
        assert paths, f"no Python file below {top}/: the rule would check nothing"
        found.extend(_parsed(path) for path in paths)
    return tuple(found)


def everything() -> tuple[Module, ...]:
    """Return every Python file of the project."""
    return modules(*(top for top in PYTHON_TOPS if any((ROOT / top).rglob("*.py"))))


def snippet(text: str, path: str = "gitworker/room/thing.py") -> Module:
    """Return a made-up module, to show that a rule finds its fault."""
    return Module(path, text, ast.parse(text))


def require_clean(rule: Rule, subjects: Iterable[Module], fix: str) -> None:
    """Fail with every complaint of `rule` and the way to fix them; fail if no file was read."""
    subjects = tuple(subjects)
    assert subjects, "the rule was given no file: it would pass by checking nothing"
    complaints = [complaint for module in subjects for complaint in rule(module)]
    assert not complaints, "\n".join([*complaints, f"How to fix: {fix}"])


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return every node of a tree; most rules look at all of them."""
    return tuple(ast.walk(tree))


def functions(module: Module) -> Iterator[Function]:
    """Yield every function and method, nested ones too."""
    for node in nodes(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imports(node: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (dotted name, statement) of every import below `node`.

    `from a import b` yields `a.b`, since `b` may be a module.
    """
    for found in nodes(node) if isinstance(node, ast.Module) else ast.walk(node):
        if isinstance(found, ast.Import):
            for alias in found.names:
                yield alias.name, found
        elif isinstance(found, ast.ImportFrom):
            for alias in found.names:
                yield f"{found.module or ''}.{alias.name}", found


@cache
def start_up_imports(module: Module) -> tuple[tuple[str, ast.stmt], ...]:
    """Return the imports that run when the module is loaded: those outside functions."""
    passed_by = [*functions(module), *filter(_is_type_checking, nodes(module.tree))]
    skipped = {id(statement) for node in passed_by for _, statement in imports(node)}
    return tuple(found for found in imports(module.tree) if id(found[1]) not in skipped)


def matches(name: str, packages: Iterable[str]) -> bool:
    """Return whether a dotted name is one of `packages` or is inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names and attributes, an empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def docstring_nodes(module: Module) -> set[int]:
    """Return the ids of the constants that are docstrings."""
    found = set()
    for node in nodes(module.tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            found.add(id(body[0].value))
    return found


def _is_type_checking(node: ast.AST) -> bool:
    """Return whether a node is `if TYPE_CHECKING`, whose imports never run."""
    return isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING")


@cache
def _parsed(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    return Module(name, text, ast.parse(text, name))
