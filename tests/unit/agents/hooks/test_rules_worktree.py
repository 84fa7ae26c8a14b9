"""The names of worktrees that an agent makes for itself."""

from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitworker.agents.hooks.rules_worktree import TRIES_MAX, removal_refusal, tasks_of, worker_of
from gitworker.errors import Invalid
from gitworker.model.ids import parse_task_id, parse_worker_id


@pytest.mark.parametrize(
    ("name", "worker", "task"),
    [
        ("login-form", "cc-login-form", "login-form"),
        ("Login Form!", "cc-login-form--39cafabf", "login-form"),
        ("feature/a..b", "cc-feature-a-b--c9515cb8", "feature-a-b"),
        ("agent-a1b2", "cc-agent-a1b2", "agent-a1b2"),
        ("x" * 200, "cc-" + "x" * 50 + "--aa20c23e", "x" * 50),
    ],
)
def test_names(name: str, worker: str, task: str) -> None:
    """A name becomes a worker and a task; a used task id gets a number."""
    assert worker_of(name) == worker
    assert list(islice(tasks_of(name), 3)) == [task, f"{task}-2", f"{task}-3"]


@given(st.text(), st.text())
@example("fix/login", "fix-login")
@example("fix/login", "fix-login-5e870e24")
@example("fix/login", "fix-login--5e870e24")
@example("Login", "login")
@example("x" * 60, "x" * 70)
def test_two_names_share_no_worker(one: str, other: str) -> None:
    """Two names never get the same worker."""
    with suppress(Invalid):
        assert (worker_of(one) == worker_of(other)) == (one == other)


def test_tries_end() -> None:
    """So many task ids are tried for one name; each is another one."""
    tried = list(tasks_of("login"))
    assert len(set(tried)) == len(tried) == TRIES_MAX - 1


@given(st.text())
def test_every_name_is_valid_or_refused(name: str) -> None:
    """Each name gives valid ids, or is refused."""
    try:
        worker = worker_of(name)
    except Invalid:
        return
    assert parse_worker_id(worker) == worker
    for task in islice(tasks_of(name), 3):
        assert parse_task_id(task) == task


def test_removal() -> None:
    """Only an unlocked worktree without work of its own may be removed."""
    assert removal_refusal("a", "/w", unsaved=None, is_locked=False) is None
    for unsaved, is_locked in ((None, True), ("it has commits", False), ("x", True)):
        assert removal_refusal("a", "/w", unsaved=unsaved, is_locked=is_locked) is not None
