"""Typical errors, word by word: nothing changes, the hint helps, the status matches the kind."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run
from tests.conftest import git
from tests.workers.world import World

MANY = "9" * 5000
BAD_WORKERS: tuple[str | bytes, ...] = (
    "", "..", "a/b", "a b", "Auth", "auth_1", "auth\x1b[31m", "a\nb", "a" * 300, "hq",
    "orchestrator", "verifier", "--", "é", b"a\xff",
)  # fmt: skip
BAD_TASKS: tuple[str | bytes, ...] = (
    "", "..", "a..b", "a/b", "a b", ".a", "a.", "a.lock", "a\x07", "t" * 300, "a~b", "a:b",
    b"t\xff",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD_WORKERS)
def test_bad_worker_ids(repository: Path, name: str | bytes) -> None:
    """An invalid worker id is refused as a usage error before any change."""
    answer = run(repository, "spawn", name, "t1")
    assert (answer.status, answer.out) == (2, ""), answer
    assert answer.err.startswith("error: "), answer
    assert answer.err.replace("\n", "").isprintable(), answer
    assert not (repository / ".git/worker-state").exists()


@pytest.mark.parametrize("name", BAD_TASKS)
def test_bad_task_ids(repository: Path, name: str | bytes) -> None:
    """An invalid task id is refused as a usage error before any change."""
    answer = run(repository, "spawn", "auth", name)
    assert (answer.status, answer.out) == (2, ""), answer
    assert answer.err.startswith("error: "), answer
    assert answer.err.replace("\n", "").isprintable(), answer
    assert not (repository / ".git/worker-state").exists()


@pytest.mark.parametrize(
    "name", ["..", "a b", "x/../y", "a\x1b]0;evil\x07", "n" * 300, b"a\xff", ""]
)
def test_bad_names(repository: Path, name: str | bytes) -> None:
    """Every command that takes a worker refuses an impossible name and prints it escaped."""
    for verb in ("approve", "show", "cancel", "merge", "path"):
        answer = run(repository, verb, name)
        assert (answer.status, answer.out) == (2, ""), (verb, answer)
        assert "is not a valid worker id" in answer.err, (verb, answer)
        assert answer.err.replace("\n", "").isprintable(), (verb, answer)


@pytest.mark.parametrize(
    "words",
    [
        ("log", "--since", f"{MANY}d"), ("log", "--since", MANY),
        ("msg", "poll", "--limit", MANY), ("msg", "poll", "--wait", MANY),
        ("msg", "send", "x-a", "--wait", MANY),
    ],
)  # fmt: skip
def test_too_many_digits(scene: Scene, words: tuple[str, ...]) -> None:
    """A number of more digits than Python reads is a usage error."""
    ok(scene.root, "init")
    answer = scene.run(*words)
    assert (answer.status, answer.out) == (2, ""), answer
    assert answer.err.startswith("error: ")


def test_leading_dash(repository: Path) -> None:
    """A word that begins with a dash is an option, and an unknown one a misuse."""
    answer = run(repository, "approve", "-x")
    assert answer.status == 2
    assert answer.err.endswith("hint: git worker approve -h\n")
    assert run(repository, "spawn", "--", "-x", "t1").status == 2


def test_unknown_worker(scene: Scene) -> None:
    """An unknown worker is not found, and the hint shows how to list the workers."""
    scene.spawn("auth", "t1")
    expected = (
        "error: no worker, task or branch is called 'unknown'\n"
        "hint: git worker list   # there is auth\n"
    )
    for verb in ("approve", "show", "cancel", "recycle", "start", "done"):
        assert scene.run(verb, "unknown") == Answer(4, "", expected), verb


def test_no_name_outside_a_worktree(scene: Scene) -> None:
    """Without a name and outside a worktree, no worker is found."""
    scene.spawn("auth", "t1")
    expected = (
        "error: no worker was named, and this directory is not in a worker's worktree\n"
        "hint: git worker list\n"
    )
    for verb in ("start", "done", "show", "heartbeat"):
        assert scene.run(verb) == Answer(4, "", expected), verb


def test_blocked_by_a_branch(scene: Scene) -> None:
    """A worker id that an existing branch blocks is refused with a hint."""
    git(scene.root, "branch", "auth")
    assert scene.run("spawn", "auth", "t1") == Answer(
        1,
        "",
        "error: the branch auth exists, so git allows no branch auth/t1\n"
        "hint: git branch -m auth <new-name>   # or choose another worker id\n",
    )
    assert not (scene.root / "worktrees").exists()


def test_spawn_of_a_busy_worker(scene: Scene) -> None:
    """A worker that holds a task gets no second one."""
    scene.spawn("auth", "t1")
    assert scene.run("spawn", "auth", "t2") == Answer(
        1,
        "",
        "error: worker auth holds task t1 and has not started yet, so it cannot take another\n"
        "hint: git worker show auth   # to change its text: git worker task edit t1 -m <text>\n",
    )


def test_spawn_with_a_command(repository: Path) -> None:
    """Spawn with a command that does not exist creates nothing."""
    answer = run(repository, "spawn", "auth", "t1", "--", "no-such-program", "test")
    assert answer == Answer(
        4,
        "",
        "error: cannot run 'no-such-program': the program does not exist\n"
        "hint: name a program that is on PATH, or a file of the worktree as ./NAME\n",
    )
    assert not (repository / ".git/worker-state").exists()


def test_assign_of_an_unknown_worker(scene: Scene) -> None:
    """Assign creates no worker."""
    answer = scene.run("assign", "auth", "t1")
    assert answer == Answer(
        4, "", "error: there is no worker auth\nhint: git worker spawn auth t1\n"
    )


def test_wrong_state(scene: Scene) -> None:
    """A command in the wrong state names the worker's state and the next command."""
    scene.spawn("auth", "t1")
    answer = scene.run("approve", "auth")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(
        "error: worker auth has not started yet, so there is nothing to approve\n"
        "hint: git worker start auth\n"
    )


