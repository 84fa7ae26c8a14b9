"""House rules on names and words: descriptive rooms, documented public names."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.house import (
    PYTHON_TOPS,
    ROOT,
    Module,
    everything,
    functions,
    modules,
    require_clean,
    snippet,
)

CLICK_CALLS_IT = {"get_command", "get_help", "get_params", "get_short_help_str", "get_usage"}
DRAWERS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base", "core"}
# Spelled so that this file does not break its own rule.
HOME_PATH = re.compile(r"(?<![\w.$}])/(home/\w+|Users/\w+|root/\w|work/\w)")
TEXT_SUFFIXES = {".py", ".md", ".toml", ".sql", ".sh", ".yml", ".yaml", ".cfg", ".1", ""}
TEXT_TOPS = (*PYTHON_TOPS, "githooks", "scripts", ".ci")


def find_drawers(module: Module) -> Iterator[str]:
    """Complain about a module or package with an empty name such as `utils`."""
    for part in module.path.removesuffix(".py").split("/"):
        if part.lstrip("_") in DRAWERS:
            yield f"{module.path}: {part!r} does not say what is inside"


def find_undocumented(module: Module) -> Iterator[str]:
    """Complain about a module, public class or public function without a docstring."""
    if module.name != "__init__" or module.tree.body:
        yield from _missing(module, module.tree, "the module")
    yield from _undocumented_members(module, module.tree.body)


def find_getters(module: Module) -> Iterator[str]:
    """Complain about a function whose name hides whether it raises, reads disk or waits."""
    for function in functions(module):
        name = function.name.lstrip("_")
        if name.startswith("get_") and name not in CLICK_CALLS_IT:
            yield f"{module.at(function)}: {function.name}"


def find_home_paths(name: str, text: str) -> Iterator[str]:
    """Complain about a path that exists on one machine only."""
    for number, line in enumerate(text.splitlines(), 1):
        found = HOME_PATH.search(line)
        if found:
            yield f"{name}:{number}: {found.group(0)}"


def test_no_drawers() -> None:
    """No module has an empty name."""
    fix = "name the file after the noun it holds or the verb it does; split it if there are several"
    require_clean(find_drawers, everything(), fix)


def test_public_things_are_documented() -> None:
    """Every module, public class and public function has a docstring."""
    fix = "name the effect first, then facts outside the signature: units, ranges, errors and when"
    require_clean(find_undocumented, modules("gitworker"), fix)


def test_no_getters() -> None:
    """No function is called `get_`."""
    fix = (
        "find_ may return None, require_ raises, load_ reads disk, fetch_ the network, wait_ blocks"
    )
    require_clean(find_getters, modules("gitworker"), fix)


def test_no_machine_paths() -> None:
    """No file of the project names a user's home directory."""
    complaints: list[str] = []
    names = _text_files()
    assert len(names) > 20, "the rule saw hardly any file: is ROOT right?"
    for name in names:
        complaints += find_home_paths(name, (ROOT / name).read_text("utf-8", "replace"))
    fix = "use a path relative to the repository, tmp_path or $HOME"
    assert not complaints, "\n".join([*complaints, f"How to fix: {fix}"])


def test_name_rules_find_faults() -> None:
    """Each rule on names finds its fault."""
    bad = snippet("class A:\n    def b(self): ...\ndef c(): ...\n", "gitworker/room/utils.py")
    assert len(list(find_drawers(bad))) == 1
    assert len(list(find_undocumented(bad))) == 4
    assert len(list(find_getters(snippet("def get_x(): ...\n")))) == 1
    assert len(list(find_home_paths("x", "cd /" + "home/ada\n"))) == 1


def _missing(
    module: Module, node: ast.Module | ast.ClassDef | ast.FunctionDef, kind: str
) -> list[str]:
    return [] if ast.get_docstring(node) else [f"{module.at(node)}: {kind} has no docstring"]


def _undocumented_members(module: Module, body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _missing(module, node, node.name)
            yield from _undocumented_members(module, node.body)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if not any(name == "overload" or name.endswith(".setter") for name in decorators):
                yield from _missing(module, node, node.name)


def _text_files() -> list[str]:
    paths = [path for path in ROOT.iterdir() if path.is_file()]
    for top in TEXT_TOPS:
        paths += [path for path in (ROOT / top).rglob("*") if path.is_file()]
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.suffix in TEXT_SUFFIXES and not path.name.startswith(".coverage")
    )
