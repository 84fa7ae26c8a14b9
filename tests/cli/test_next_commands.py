"""The next command of a worker: the refusal and every screen name the same one, and it works."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitworker.lifecycle.stale_and_retry import apply_due
from gitworker.liveness.process_origin import this_origin
from gitworker.model.worker import WorkerEvent
from tests.cli.kit import Answer, ok, run, wait_until
from tests.cli.stages import make_stale
from tests.conftest import git
from tests.workers.world import World

REMARK = "   # "
AGENT = "test ! -e fail || exit 1; echo mine >README; git commit -qam Mine; true"


def named(world: World, worker: str = "auth", task: str = "login", **options: str) -> set[str]:
    """Return the next commands of a worker at the places that show it."""
    root = options.get("cwd") or world.root
    shown: list[str] = []
    for verb in ("status", "list"):
        rows = run(root, verb, "--json").document["workers"]
        shown += [row["next"] for row in rows if row["worker"] == worker]
    shown.append(run(root, "show", worker, "--json").document["next"])
    rows = run(root, "task", "list", "--json").document["tasks"]
    shown += [row["next"] for row in rows if row["task"] == task]
    if not any(row["task"] == task and row["status"] == "BLOCKED" for row in rows):
        shown.append(run(root, "task", "why", task, "--json").document["next"])  # of the worker
    items = run(world.root, "inbox", "--json").document["items"] if not options else []
    found = [one["command"] for one in items if one["source"] == worker]
    assert len(found) == 1 or options, items
    return {*shown, *found}


def refused(answer: Answer, status: int = 3) -> str:
    """Return the hint of a refused command."""
    assert answer.status == status, answer
    return answer.err.rpartition("hint: ")[2].strip()


def follow(world: World, command: str) -> "subprocess.CompletedProcess[str]":
    """Run a printed command in the main checkout, as a user does."""
    return subprocess.run(
        ["bash", "-c", command.replace("<text>", "Work")], cwd=world.root, check=False,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def by_agent(world: World, agent: str = AGENT) -> Path:
    """Let an agent work on auth's task; return its worktree."""
    place = Path(ok(world.root, "spawn", "auth", "login", "-m", "Build it"))
    run(world.root, "exec", "auth", "--", "sh", "-c", agent)
    return place


def conflicting(world: World, *, agent: bool) -> Path:
    """Let work that auth has handed in conflict with the target; return the worktree."""
    if agent:
        place = by_agent(world)
    else:
        place = world.in_review("auth", "login", {"README": "mine\n"})
        end_process(world)
    world.advance({"README": "theirs\n"})
    return place


def bind(world: World, pid: int) -> None:
    """Let a process be the one of auth."""
    host, boot_id, pid_ns = this_origin()
    with world.session().store.write() as writer:
        writer.run(
            "workers.set_process", worker="auth", pid=pid, pid_start=None, host=host,
            boot_id=boot_id, pid_ns=pid_ns,
        )  # fmt: skip