def test_self_approval(scene: Scene) -> None:
    """A worker cannot approve its own work, by place, by option or by environment."""
    worktree = scene.submitted()
    expected = Answer(
        1,
        "",
        "error: worker auth cannot review its own work\n"
        "hint: git worker wait auth --for verdict   # by another worker; setting: review.self\n",
    )
    assert scene.run("approve", "auth", cwd=worktree) == expected
    assert scene.run("--as", "auth", "approve", "auth") == expected
    assert scene.run("approve", "auth", "--as", "auth") == expected
    assert scene.run("approve", "auth", env={"GITWORKER_ID": "auth"}) == expected
    assert scene.run("list").out == "auth\tIN_REVIEW\tt1\tauth/t1\n"


def test_uncommitted_work(scene: Scene) -> None:
    """Done refuses uncommitted work and an empty branch."""
    worktree = scene.working()
    answer = scene.run("done", "auth")
    assert answer == Answer(
        1,
        "",
        "error: branch auth/t1 has no commit of its own, and nothing is changed in"
        " <root>/worktrees/t1\n"
        "hint: git worker cancel auth   # only if the task needs no change; otherwise commit a"
        " change first\n",
    )
    assert scene.run("done", cwd=worktree).err.endswith(
        "hint: git worker fail auth -m <reason>   # only if the task needs no change; otherwise"
        " commit a change first\n"
    )
    (worktree / "left").write_text("over\n")
    answer = scene.run("done", "auth")
    assert answer.status == 1
    assert "uncommitted work" in answer.err
    assert scene.run("done", "auth", "--commit").err == (
        "error: --commit needs -m TEXT\nhint: git worker done auth --commit -m <text>\n"
    )


def test_placeholders(scene: Scene) -> None:
    """A placeholder that a user did not replace is refused, and so is that of the help."""
    scene.spawn("auth", "t1")
    message = "<text> is a placeholder of a hint; write your own text instead of it"
    expected = Answer(2, "", f"error: {message}\nhint: git worker send -h\n")
    assert scene.run("send", "auth", "<text>") == expected
    assert scene.run("spawn", "<worker>", "t2").status == 2
    named = scene.run("spawn", "docs", "TASK")
    assert (named.status, named.err) == (
        2, "error: TASK is the placeholder of the help for a task's name; write the name itself\n"
        "hint: git worker spawn docs <task>\n",
    )  # fmt: skip


def test_conflict_at_approval(scene: Scene) -> None:
    """An approval that conflicts names the files, and asks the living process to rebase."""
    worktree = scene.working()
    scene.commit(worktree, "README", "theirs\n")
    ok(scene.root, "done", "auth")
    scene.commit(scene.root, "README", "ours\n")
    assert scene.run("approve", "auth") == Answer(
        3,
        "",
        "error: auth/t1 conflicts with the target in 1 file and was sent back to worker auth\n"
        "  <short> Write README\n    README\n"
        "hint: git worker send auth 'Your branch conflicts: run git worker sync'\n",
    )


