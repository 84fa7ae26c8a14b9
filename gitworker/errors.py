"""The error tree: what went wrong, in one sentence, and the one command that helps.

Every error a user can meet is one of these classes. The class decides the exit status
(DESIGN section 8): 1 refused, 2 usage, 3 conflict, 4 not found, 70 a bug of ours.
"""

READ_ONLY = "Read-only file system"  # what system and git say of EROFS, untranslated


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


class Naming:
    """Lets a failed write or sync, for which the system names no file, name this one."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Name the file; the error goes on."""
        if isinstance(error, OSError) and error.filename is None:
            error.filename = self._path


def is_disk_full(error: OSError) -> bool:
    """Tell whether the disk, or the user's share of it, is full or cannot be written."""
    import errno  # not on the hot verbs' path

    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def is_of_system(error: OSError) -> bool:
    """Tell whether a failure is the system's or the user's to repair.

    A full disk, missing rights, or something else in the place of a file or directory.
    """
    import errno

    known = (
        errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO, errno.EBUSY, errno.EFBIG,
        errno.ENAMETOOLONG, errno.EXDEV, errno.ESTALE, errno.ENOMEM, errno.EMLINK, errno.ETIMEDOUT,
        errno.ETXTBSY, errno.ENOLCK,
    )  # fmt: skip
    misplaced = (errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
    return is_disk_full(error) or error.errno in (*known, *misplaced)


def error_of(error: Exception) -> GitWorkerError:
    """Return any exception as one of ours, for whoever goes on without what failed."""
    if isinstance(error, GitWorkerError):
        return error
    if isinstance(error, OSError):
        place, why = error.filename, error.strerror or str(error)
        if is_disk_full(error):
            what = "cannot write" if place is None else f"cannot write {place}"
            return Unavailable(f"{what}: {why}", "df -h", code="disk")
        message = why if place is None else f"{place}: {why}"
        return Unavailable(message, "git worker doctor", code="system")
    return Internal(f"{type(error).__name__}: {error}", "git worker doctor")
