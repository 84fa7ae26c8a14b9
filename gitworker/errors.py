"""The error tree: what went wrong, in one sentence, and the one command that helps.

Every error a user can meet is one of these classes. The class decides the exit status
(DESIGN section 8): 1 refused, 2 usage, 3 conflict, 4 not found, 70 a bug of ours.
"""


class GitWorkerError(Exception):
    """A failure with a message for people, a code for programs and a hint that helps.

    `detail` is text kept beneath the message, such as git's own standard error.
    """

    status = 1
    code = "failed"

    def __init__(
        self, message: str, hint: str | None = None, *, code: str | None = None, detail: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail
        if code is not None:
            self.code = code


class Refused(GitWorkerError):
    """The request is understood, but the present state does not allow it."""

    code = "refused"


class Invalid(GitWorkerError):
    """The input itself is wrong: a bad id, an option that makes no sense."""

    status = 2
    code = "invalid"


class Conflict(GitWorkerError):
    """Somebody else's change is in the way; a retry or a hand may help."""

    status = 3
    code = "conflict"


class NotFound(GitWorkerError):
    """What the request names does not exist."""

    status = 4
    code = "not_found"


class Unavailable(GitWorkerError):
    """Something that is needed cannot be used: no repository, an old git, a read-only disk."""

    code = "unavailable"


class Internal(GitWorkerError):
    """A bug of ours."""

    status = 70
    code = "internal"
