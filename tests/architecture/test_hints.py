"""House rule on hints: a path in a shell command is quoted by `rules_text.quoted`."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.house import Module, modules, require_clean, snippet

# The beginnings of a shell command that takes a path as its next word.
TAKES_PATH = re.compile(
    r"(^|[ (>])(cd|rm|mv|ls|less|cat|df|chmod \d+|git -C|git worktree (unlock|remove|move))"
    r"( -[a-z]+)* $"
)
QUOTING = "quoted"


def find_bare_paths(module: Module) -> Iterator[str]:
    """Complain about a shell command in an f-string whose path is not quoted."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        ready = _quoted_names(module)
        for before, value in zip(node.values, node.values[1:], strict=False):
            if not (isinstance(before, ast.Constant) and isinstance(value, ast.FormattedValue)):
                continue
            if TAKES_PATH.search(str(before.value)) and not _is_quoted(value.value, ready):
                yield f"{module.at(node)}: {ast.unparse(value.value)} is not quoted"


def _is_quoted(value: ast.expr, ready: set[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in ready
    return isinstance(value, ast.Call) and ast.unparse(value.func) == QUOTING


def _quoted_names(module: Module) -> set[str]:
    """Return the variables that hold quoted paths."""
    names = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign) and QUOTING in ast.unparse(node.value):
            names |= {one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name)}
    return names


def test_paths_in_hints_are_quoted() -> None:
    """A hint with a path can be copied whatever the path contains."""
    fix = "put the path through gitworker.rules_text.quoted"
    require_clean(find_bare_paths, modules("gitworker"), fix)


def test_the_rule_finds_a_bare_path() -> None:
    """The rule sees every form of a command, and accepts a quoted path."""
    for bare in ('f"cd {path} && x"', 'f"rm -rf {a.path}"', 'f"git -C {where(path)} status"'):
        assert list(find_bare_paths(snippet(f"x = {bare}\n")))
    for fine in ('f"cd {quoted(path)} && x"', 'f"git worker show {worker}"', '"cd there"'):
        assert not list(find_bare_paths(snippet(f"x = {fine}\n")))
    assert not list(find_bare_paths(snippet('place = quoted(p)\nx = f"mv {place} {place}.old"\n')))
