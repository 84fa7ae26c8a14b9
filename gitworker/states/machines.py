"""All machines by name, for the database, the log and the docs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gitworker.states.agent_machine import AGENT_MACHINE
from gitworker.states.comment_machine import COMMENT_MACHINE
from gitworker.states.engine import Machine
from gitworker.states.task_machine import TASK_MACHINE
from gitworker.states.worker_machine import WORKER_MACHINE
from gitworker.states.workstream_machine import WORKSTREAM_MACHINE

MACHINES: Mapping[str, Machine[Any, Any]] = MappingProxyType(
    {
        machine.name: machine
        for machine in (
            WORKER_MACHINE,
            TASK_MACHINE,
            WORKSTREAM_MACHINE,
            AGENT_MACHINE,
            COMMENT_MACHINE,
        )  # fmt: skip
    }
)
