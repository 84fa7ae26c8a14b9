"""The message types of the bus (seed 2). Plain strings: the hot verbs cannot afford `enum`."""


class MessageType:
    """Names for what a message says; any other text is a legal type too."""

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
