"""Names of refs: built and parsed in one module."""

from gitworker.model.ids import Ref, TaskId, WorkerId
from gitworker.model.ref_names import (
    anchor_of,
    branch_of,
    ref_of,
    rescues_of,
    short_name,
    task_of,
    tracking_ref,
)

WORKER, TASK = WorkerId("auth"), TaskId("skills-abc")


def test_branches() -> None:
    """A worker's task is on the branch `<worker>/<task>`, also on a remote."""
    branch = branch_of(WORKER, TASK)
    assert branch == "auth/skills-abc"
    assert ref_of(branch) == "refs/heads/auth/skills-abc"
    assert tracking_ref("origin", ref_of(branch)) == "refs/remotes/origin/auth/skills-abc"


def test_short_names() -> None:
    """The name of a branch is its ref without `refs/heads/`; other names stay."""
    assert short_name("refs/heads/auth/t1") == "auth/t1"
    assert short_name("auth/t1") == "auth/t1"
    assert short_name("refs/tags/v1") == "refs/tags/v1"


def test_refs_of_a_task() -> None:
    """An anchor and a rescue contain their worker and task."""
    assert anchor_of(WORKER, TASK) == "refs/worker/landing/auth/skills-abc"
    assert rescues_of(WORKER, TASK) == "refs/worker/rescue/auth/skills-abc/"
    assert task_of(anchor_of(WORKER, TASK)) == (WORKER, TASK)
    assert task_of(Ref(f"{rescues_of(WORKER, TASK)}12")) == (WORKER, TASK)
