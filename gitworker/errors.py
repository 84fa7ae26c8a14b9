"""The error tree: each error has a message of one sentence and the command that helps.

Every error that a user can see is one of these classes. The class decides the exit status: 1
refused, 2 usage, 3 conflict, 4 not found, 70 a bug in gitworker.
"""

UNREACHABLE = "fleet_unreachable"  # the code if no machine can write what all machines share
HAS_LEFT = "fleet_left"
BUSY = "busy"  # the code if another program has the lock for too long
LOST = "fleet_lost"  # the code if the connection to the fleet was lost and nothing was written
UNKNOWN = "fleet_unknown"  # the code if a write was sent, and its answer was lost
# The codes of a store that could not be reached just now: a repeated command may reach it.
OUT_OF_REACH = frozenset({BUSY, LOST, UNKNOWN, UNREACHABLE})
NEEDS_LINK = "needs_link"  # the code of a hot verb that must run again by way of the link
REPLACED = "database_replaced"  # the code if bus.db was deleted while a process had it open
READ_ONLY = "Read-only file system"  # the untranslated text of EROFS, from the system and from git


class GitWorkerError(Exception):
    """A failure with a message for people, a code for programs and a hint that helps.

    `detail` is more text below the message, such as git's standard error.
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

    def to_json(self) -> dict[str, object]:
        """Return the error as the fields of a JSON document."""
        fields: dict[str, object] = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
        }
        if self.detail:
            fields["detail"] = self.detail
        return fields


class Refused(GitWorkerError):
    """The request is understood, but the present state does not allow it."""

    code = "refused"


class Invalid(GitWorkerError):
    """The input itself is wrong: a bad id, an option that makes no sense."""

    status = 2
    code = "invalid"


class Conflict(GitWorkerError):
    """A change by another command or person conflicts; a retry or a manual fix may help."""

    status = 3
    code = "conflict"


class NotFound(GitWorkerError):
    """The named object does not exist."""

    status = 4
    code = "not_found"


class Unavailable(GitWorkerError):
    """A prerequisite is missing: no repository, an old git, a read-only disk."""

    code = "unavailable"


class Internal(GitWorkerError):
    """A bug in gitworker."""

    status = 70
    code = "internal"


class Naming:
    """Adds the path of a file to the OSError of a failed write or sync, which has none."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Add the path and let the error propagate."""
        if isinstance(error, OSError) and error.filename is None:
            error.filename = self._path


def is_disk_full(error: OSError) -> bool:
    """Return whether the disk or the user's quota is full, or the disk is read-only."""
    import errno  # not on the hot verbs' path

    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def is_environment_error(error: OSError) -> bool:
    """Return whether the user or the system can repair a failure, so that it is no bug.

    Examples: a full disk, missing rights, a directory in the place of a file.
    """
    import errno

    known = (
        errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO, errno.EBUSY, errno.EFBIG,
        errno.ENAMETOOLONG, errno.EXDEV, errno.ESTALE, errno.ENOMEM, errno.EMLINK, errno.ETIMEDOUT,
        errno.ETXTBSY, errno.ENOLCK,
    )  # fmt: skip
    misplaced = (errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
    return is_disk_full(error) or error.errno in (*known, *misplaced)


def as_gitworker_error(error: Exception) -> GitWorkerError:
    """Return any exception as a GitWorkerError, for a caller that continues after it."""
    if isinstance(error, GitWorkerError):
        return error
    if isinstance(error, OSError):
        place, why = error.filename, error.strerror or str(error)
        if is_disk_full(error):
            failure = "cannot write" if place is None else f"cannot write {place}"
            return Unavailable(f"{failure}: {why}", "df -h", code="disk")
        message = why if place is None else f"{place}: {why}"
        return Unavailable(message, "git worker doctor", code="system")
    return Internal(f"{type(error).__name__}: {error}", "git worker doctor")
