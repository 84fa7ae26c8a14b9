"""The state machines as data, and the functions on them. Pure: no I/O, no clock.

The public names load on first use, so that the import of one machine does not load all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.states.dag import (
        CyclicDependencyError,
        validate_dag,
        validate_dag_with_new_edge,
    )
    from gitworker.states.engine import InvalidTransition, Machine, next_state
    from gitworker.states.task_machine import (
        VALID_STATUS_TRANSITIONS,
        VALID_TASK_TRANSITIONS,
        is_valid_status_transition,
        task_transition,
    )
    from gitworker.states.workstream_machine import derive_workstream_state

__all__ = [
    "VALID_STATUS_TRANSITIONS",
    "VALID_TASK_TRANSITIONS",
    "CyclicDependencyError",
    "InvalidTransition",
    "Machine",
    "derive_workstream_state",
    "is_valid_status_transition",
    "next_state",
    "task_transition",
    "validate_dag",
    "validate_dag_with_new_edge",
]

HOME = {
    "CyclicDependencyError": "dag",
    "validate_dag": "dag",
    "validate_dag_with_new_edge": "dag",
    "InvalidTransition": "engine",
    "Machine": "engine",
    "next_state": "engine",
    "VALID_STATUS_TRANSITIONS": "task_machine",
    "VALID_TASK_TRANSITIONS": "task_machine",
    "is_valid_status_transition": "task_machine",
    "task_transition": "task_machine",
    "derive_workstream_state": "workstream_machine",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use."""
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    globals()[name] = value
    return value
