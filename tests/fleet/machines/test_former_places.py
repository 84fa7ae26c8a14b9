"""Worktrees and branches that are left on a machine after another one has ended their task."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.machines.machine import Machine, wait_for

Fleet = Callable[..., list[Machine]]


def branches(machine: Machine) -> list[str]:
    """Return the branches of a clone, with those of the fleet's workers."""
    return machine.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def test_a_worker_that_another_machine_cancels(fleet: Fleet) -> None:
    """Its machine rescues the work, removes worktree and branch, and can do the task again."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    place = Path(alpha.ok("path", "auth"))
    (place / "c.txt").write_text("uncommitted\n")
    beta.ok("cancel", "auth")
    wait_for(lambda: not place.exists())
    wait_for(lambda: branches(alpha) == ["main"])
    (kept,) = alpha.git("for-each-ref", "--format=%(refname)", "refs/worker/rescue").split()
    assert alpha.git("show", f"{kept}:c.txt") == "uncommitted"
    assert alpha.git("show", f"{kept}:b.txt") == "x"
    assert alpha.ok("fsck")
    assert alpha.complaints() == []
    alpha.ok("task", "restart", "login")
    alpha.ok("spawn", "auth", "login")
    assert not (place / "b.txt").exists()


@pytest.mark.parametrize("verb", ["cancel", "reset"])
def test_an_interrupted_end_leaves_a_later_task(fleet: Fleet, verb: str) -> None:
    """A machine that was killed while it ended a task does not end the next one of the worker."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.ok("fail", "auth", "-m", "no")
    killed = alpha.run(verb, "auth", env={"GITWORKER_CRASH_AT": f"{verb}.branch"})
    assert killed.status in (-9, 137), killed
    alpha.crash()
    beta.ok(verb, "auth")
    beta.ok("spawn", "auth", "menu")
    beta.commit("auth", "Add b", {"b.txt": "x\n"})
    place = Path(beta.ok("path", "auth"))
    alpha.boot()
    alpha.ok("status")
    assert alpha.query("SELECT COUNT(*) FROM operations WHERE status = 'open'") == [(0,)]
    beta.ok("status")
    assert beta.query("SELECT state, task_id FROM workers") == [("WORKING", "menu")]
    assert beta.query("SELECT status FROM tasks WHERE id = 'menu'") == [("IN_PROGRESS",)]
    assert (place / "b.txt").exists()
    assert alpha.ok("fsck")
    assert beta.ok("fsck")


def test_a_branch_of_a_person_in_a_freed_worktree(fleet: Fleet) -> None:
    """A branch that a person has checked out in the worktree stays, as does the worker's."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    place = Path(alpha.ok("path", "auth"))
    alpha.git("checkout", "-q", "-b", "mine", cwd=place)
    beta.ok("cancel", "auth")
    wait_for(lambda: not place.exists())
    assert branches(alpha) == ["auth/login", "main", "mine"]


def test_a_copied_repository_removes_no_worktree_of_the_original(fleet: Fleet) -> None:
    """A `cp -a` copy that hears of the end of a task leaves the worktree to its own repository."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    place = Path(alpha.ok("path", "auth"))
    alpha.popen("pkill", "-9", "-f", "hookentry").wait()  # the original hears of nothing
    copy = alpha.root.with_name("copy")
    subprocess.run(["cp", "-a", alpha.root, copy], check=True)
    beta.ok("cancel", "auth")
    wait_for(lambda: alpha.ok("list", cwd=copy).split()[1] == "IDLE")
    for words in (("fsck",), ("fsck", "--repair")):
        assert "worktree_copied" in alpha.run(*words, cwd=copy).out
    assert (place / "b.txt").exists()
    assert branches(alpha) == ["auth/login", "main"]
    alpha.ok("status")
    wait_for(lambda: not place.exists())
    assert branches(alpha) == ["main"]


def test_a_worktree_in_use_is_named(fleet: Fleet) -> None:
    """A process keeps the worktree of a cancelled task; fsck names it and removes it later."""
    alpha, beta = fleet("alpha", "beta")
    alpha.ok("spawn", "auth", "login")
    place = Path(alpha.ok("path", "auth"))
    alpha.commit("auth", "Add b", {"b.txt": "x\n"})
    with alpha.popen("sleep", "600", cwd=place) as process:
        beta.ok("cancel", "auth")
        wait_for(lambda: "worktree_left" in alpha.run("fsck").out)
        assert "has its working directory in" in alpha.run("fsck", "--repair").out
        assert (place / "b.txt").exists()
        assert alpha.popen("pkill", "sleep").wait() == 0
        process.wait()
    wait_for(lambda: alpha.run("fsck", "--repair").status == 0)
    assert not place.exists()
    (kept,) = alpha.git("for-each-ref", "--format=%(refname)", "refs/worker/rescue").split()
    assert alpha.git("show", f"{kept}:b.txt") == "x"


def test_no_copy_of_a_branch_is_left(fleet: Fleet) -> None:
    """After a landing no machine has the branch, whichever landed it; a person's branch stays."""
    alpha, beta = fleet("alpha", "beta")
    for lander, task in ((beta, "login"), (alpha, "logout")):
        alpha.ok("spawn", "auth", task)
        alpha.commit("auth", f"Add {task}", {f"{task}.txt": "x\n"})
        beta.ok("status")  # starts the link, which follows
        alpha.ok("done", "auth")
        wait_for(lambda task=task: f"auth/{task}" in branches(beta))
        beta.git("branch", f"auth/{task}-mine", "main")
        lander.ok("land", "auth")
        mine = sorted(["main", "auth/login-mine", f"auth/{task}-mine"])
        wait_for(lambda mine=mine: branches(beta) == sorted(set(mine)))
        wait_for(lambda: branches(alpha) == ["main"])


def test_work_that_cannot_be_fetched_blocks_no_other(fleet: Fleet) -> None:
    """`merge --all` lands the rest, and says what it left out."""
    alpha, beta = fleet("alpha", "beta")
    for name in ("ada", "bob"):
        alpha.ok("spawn", name, f"task-{name}")
        alpha.commit(name, f"Add {name}", {f"{name}.txt": "x\n"})
        beta.ok("status")  # starts the link, which follows
        alpha.ok("done", name)
        wait_for(lambda name=name: f"{name}/task-{name}" in branches(beta))
        beta.ok("approve", name)
    remote = alpha.root.parent / "remote.git"
    beta.git("--git-dir", str(remote), "update-ref", "-d", "refs/heads/ada/task-ada")
    beta.git("branch", "-D", "ada/task-ada")
    answer = beta.run("merge", "--all")
    assert "ada cannot land now" in answer.err
    assert (beta.root / "bob.txt").exists()
    assert not (beta.root / "ada.txt").exists()
