"""The rules of a transition log, by the name that a finding carries."""

from collections.abc import Mapping
from types import MappingProxyType

RULES: Mapping[str, str] = MappingProxyType(
    {
        "json": "Every line is one well-formed JSON object.",
        "schema": "Every line has the fields of the event schema, and known metadata has its type.",
        "severity": "A line has the severity that its transition requires, if any.",
        "timestamp-order": "A timestamp is never earlier than that of the line before.",
        "transition": "Every (from, to) is a step of its machine.",
        "trigger": "The trigger belongs to this step.",
        "guard": "A worker leaves STALE only by a trigger that fits the state before STALE.",
        "initial-state": "An entity's first line starts in its machine's initial state.",
        "single-active-state": "A line starts in the state that the entity's last line ended in.",
        "monotonic-progress": "A terminal state is never left.",
        "incarnation-order": "`task#n+1` begins only after `task#n` has ended.",
        "worker-assignment": "Only a line to `running` names a worker.",
        "retry-limit": (
            "`retry_count` never exceeds `max_retries`, and a task is retried only below it."
        ),
        "timestamp-ordering": "`created_at` ≤ `started_at` ≤ `completed_at`.",
        "dependency-satisfaction": (
            "On a line to `queued`, every task in `dependencies` has completed in some incarnation,"
            " unless the task has waived its dependencies."
        ),
        "task-state-consistency": (
            "A workstream executes only once one of its tasks has started, or failed to."
        ),
        "completion-requirement": (
            "A workstream validates and completes only when its tasks are completed, cancelled or"
            " listed in `dropped`."
        ),
        "failure-propagation": "`critical_task_failed` needs a critical task that failed.",
        "capacity-limit": "An agent never has more than `max_concurrent_tasks` tasks.",
        "graceful-shutdown": "A busy agent shuts down only after its task has ended.",
    }
)
