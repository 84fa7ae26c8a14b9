"""House rules on size: where discipline ends, drawers of 4,000 lines begin."""

import ast
from collections.abc import Iterator

from tests.architecture.house import (
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
            where = module.at(function)
            yield f"{where}: {function.name} has {lines} lines, {FUNCTION_LINES} are allowed"


def find_many_parameters(module: Module) -> Iterator[str]:
    """Complain about functions that take more positional parameters than a reader can keep."""
    for function in functions(module):
        positional = [*function.args.posonlyargs, *function.args.args]
        names = [argument.arg for argument in positional if argument.arg not in ("self", "cls")]
        if len(names) > POSITIONAL and not _is_callback(function, module):
            where = module.at(function)
            yield f"{where}: {function.name}({', '.join(names)}): {POSITIONAL} are allowed"


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


def test_size_rules_bite() -> None:
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
    """Tell whether click or pytest calls the function, by name: it has no positions then."""
    names = {ast.unparse(decorator).split("(")[0] for decorator in function.decorator_list}
    if any(name.endswith((".command", ".option", ".argument", "fixture")) for name in names):
        return True
    return module.path.startswith("tests/") and function.name.startswith("test_")
