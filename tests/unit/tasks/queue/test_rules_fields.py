"""The fields of a task that its author sets."""

from typing import Any

import pytest

from gitworker.errors import Invalid
from gitworker.model.task_spec import TaskSpec
from gitworker.tasks.queue.rules_fields import (
    OF_THE_ORDER,
    TaskFields,
    changed_fields,
    own_edit_refusal,
    with_fields,
)

SPEC = TaskSpec("a", title="T", timeout_s=9, agent="claude", test_commands=("make",))


def test_values_replace_values() -> None:
    """A given value replaces the old one; zero seconds and an empty agent mean none."""
    assert with_fields(SPEC, TaskFields()) == SPEC
    found = with_fields(SPEC, TaskFields(text="café".encode(), priority=-5, timeout_s=0, agent=""))
    wanted = with_fields(SPEC, TaskFields(capabilities=("gpu, sql", "gpu")))
    assert wanted.capabilities == ("gpu", "sql")
    assert found == SPEC._replace(text="café", priority=-5, timeout_s=None, agent=None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"priority": 10**10}, "priority must be between"),
        ({"max_retries": -1}, "max retries must be between 0"),
        ({"timeout_s": -1}, "timeout must be between 0"),
        ({"title": "a\0b"}, "title has a NUL character"),
        ({"agent": "\udcff"}, "agent is not valid UTF-8"),
        ({"paths": ("src", " ")}, "paths: a text is empty"),
        ({"test_commands": ("\udcff",)}, "test commands is not valid UTF-8"),
        ({"capabilities": ("a b; rm -rf",)}, "'a b; rm -rf' is not a capability"),
        ({"text": b"\xff"}, "text must be UTF-8"),
    ],
)
def test_values_that_no_task_can_have(fields: dict[str, Any], message: str) -> None:
    """A value out of bounds is refused with the name of its field."""
    with pytest.raises(Invalid, match=message):
        with_fields(SPEC, TaskFields(**fields))


def test_a_worker_does_not_change_its_own_order() -> None:
    """A worker may edit the rest of its own task, but not what decides about its work."""
    assert own_edit_refusal("t1", "auth", {"priority", "title"}) is None
    for name in OF_THE_ORDER:
        refusal = own_edit_refusal("t1", "auth", {"priority", name})
        assert refusal is not None
        assert refusal.message.startswith("worker auth has task t1 and cannot change its own")
    changed = changed_fields(SPEC, SPEC._replace(timeout_s=None, test_commands=()))
    assert changed == {"timeout_s", "test_commands"}
