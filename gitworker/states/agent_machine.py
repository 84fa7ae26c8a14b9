"""The agent machine: the transition log's worker lifecycle and the task model's agent states."""

from gitworker.model.agent import AgentEvent as E
from gitworker.model.agent import AgentState as S
from gitworker.states.engine import Machine, next_state

AGENT_MACHINE: Machine[S, E] = Machine(
    "agent",
    S.INITIALIZING,
    {
        (S.INITIALIZING, E.REGISTRATION_COMPLETE): S.IDLE,
        (S.IDLE, E.TASK_ASSIGNED): S.STARTING,
        (S.IDLE, E.PAUSE): S.PAUSED,
        (S.IDLE, E.SHUTDOWN_REQUESTED): S.SHUTDOWN,
        (S.STARTING, E.AGENT_STARTED): S.BUSY,
        (S.STARTING, E.LAUNCH_FAILED): S.ERROR,
        (S.STARTING, E.SHUTDOWN_REQUESTED): S.SHUTDOWN,
        (S.BUSY, E.TASK_COMPLETED): S.IDLE,
        (S.BUSY, E.TOKENS_EXHAUSTED): S.PAUSED,
        (S.BUSY, E.HEALTH_CHECK_TIMEOUT): S.UNRESPONSIVE,
        (S.BUSY, E.UNRECOVERABLE_ERROR): S.ERROR,
        (S.BUSY, E.SHUTDOWN_REQUESTED): S.SHUTDOWN,
        (S.PAUSED, E.RESUME): S.BUSY,
        (S.PAUSED, E.TASK_RELEASED): S.IDLE,
        (S.PAUSED, E.UNPAUSE): S.IDLE,
        (S.PAUSED, E.SHUTDOWN_REQUESTED): S.SHUTDOWN,
        (S.UNRESPONSIVE, E.HEALTH_CHECK_RECOVERED): S.IDLE,
        (S.UNRESPONSIVE, E.HEALTH_CHECK_RESUMED): S.BUSY,
        (S.UNRESPONSIVE, E.MAX_TIMEOUT_EXCEEDED): S.SHUTDOWN,
        (S.ERROR, E.RESET): S.IDLE,
        (S.ERROR, E.SHUTDOWN_REQUESTED): S.SHUTDOWN,
    },
)

# Events that the table allows only for an agent without a task, or with one.
NEEDS_NO_TASK = frozenset({E.HEALTH_CHECK_RECOVERED, E.UNPAUSE})
NEEDS_TASK = frozenset({E.HEALTH_CHECK_RESUMED, E.RESUME, E.TASK_RELEASED})


def guard_allows(event: E, *, has_task: bool) -> bool:
    """Return whether `event` is allowed for an agent with, or without, a task.

    A paused agent with a task resumes or releases it; one without a task is unpaused. An agent that
    answers again is busy if it still has its task, and idle otherwise.
    """
    return event not in (NEEDS_NO_TASK if has_task else NEEDS_TASK)


def agent_transition(state: S, event: E) -> S:
    """Return the state that `event` leads to; raise InvalidTransition if it is not allowed."""
    return next_state(AGENT_MACHINE, state, event)
