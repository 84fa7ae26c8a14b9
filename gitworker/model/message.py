"""The message types of the bus (seeds 2 and 5). Plain strings: hot verbs cannot afford `enum`."""


class MessageType:
    """Names for what a message says; private types begin with `x-`."""

    TASK_ASSIGN = "task_assign"
    TASK_CLAIM = "task_claim"
    TASK_PROGRESS = "task_progress"
    TASK_DONE = "task_done"
    TASK_FAILED = "task_failed"
    TASK_BLOCKED = "task_blocked"
    HEARTBEAT = "heartbeat"  # reserved: beats live in a table of their own
    STATE_CHANGE = "state_change"
    REVIEW_REQUEST = "review_request"
    REVIEW_RESULT = "review_result"
    AGENT_STARTED = "agent_started"
    AGENT_STOPPED = "agent_stopped"
    STATUS = "status"  # from here on seed 5
    LOG = "log"
    SIGNAL = "signal"
    CMD = "cmd"
    WINDOW = "x-window"  # a window of the landing queue: whom it carries, how it ended
    VERIFY = "x-verify"  # a verdict of the verify commands
    CONFLICT_WARNING = "conflict_warning"  # the radar's: two branches have begun to conflict
    DEAD_LETTER = "x-dead-letter"  # tells a sender that an agent's handler failed on its message


PRIVATE = "x-"
SEED_TYPES = frozenset(
    (
        MessageType.TASK_ASSIGN, MessageType.TASK_CLAIM, MessageType.TASK_PROGRESS,
        MessageType.TASK_DONE, MessageType.TASK_FAILED, MessageType.TASK_BLOCKED,
        MessageType.HEARTBEAT, MessageType.STATE_CHANGE, MessageType.REVIEW_REQUEST,
        MessageType.REVIEW_RESULT, MessageType.AGENT_STARTED, MessageType.AGENT_STOPPED,
        MessageType.STATUS, MessageType.LOG, MessageType.SIGNAL, MessageType.CMD,
    )
)  # fmt: skip
