"""The states of a question of a worker, and the question itself. Pure."""

from typing import NamedTuple

# A late question can still be answered.
OPEN, LATE, ANSWERED, WITHDRAWN = "open", "late", "answered", "withdrawn"


class Question(NamedTuple):
    """One question of a worker. Times are epoch milliseconds."""

    id: int
    task_id: str
    worker_id: str
    text: str
    options: tuple[str, ...]
    message_id: str
    asked_at_ms: int
    timeout_ms: int | None
    state: str
    answered_at_ms: int | None
    answer: str | None
    answered_by: str | None

    @property
    def shown(self) -> str:
        """Return the text with the options, if there are any."""
        return f"{self.text} ({', '.join(self.options)})" if self.options else self.text
