"""A plan in YAML: a list of tasks, or `tasks:` with one and `workstream:` for all.

PyYAML is an optional package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import Unavailable
from gitworker.tasks.plan.rules_plan import (
    LISTS,
    PlannedTask,
    at_line,
    in_workstream,
    planned_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

TAG = "tag:yaml.org,2002:"
TEXT, NULL = f"{TAG}str", f"{TAG}null"
CONVERTED = frozenset(f"{TAG}{kind}" for kind in ("int", "float", "bool", "timestamp"))
AS_WRITTEN = ("id", "needs", *LISTS)  # the id 010 is not 8, the command true not True


def parse_yaml(text: str) -> list[PlannedTask]:
    """Return the tasks; raise Invalid, naming the line, and Unavailable without PyYAML."""
    try:
        import yaml
    except ImportError:
        raise Unavailable(
            "a plan in YAML needs the Python package PyYAML", "pip install PyYAML", code="no_yaml"
        ) from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        tasks = list(_task_nodes(root))
        loader = yaml.SafeLoader("")
        planned = [
            planned_task(node.start_mark.line + 1, _value_of(loader, node)) for node in tasks
        ]
        return in_workstream(planned, _workstream(root))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "this is not YAML"
        raise at_line(mark.line + 1 if mark else 1, str(problem)) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise at_line(1, f"this is not YAML: {str(error).splitlines()[0][:80]}") from None


def _value_of(loader: Any, node: Any) -> Any:
    for key, value in _unique_pairs(node):
        if key.value in AS_WRITTEN:
            for one in value.value if value.id == "sequence" else [value]:
                one.tag = TEXT if one.id == "scalar" and one.tag in CONVERTED else one.tag
    try:
        return loader.construct_document(node)
    except ValueError as error:  # an impossible date, or a number with too many digits
        raise at_line(node.start_mark.line + 1, str(error)[:80]) from None


def _unique_pairs(node: Any) -> Any:
    """Return the keys and values of a mapping; raise Invalid for a key that is given twice."""
    seen: set[str] = set()
    for key, _ in node.value:
        if key.id == "scalar":  # another one is no field at all
            if key.value in seen:
                raise at_line(key.start_mark.line + 1, f"{ascii(key.value)[:40]} is given twice")
            seen.add(key.value)
    return node.value


def _workstream(root: Any) -> str | None:
    """Return the workstream beside `tasks:`, if there is one."""
    pairs = _unique_pairs(root) if root is not None and root.id == "mapping" else ()
    found = next((value for key, value in pairs if key.value == "workstream"), None)
    return None if found is None or found.tag == NULL else found.value


def _task_nodes(root: Any) -> Iterator[Any]:
    """Yield the nodes of the tasks."""
    if root is None:
        return
    if root.id == "mapping":
        for key, value in root.value:
            if key.value == "tasks":
                root = value
    if root.id != "sequence":
        raise at_line(root.start_mark.line + 1, "the plan must be a list of tasks")
    for node in root.value:
        if node.id != "mapping":
            raise at_line(node.start_mark.line + 1, "a task must be a mapping, such as id: form")
        yield node
