"""The states, events and records of an agent: the process, or program to start, of a worker."""

from dataclasses import dataclass, field
from enum import StrEnum


class AgentState(StrEnum):
    """The state of an agent: the states of the transition log's format and of the task model."""

    INITIALIZING = "INITIALIZING"
    IDLE = "IDLE"
    STARTING = "STARTING"
    BUSY = "BUSY"
    PAUSED = "PAUSED"
    UNRESPONSIVE = "UNRESPONSIVE"
    ERROR = "ERROR"
    SHUTDOWN = "SHUTDOWN"


class AgentEvent(StrEnum):
    """An event of an agent."""

    REGISTRATION_COMPLETE = "registration_complete"
    TASK_ASSIGNED = "task_assigned"
    AGENT_STARTED = "agent_started"
    LAUNCH_FAILED = "launch_failed"
    TASK_COMPLETED = "task_completed"
    TOKENS_EXHAUSTED = "tokens_exhausted"
    RESUME = "resume"
    TASK_RELEASED = "task_released"
    HEALTH_CHECK_TIMEOUT = "health_check_timeout"
    HEALTH_CHECK_RECOVERED = "health_check_recovered"
    HEALTH_CHECK_RESUMED = "health_check_resumed"
    MAX_TIMEOUT_EXCEEDED = "max_timeout_exceeded"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    SHUTDOWN_REQUESTED = "shutdown_requested"
    UNRECOVERABLE_ERROR = "unrecoverable_error"
    RESET = "reset"


class AgentResult(StrEnum):
    """How an agent's run ended."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    PAUSED_TOKENS = "PAUSED_TOKENS"
    PAUSED_RATE_LIMIT = "PAUSED_RATE_LIMIT"


@dataclass(frozen=True, slots=True)
class Agent:
    """One registered agent. `last_heartbeat` is seconds since the epoch."""

    id: str
    name: str
    agent_type: str
    state: AgentState = AgentState.IDLE
    current_task_id: str | None = None
    checkout_path: str | None = None
    repo_id: str | None = None
    pid: int | None = None
    last_heartbeat: float | None = None
    total_tokens_used: int = 0
    session_tokens_used: int = 0


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The report of an agent when its run ends, with success or failure."""

    result: AgentResult
    summary: str = ""
    files_changed: list[str] = field(default_factory=list)
    tokens_used: int = 0
    error_message: str | None = None
