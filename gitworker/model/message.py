"""The message types of the bus. Plain strings, since importing `enum` would slow hot verbs."""


class MessageType:
    """The message types; private ones begin with `x-`."""

    TASK_ASSIGN = "task_assign"
    TASK_CLAIM = "task_claim"
    TASK_PROGRESS = "task_progress"
    TASK_DONE = "task_done"
    TASK_FAILED = "task_failed"
    TASK_BLOCKED = "task_blocked"
    HEARTBEAT = "heartbeat"  # reserved: heartbeats are stored in their own table
    STATE_CHANGE = "state_change"
    REVIEW_REQUEST = "review_request"
    REVIEW_RESULT = "review_result"
    AGENT_STARTED = "agent_started"
    AGENT_STOPPED = "agent_stopped"
    AGENT_START = "agent_start"  # this and the next two report an agent's own work
    TOOL_USE = "tool_use"
    ERROR = "error"
    STATUS = "status"  # this and the next three are the types that agents add
    LOG = "log"
    SIGNAL = "signal"
    CMD = "cmd"
    QUESTION = "x-question"  # waits for an answer that names it in `in_reply_to`
    WINDOW = "x-window"  # a window of the landing queue: its workers and its outcome
    VERIFY = "x-verify"  # a verdict of the verify commands
    CONFLICT_WARNING = "conflict_warning"  # of the radar: two branches have begun to conflict
    DEAD_LETTER = "x-dead-letter"  # to a sender: an agent's handler failed on its message


# Broadcasts that only report a command or a commit: a worker gets a message of its own if one of
# them changes its work.
AUTOMATIC = (
    MessageType.STATE_CHANGE, MessageType.TASK_ASSIGN, MessageType.TASK_CLAIM,
    MessageType.TASK_PROGRESS, MessageType.TASK_DONE, MessageType.TASK_FAILED,
    MessageType.REVIEW_REQUEST, MessageType.AGENT_STARTED, MessageType.AGENT_STOPPED,
    MessageType.AGENT_START, MessageType.TOOL_USE,
)  # fmt: skip
LANDING_REFUSED = "landing_refused"  # the event of a log message; also the code of the trouble
STOP, PAUSE, RESUME = ORDERS = ("stop", "pause", "resume")  # the commands of a `cmd`
PRIVATE = "x-"
PUBLIC_TYPES = frozenset(
    (
        MessageType.TASK_ASSIGN, MessageType.TASK_CLAIM, MessageType.TASK_PROGRESS,
        MessageType.TASK_DONE, MessageType.TASK_FAILED, MessageType.TASK_BLOCKED,
        MessageType.HEARTBEAT, MessageType.STATE_CHANGE, MessageType.REVIEW_REQUEST,
        MessageType.REVIEW_RESULT, MessageType.AGENT_STARTED, MessageType.AGENT_STOPPED,
        MessageType.AGENT_START, MessageType.TOOL_USE, MessageType.ERROR,
        MessageType.STATUS, MessageType.LOG, MessageType.SIGNAL, MessageType.CMD,
    )
)  # fmt: skip
