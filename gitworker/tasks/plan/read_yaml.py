"""A plan in YAML: a list of tasks, or `tasks:` with one and `workstream:` for all.

PyYAML is an optional package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import Unavailable
from gitworker.tasks.plan.rules_plan import PlannedTask, at_line, in_workstream, planned_task

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    try:
        return loader.construct_document(node)
    except ValueError as error:  # an impossible date, or a number with too many digits
        raise at_line(node.start_mark.line + 1, str(error)[:80]) from None


def _workstream(root: Any) -> str | None:
    """Return the workstream beside `tasks:`, if there is one."""
    pairs = root.value if root is not None and root.id == "mapping" else ()
    return next((value.value for key, value in pairs if key.value == "workstream"), None)


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
