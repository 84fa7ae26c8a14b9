"""House rules on size: files, functions, signatures and packages stay small."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.house import (
    ROOT,
    Function,
    Module,
    everything,
    functions,
    require_clean,
    snippet,
)

FILE_LINES = 500  # the aim is 300
FUNCTION_LINES = 60  # the aim is 40
POSITIONAL = 4
ROOM_GATE = 12  # modules in one package, `__init__.py` not counted


def find_long_files(module: Module) -> Iterator[str]:
    """Complain about a file that is longer than the gate."""
    lines = module.text.count("\n")
    if lines > FILE_LINES:
        yield f"{module.path}: {lines} lines, {FILE_LINES} are allowed"


def find_long_functions(module: Module) -> Iterator[str]:
    """Complain about functions that are longer than the gate, their docstring not counted."""
    for function in functions(module):
        lines = _lines(function)
        if lines > FUNCTION_LINES:
            place = module.at(function)
            yield f"{place}: {function.name} has {lines} lines, {FUNCTION_LINES} are allowed"


def find_many_parameters(module: Module) -> Iterator[str]:
    """Complain about functions with more positional parameters than allowed."""
    for function in functions(module):
        positional = [*function.args.posonlyargs, *function.args.args]
        names = [argument.arg for argument in positional if argument.arg not in ("self", "cls")]
        if len(names) > POSITIONAL and not _is_callback(function, module):
            place = module.at(function)
            yield f"{place}: {function.name}({', '.join(names)}): {POSITIONAL} are allowed"


def test_file_size() -> None:
    """A file stays under the gate of 500 lines."""
    fix = "split the file by noun, public names first; the aim is under 300 lines"
    require_clean(find_long_files, everything(), fix)


def test_function_size() -> None:
    """A function stays under the gate of 60 lines."""
    fix = "take a step out of the function and name it; the aim is under 40 lines"
    require_clean(find_long_functions, everything(), fix)


def test_positional_parameters() -> None:
    """A function takes at most four positional parameters."""
    fix = "make the rest keyword-only (after a `*`), or gather them in a frozen dataclass"
    require_clean(find_many_parameters, everything(), fix)


def crowded(root: Path) -> list[str]:
    """Return the packages below a folder that hold more modules than the gate."""
    found = []
    for folder in sorted({path.parent for path in root.rglob("*.py")}):
        modules_here = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        if len(modules_here) > ROOM_GATE:
            found.append(f"{folder.relative_to(root)}: {len(modules_here)} modules")
    return found


def test_room_size() -> None:
    """A package of the product has at most twelve modules."""
    fix = "How to fix: split the package by noun into packages below it"
    assert crowded(ROOT / "gitworker") == [], fix


def test_room_size_rule_finds_faults(tmp_path: Path) -> None:
    """The rule on packages finds one with a thirteenth module, and no smaller one."""
    for room, count in (("large", ROOM_GATE + 1), ("small", ROOM_GATE)):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").touch()
        for number in range(count):
            (tmp_path / room / f"module_{number}.py").touch()
    assert crowded(tmp_path) == ["large: 13 modules"]


def test_size_rules_find_faults() -> None:
    """Each size rule finds a file, a function and a signature one too long."""
    body = "    x = 1\n" * (FUNCTION_LINES + 1)
    bad = snippet(f"def f(a, b, c, d, e):\n{body}" + "\n" * FILE_LINES)
    assert len(list(find_long_files(bad))) == 1
    assert len(list(find_long_functions(bad))) == 1
    assert len(list(find_many_parameters(bad))) == 1


def _lines(function: Function) -> int:
    start = function.lineno
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        documentation = function.body[0]
        length = (documentation.end_lineno or start) - documentation.lineno + 1
    else:
        length = 0
    return (function.end_lineno or start) - start + 1 - length


def _is_callback(function: Function, module: Module) -> bool:
    """Return whether click or pytest calls the function by name, so that positions do not count."""
    names = {ast.unparse(decorator).split("(")[0] for decorator in function.decorator_list}
    if any(name.endswith((".command", ".option", ".argument", "fixture")) for name in names):
        return True
    return module.path.startswith("tests/") and function.name.startswith("test_")
