"""Worktrees that an agent makes for itself: the names, and whether one may be removed. Pure."""

from collections.abc import Iterator
from hashlib import sha256

from gitworker.errors import GitWorkerError, Invalid, Refused
from gitworker.model.ids import LOWER, TaskId, WorkerId
from gitworker.rules_text import quoted

PREFIX = "cc-"
NAME_MAX = 50
DIGITS = 8  # of the digest of a name that is no id
TRIES_MAX = 99


def worker_of(name: str) -> WorkerId:
    """Return the worker of a worktree's name: `cc-login-form`; raise Invalid for an empty name.

    A name that is no id gets a digest: `fix/login` and `fix-login` must not share a worker. The two
    hyphens before it are in no other worker's id.
    """
    slug = _slug(name)
    if slug != name:
        slug += "--" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return WorkerId(PREFIX + slug)


def tasks_of(name: str) -> Iterator[TaskId]:
    """Yield the task ids for a worktree's name, the first choice first: `login-form`, `…-2`."""
    slug = _slug(name)
    yield TaskId(slug)
    for number in range(2, TRIES_MAX):
        yield TaskId(f"{slug}-{number}")


def _slug(name: str) -> str:
    letters = (letter if letter in LOWER else "-" for letter in name.lower())
    slug = "-".join(part for part in "".join(letters).split("-") if part)[:NAME_MAX].strip("-")
    if not slug:
        raise Invalid(f"the name {ascii(name)[:80]} has no letter or digit", code="usage")
    return slug


def removal_refusal(
    worker: str, worktree: str, *, unsaved: str | None, is_locked: bool
) -> GitWorkerError | None:
    """Return why a worktree must stay; None if its removal loses nothing.

    `unsaved` describes the work that exists only there or has not landed.
    """
    if is_locked:
        return Refused(
            f"{worktree} is locked and stays",
            f"git worktree unlock {quoted(worktree)}",
            code="worktree_locked",
        )
    if unsaved is not None:
        return Refused(
            f"the worktree of {worker} stays: {unsaved}",
            f"git worker show {worker}",
            code="unlanded",
        )
    return None