def end_process(world: World) -> None:
    """Let the process of auth be one that has ended."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    bind(world, ended.pid)


@contextmanager
def living_process(world: World) -> Iterator[None]:
    """Let another process work as auth."""
    process = subprocess.Popen(["sleep", "600"])
    try:
        bind(world, process.pid)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("agent", [False, True])
def test_a_conflict_has_one_next_command(quiet: World, agent: bool) -> None:
    """The refusal of an approval names the command that the screens name."""
    conflicting(quiet, agent=agent)
    hint = refused(run(quiet.root, "approve", "auth"))
    assert hint == f"git worker {'resume auth' if agent else 'sync --as auth'}"
    assert named(quiet) == {hint}
    assert refused(run(quiet.root, "done", "auth")) == hint
    again = refused(run(quiet.root, "wait", "auth", "--for", "landed", "--timeout", "0"), 1)
    assert again.partition(REMARK)[0] == hint


@pytest.mark.parametrize("end", ["failed", "ended"])
def test_the_files_of_a_conflict_stay_on_the_screens(quiet: World, end: str) -> None:
    """A run that fails, or ends without a commit, does not hide the conflict."""
    place = conflicting(quiet, agent=True)
    refused(run(quiet.root, "approve", "auth"))
    if end == "failed":
        (place / "fail").touch()
    run(quiet.root, "resume", "auth")
    (place / "fail").unlink(missing_ok=True)
    assert quiet.worker("auth").state == ("FAILED" if end == "failed" else "WORKING")
    assert "conflict in README" in run(quiet.root, "status").out
    assert "conflict in README" in run(quiet.root, "show", "auth").out
    assert named(quiet) == {"git worker resume auth"}
    assert "conflict in README" in run(quiet.root, "inbox").out
    assert "conflict in README" in run(quiet.root, "task", "list").out
    row = run(quiet.root, "list", "--json").document["workers"][0]
    assert row["returned"]["files"] == ["README"]


def test_a_clean_sync_settles_a_conflict(quiet: World) -> None:
    """A finished rebase takes the conflict from the screens, and done is next."""
    place = conflicting(quiet, agent=False)
    hint = refused(run(quiet.root, "approve", "auth"))
    run(quiet.root, *shlex.split(hint)[2:])
    (place / "README").write_text("both\n")
    git(place, "add", "README")
    ok(place, "sync", "--continue")
    assert "conflict in" not in run(quiet.root, "status").out
    assert "returned" not in run(quiet.root, "show", "auth").out
    assert run(place, "show", "auth", "--json").document["next"] == "git worker done auth"
    ok(place, "done")
    ok(quiet.root, "approve", "auth")


def test_a_conflict_that_the_target_takes_back_is_settled_by_sync(quiet: World) -> None:
    """A sync that has nothing to do settles the conflict, although the branch does not move."""
    place = conflicting(quiet, agent=False)
    refused(run(quiet.root, "approve", "auth"))
    quiet.git("reset", "-q", "--hard", "HEAD~1")
    ok(place, "sync")
    assert "conflict in" not in run(quiet.root, "status").out
    assert run(place, "show", "auth", "--json").document["next"] == "git worker done auth"


@pytest.mark.parametrize("agent", [False, True])
def test_a_stopped_rebase_is_continued(quiet: World, agent: bool) -> None:
    """With conflict markers in the files the next command continues the rebase, from anywhere."""
    place = conflicting(quiet, agent=agent)
    refused(run(quiet.root, "approve", "auth"))
    run(quiet.root, "sync", "--as", "auth")
    end_process(quiet)
    (command,) = named(quiet)
    assert command.startswith(f"cd {place} && git worker sync --continue   # ")
    assert named(quiet, cwd=str(place)) == {command}
    assert (
        "conflict in README; a rebase is stopped in its worktree" in run(quiet.root, "status").out
    )
    (place / "README").write_text("both\n")
    git(place, "add", "README")
    done = follow(quiet, command)
    assert done.returncode == 0, done
    assert not os.path.exists(f"{quiet.worker('auth').admin_dir}/rebase-merge")


def test_a_failed_worker_with_a_stopped_rebase(quiet: World) -> None:
    """A rebase that the agent has left is continued before the agent is started again."""
    place = conflicting(quiet, agent=True)
    refused(run(quiet.root, "approve", "auth"))
    run(quiet.root, "resume", "auth", "--", "sh", "-c", "git worker sync; exit 1")
    assert quiet.worker("auth").state == "FAILED"
    (command,) = named(quiet)
    assert command.startswith(f"cd {place} && git worker sync --continue   # ")
    (place / "README").write_text("both\n")
    git(place, "add", "README")
    assert follow(quiet, command).returncode == 0


def test_a_rebase_of_a_running_agent_is_its_own(quiet: World) -> None:
    """While another process works as the worker, its open rebase needs no person."""
    conflicting(quiet, agent=False)
    refused(run(quiet.root, "approve", "auth"))
    run(quiet.root, "sync", "--as", "auth")
    with living_process(quiet):
        rows = run(quiet.root, "status", "--json").document["workers"]
        assert [row["next"] for row in rows] == ["git worker wait auth"]
        assert run(quiet.root, "inbox", "--json").document["items"] == []


def test_a_conflict_of_a_running_process_is_its_own(quiet: World) -> None:
    """If the process of the worker runs, every screen asks it to rebase."""
    conflicting(quiet, agent=False)
    with living_process(quiet):
        hint = refused(run(quiet.root, "approve", "auth"))
        assert hint.startswith("git worker send auth 'Your branch conflicts")
        assert named(quiet) == {hint}


LEFT = "git worker done auth --commit -m <text>"


@pytest.mark.parametrize("state", ["FAILED", "STALE"])
@pytest.mark.parametrize("damage", ["deleted", "moved"])
def test_a_lost_worktree_has_one_next_command(quiet: World, state: str, damage: str) -> None:
    """Every screen names the same command for a worktree that is gone or moved, and it works."""
    place = quiet.working("auth", "login", {"a": "1\n"})
    end_process(quiet)
    if state == "FAILED":
        ok(quiet.root, "fail", "auth", "-m", "No way")
    else:
        make_stale(quiet, "auth", WorkerEvent.HEARTBEAT_TIMEOUT)
    if damage == "deleted":
        shutil.rmtree(place)
    else:
        place.rename(place.with_name("elsewhere"))
    for _ in range(1 if damage == "moved" else 2):  # a missing one is made before it is resumed
        (command,) = named(quiet)
        assert follow(quiet, command).returncode == 0, command
    assert os.path.isdir(quiet.worker("auth").worktree or "")
    assert quiet.worker("auth").state == "WORKING"


def stop_agent(world: World) -> None:
    """Let an agent that has left work be stopped by a person."""
    run(world.root, "exec", "auth", "-d", "--", "sh", "-c", "echo new >new; sleep 600")
    wait_until(lambda: (world.path("auth") / "new").exists())
    ok(world.root, "stop", "auth", "-m", "Enough")
    wait_until(lambda: world.worker("auth").state == "FAILED")
    shown = ("show", "auth", "--json")
    wait_until(lambda: run(world.root, *shown).document["process"]["runs"] is False)


def fail_agent(world: World) -> None:
    """Let an agent that has left work fail."""
    run(world.root, "exec", "auth", "--", "sh", "-c", "echo new >new; exit 1")


def lose_agent(world: World) -> None:
    """Let the worker of an agent that has left work become stale."""
    run(world.root, "exec", "auth", "--", "sh", "-c", "echo new >new; exit 0")
    make_stale(world, "auth", WorkerEvent.HEARTBEAT_TIMEOUT)


def expire_agent(world: World) -> None:
    """Let the worker of an agent that has left work fail because nothing works there."""
    lose_agent(world)
    apply_due(world.session(), [(world.worker("auth"), WorkerEvent.EXPIRE)], [])


@pytest.mark.parametrize("end", [lose_agent, expire_agent])
def test_work_that_an_agent_has_left_is_committed(
    quiet: World, end: Callable[[World], None]
) -> None:
    """Uncommitted work of an agent that ended with status 0 is handed in by the named command."""
    quiet.spawn("auth", "login")
    end(quiet)
    assert quiet.worker("auth").state in ("FAILED", "STALE")
    # The task of an expired worker is free again, so `task why` names another worker's command.
    (command,) = named(quiet) - {"git worker spawn '<worker>' login"}
    assert command.partition(REMARK)[0] == LEFT
    done = follow(quiet, command)
    assert done.returncode == 0, done
    assert quiet.states("auth", "login") == ("IN_REVIEW", "AWAITING_APPROVAL")
    assert quiet.show("new", "auth/login") == "new"


@pytest.mark.parametrize("end", [stop_agent, fail_agent])
def test_an_agent_that_did_not_finish_goes_on(quiet: World, end: Callable[[World], None]) -> None:
    """A stopped or failed agent is started again where it has left uncommitted work."""
    quiet.spawn("auth", "login")
    end(quiet)
    assert named(quiet) == {"git worker resume auth"}


def test_without_left_work_the_agent_is_started_again(quiet: World) -> None:
    """A failed worker whose worktree is clean is resumed, as before."""
    quiet.spawn("auth", "login")
    run(quiet.root, "exec", "auth", "--", "false")
    assert named(quiet) == {"git worker resume auth"}


def test_the_left_work_of_a_living_agent_is_its_own(quiet: World) -> None:
    """While the process of a stale worker runs, its work is not committed by others."""
    quiet.spawn("auth", "login")
    lose_agent(quiet)
    with living_process(quiet):
        assert named(quiet) == {"git worker resume auth"}


def test_a_refused_resume_runs_nothing(quiet: World) -> None:
    """The line about the last command is printed only if that command runs."""
    quiet.spawn("auth", "login")
    run(quiet.root, "exec", "auth", "--", "false")
    words = "running the last command again: false\n"
    assert words in run(quiet.root, "resume", "auth").err
    quiet.git("worktree", "remove", "--force", str(quiet.path("auth")))
    answer = run(quiet.root, "resume", "auth")
    assert answer.status != 0
    assert answer.err.startswith("error: "), answer


def rename_branch(world: World) -> None:
    """Rename the branch of auth."""
    world.git("branch", "-m", "auth/login", "auth/other")


def leave_branch(world: World) -> None:
    """Check out another branch in the worktree of auth."""
    world.git("switch", "-q", "-c", "aside", cwd=world.path("auth"))


def delete_worktree(world: World) -> None:
    """Delete the worktree of auth."""
    shutil.rmtree(world.path("auth"))


def reword_commit(world: World) -> None:
    """Change only the message of the handed-in commit."""
    world.git("commit", "-q", "--amend", "-m", "Other words", cwd=world.path("auth"))


DAMAGES = [rename_branch, leave_branch, delete_worktree]


@pytest.mark.parametrize(
    ("state", "damage"),
    [
        *[("IN_REVIEW", one) for one in (*DAMAGES, reword_commit)],
        *[(state, one) for state in ("WORKING", "APPROVED") for one in DAMAGES],
    ],
)
def test_trouble_has_one_next_command(
    quiet: World, state: str, damage: Callable[[World], None]
) -> None:
    """Every screen names the same command for an unusual branch or worktree, and it works."""
    quiet.working("auth", "login", {"a": "1\n"})
    if state != "WORKING":
        quiet.submit("auth")
    if state == "APPROVED":
        quiet.approve("auth")
    damage(quiet)
    (command,) = named(quiet)
    assert command in run(quiet.root, "list").out + run(quiet.root, "task", "list").out
    assert follow(quiet, command).returncode == 0, command
    (row,) = run(quiet.root, "status", "--json").document["workers"]
    assert (row["trouble"], row["next"] != command) == (None, True)


def test_a_target_that_fails_itself(quiet: World) -> None:
    """Every screen names the log of a target that does not pass, until it is repaired."""
    quiet.approved("auth", "login", {"a": "1\n"})
    end_process(quiet)
    quiet.git("config", "worker.verify.commands", "test ! -e broken")
    quiet.advance({"broken": "1\n"})
    hint = refused(run(quiet.root, "merge", "auth"), 1)
    (command,) = named(quiet)
    assert command.partition(REMARK)[0] == hint
    assert hint in run(quiet.root, "status").out
    assert "main itself does not pass" in run(quiet.root, "show", "auth").out
    quiet.git("rm", "-q", "broken")
    quiet.git("commit", "-q", "-m", "Repair")
    assert named(quiet) == {"git worker merge auth"}
    ok(quiet.root, "merge", "auth")


def test_an_ended_agent_without_work_is_started_again(quiet: World) -> None:
    """Every screen names resume for an agent that ended well and left nothing."""
    by_agent(quiet, "true")
    assert named(quiet) == {"git worker resume auth"}