def test_merge_reports_each(scene: Scene) -> None:
    """Merge lands whom it can, reports the others by name, and ends with the worst status."""
    scene.approved("auth", "t1", "a.txt")
    scene.spawn("docs", "t2")
    answer = scene.run("merge", "auth", "docs")
    assert (answer.status, answer.out) == (1, "auth landed: main is at <short>\n")
    assert answer.err.startswith(
        "error: docs: worker docs has not started yet, so it cannot land\n"
    )
    for words in ((), ("auth", "--all")):
        assert run(scene.root, "merge", *words).status == 2


def test_cancel_of_an_inhabited_worktree(scene: Scene) -> None:
    """Cancel refuses while a process has its working directory in the worktree."""
    worktree = scene.working()
    answer = scene.run("-C", str(worktree), "--as", "hq", "cancel", "auth")
    assert answer.status == 1
    assert "has its working directory in" in answer.err
    assert worktree.exists()


def test_required_reason(scene: Scene) -> None:
    """Reject and fail require a reason that is not blank."""
    scene.submitted()
    for verb in ("reject", "fail"):
        assert scene.run(verb, "auth").status == 2
        answer = scene.run(verb, "auth", "-m", "  ")
        hint = f"git worker {verb} -h"
        assert answer == Answer(2, "", f"error: --message is empty\nhint: {hint}\n")
        answer = scene.run(verb, "auth", "-m", b"a\xff")
        assert answer == Answer(2, "", "error: --message is not valid UTF-8\n")


def test_nothing_to_undo(scene: Scene) -> None:
    """Undo reports that there is nothing to undo."""
    scene.spawn("auth", "t1")
    expected = "error: there is nothing to undo\nhint: git worker log\n"
    assert scene.run("undo") == Answer(4, "", expected)


def test_unknown_command(repository: Path) -> None:
    """An unknown command is a misuse, and the near ones are named."""
    assert run(repository, "statz") == Answer(
        2,
        "",
        "error: there is no command 'statz'; did you mean stats, start, status?\n"
        "hint: git worker stats\n",
    )


def test_not_initialised(repository: Path) -> None:
    """Commands that only read set nothing up."""
    expected = "error: gitworker is not set up in this repository\nhint: git worker init\n"
    for words in (("list",), ("status",), ("msg", "poll"), ("heartbeat",), ("recover",)):
        assert run(repository, *words) == Answer(1, "", expected), words
    assert not (repository / ".git/worker-state").exists()


def test_validate_of_no_file(tmp_path: Path) -> None:
    """A log that is not there is not found, outside any repository too."""
    expected = "error: cannot read nothing.jsonl: No such file or directory\n"
    assert run(tmp_path, "validate", "nothing.jsonl") == Answer(4, "", expected)


def test_a_worktree_that_was_deleted(scene: Scene) -> None:
    """`path` of a worktree that was deleted reports that it is not there, and what helps."""
    shutil.rmtree(scene.spawn("auth", "t1"))
    answer = scene.run("path", "auth")
    assert answer.status == 4
    assert "is not at <root>/worktrees/t1: deleted, moved or unmounted" in answer.err
    assert "hint: git worker cancel auth && git worker undo   # " in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("log", "-n"), ("msg", "prune", "--older-than"), ("undo",), ("undo", "--list", "-n"),
        ("msg", "request", "x-a", "--to", "hq", "--timeout"), ("msg", "poll", "--wait"),
        ("status", "--watch", "--every"),
    ],
)  # fmt: skip
def test_numbers_beyond_counting(scene: Scene, words: tuple[str, ...]) -> None:
    """A number that no database and no clock could add is a misuse."""
    scene.spawn("auth", "t1")
    many = ("9" * 23, "9223372036854775807")
    for number in many if words[-1] not in ("--timeout", "--wait", "--every") else ("nan", "inf"):
        answer = scene.run(*words, number)
        assert answer.status == 2, answer


def test_an_old_worker_of_a_reserved_name(quiet: World) -> None:
    """A worker of an old database whose name is reserved now is shown, found and cancelled."""
    quiet.spawn("verifier", "login")
    for name in ("verifier", "login", "verifier/login"):
        assert run(quiet.root, "show", name, "--json").document["worker"] == "verifier"
    assert ok(quiet.path("verifier"), "heartbeat") == ""
    assert "verifier" in ok(quiet.root, "status")
    ok(quiet.root, "cancel", "verifier")
    ok(quiet.root, "recycle", "verifier")
    assert run(quiet.root, "spawn", "verifier", "other").status == 2
