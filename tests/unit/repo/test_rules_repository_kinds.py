"""The meaning of git's messages when it does not open a repository."""

import pytest

from gitworker.repo.plumbing.rules_repository_kinds import NEWER, explain

CASES = {
    "fatal: unknown repository extension found:\n\trefstorage\n": (
        "git_too_old",
        "the git on PATH does not support this repository: it uses extensions.refstorage",
    ),
    "warning: something\nfatal: unknown repository extensions found:\n\tone\n\ttwo\n": (
        "git_too_old",
        "the git on PATH does not support this repository: it uses extensions.one and"
        " extensions.two",
    ),
    "fatal: Expected git repo version <= 1, found 2": (
        "git_too_old",
        "the git on PATH does not support this repository: its format is version 2",
    ),
    "error: invalid value for 'extensions.objectformat': 'sha3'\nfatal: bad config line 7": (
        "git_too_old",
        "the git on PATH does not support this repository: it has an invalid value for"
        " 'extensions.objectformat': 'sha3'",
    ),
}


@pytest.mark.parametrize("complaint", CASES)
def test_unsupported(complaint: str) -> None:
    """A repository format that this git does not know is named in one line, with a hint."""
    error = explain(complaint)
    assert error is not None
    assert (error.code, error.message, error.hint) == (*CASES[complaint], NEWER)


def test_a_repository_of_another_user() -> None:
    """A repository of another user is named, with git's own way to trust it."""
    error = explain("fatal: detected dubious ownership in repository at '/a b'\nTo add an …\n")
    assert error is not None
    assert (error.code, error.message) == (
        "untrusted_owner", "git does not trust /a b: it belongs to another user",
    )  # fmt: skip
    assert error.hint == "git config --global --add safe.directory '/a b'"


@pytest.mark.parametrize("complaint", ["", "fatal: not a git repository", "error: unable to read"])
def test_anything_else(complaint: str) -> None:
    """Other failures of git keep git's own message."""
    assert explain(complaint) is None
