"""The error tree."""

import pytest

from gitworker import errors
from gitworker.errors import GitWorkerError

STATUS = {
    "GitWorkerError": (1, "failed"), "Refused": (1, "refused"), "Invalid": (2, "invalid"),
    "Conflict": (3, "conflict"), "NotFound": (4, "not_found"), "Unavailable": (1, "unavailable"),
    "Internal": (70, "internal"),
}  # fmt: skip


@pytest.mark.parametrize("name", STATUS)
def test_the_class_decides_status_and_code(name: str) -> None:
    """Each class has its documented exit status and a code for programs."""
    error = getattr(errors, name)("It failed", "git worker status")
    assert isinstance(error, GitWorkerError)
    assert (error.status, error.code) == STATUS[name]
    assert (str(error), error.message, error.hint) == ("It failed",) * 2 + ("git worker status",)
    assert error.detail == ""


@pytest.mark.parametrize(
    ("error", "code", "message", "hint"),
    [
        (errors.Refused("No", "git status", code="x"), "x", "No", "git status"),
        (OSError(28, "No space left", "/a"), "disk", "cannot write /a: No space left", "df -h"),
        (OSError(30, "Read-only"), "disk", "cannot write: Read-only", "df -h"),
        (OSError(2, "No such file", "/a"), "system", "/a: No such file", "git worker doctor"),
        (OSError("odd"), "system", "odd", "git worker doctor"),
        (ValueError("odd"), "internal", "ValueError: odd", "git worker doctor"),
    ],
)
def test_any_exception(error: Exception, code: str, message: str, hint: str) -> None:
    """Every exception can be reported as one of our errors."""
    coded = errors.as_gitworker_error(error)
    assert (coded.code, coded.message, coded.hint) == (code, message, hint)


@pytest.mark.parametrize(("number", "is_theirs"), [(13, True), (24, True), (28, True), (2, False)])
def test_failures_of_the_system(number: int, is_theirs: bool) -> None:
    """Missing rights, descriptors or space are the system's; a missing file may be a bug."""
    assert errors.is_environment_error(OSError(number, "no")) is is_theirs


def test_every_class_is_listed() -> None:
    """Every class of the tree has its status in this file."""
    found = {n for n, v in vars(errors).items() if isinstance(v, type) and issubclass(v, Exception)}
    assert found == set(STATUS)


def test_an_error_may_be_more_exact() -> None:
    """An error can have its own code and the output of git without another class."""
    error = errors.Refused("No", code="dirty", detail="fatal: no")
    assert (error.code, error.detail, error.hint) == ("dirty", "fatal: no", None)
    assert errors.Refused("No").code == "refused"
