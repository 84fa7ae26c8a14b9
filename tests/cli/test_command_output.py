"""The output of every successful command, word by word."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.in_process import run_here
from tests.cli.kit import Answer, ok, run
from tests.conftest import git

HANDED_IN = (
    "auth is in review: 1 commit up to <short>\n"
    "next: git worker review auth   # for a reviewer; the verdict:"
    " git worker wait auth --for verdict\n"
)


def test_init(scene: Scene) -> None:
    """Init prints the state directory and the target, and can be repeated."""
    expected = "ready: work lands on main; the state directory is <root>/.git/worker-state\n"
    assert scene.run("init") == Answer(0, expected, "")
    assert scene.run("init") == Answer(0, expected, "")
    assert git(scene.root, "status", "--porcelain") == ""


def test_spawn_prints_the_path_only(scene: Scene) -> None:
    """Spawn prints only the worktree's path."""
    assert scene.run("spawn", "auth", "t1") == Answer(0, "<root>/worktrees/t1\n", "")
    assert git(scene.root / "worktrees/t1", "branch", "--show-current") == "auth/t1"


def test_assign_after_landing(scene: Scene) -> None:
    """Assign gives a completed worker its next task."""
    scene.approved()
    ok(scene.root, "merge", "auth")
    assert scene.run("assign", "auth", "t2") == Answer(0, "<root>/worktrees/t2\n", "")


def test_start(scene: Scene) -> None:
    """Start prints the state and the process."""
    scene.spawn("auth", "t1")
    expected = f"auth is at work (process {scene.agent_pid})\n"
    assert scene.run("start", "auth", "--pid", str(scene.agent_pid)) == Answer(0, expected, "")


def test_done(scene: Scene) -> None:
    """Done prints the number of commits and the next step, and submit is the same command."""
    scene.commit(scene.working(), "new.txt")
    assert scene.run("submit", "auth", "-m", "Please look") == Answer(0, HANDED_IN, "")


def test_done_in_the_worktree_commits(scene: Scene) -> None:
    """`done --commit` commits uncommitted changes for the worker of the worktree."""
    worktree = scene.working()
    (worktree / "left").write_text("over\n")
    answer = scene.run("done", "--commit", "-m", "Write it", cwd=worktree)
    assert answer == Answer(0, HANDED_IN, "")
    assert git(worktree, "log", "-1", "--format=%s") == "Write it"


def test_done_warns_of_a_conflict(scene: Scene) -> None:
    """Done names the files in which the branch conflicts with the target."""
    scene.commit(scene.working(), "README", "theirs\n")
    scene.commit(scene.root, "README", "ours\n")
    warning = (
        "warning: the branch conflicts with the target in:\n  README\n"
        "hint: git worker sync --as auth\n"
    )
    assert scene.run("done", "auth") == Answer(0, HANDED_IN, warning)


def test_done_warns_of_conflict_markers(scene: Scene) -> None:
    """Done names the files with committed conflict markers and hands in all the same."""
    scene.commit(scene.working(), "a b", "<<<<<<< HEAD\n")
    warning = (
        "warning: conflict markers (<<<<<<<) are committed in:\n  a b\n"
        "hint: git worker diff auth 'a b'\n"
    )
    assert scene.run("done", "auth") == Answer(0, HANDED_IN, warning)
    assert "+<<<<<<< HEAD" in scene.run("diff", "auth", "a b").out


@pytest.mark.parametrize(("note", "shown"), [([], ""), (["-m", "Fine"], " (Fine)")])
def test_wait_for_an_approval(scene: Scene, note: list[str], shown: str) -> None:
    """The answer of `wait` says once that the work is approved, with the reviewer's note."""
    scene.submitted("auth", "t1")
    ok(scene.root, "approve", "auth", *note)
    assert scene.run("wait", "auth") == Answer(0, f"auth is approved{shown}\n", "")
    ok(scene.root, "merge", "auth")
    shown = f" (approved{': Fine' if note else ''})"
    landed = scene.run("wait", "auth", "--for", "landed")
    assert landed == Answer(0, f"auth has landed{shown}\n", "")


def test_approve(scene: Scene) -> None:
    """Approve of a branch that is already on the target prints the commit."""
    scene.submitted()
    assert scene.run("approve", "auth") == Answer(
        0, "auth is approved at <short>\nnext: git worker merge auth\n", ""
    )


def test_approve_after_a_rebase(scene: Scene) -> None:
    """Approve of a branch that was rebased names the rescue ref and the way back."""
    scene.submitted()
    scene.commit(scene.root, "other.txt")
    expected = (
        "auth is approved at <short>\n"
        "before the rebase: refs/worker/rescue/auth/t1/1\nundo: git worker undo\n"
        "next: git worker merge auth\n"
    )
    assert scene.run("approve", "auth", "-m", "Good") == Answer(0, expected, "")


def test_reject(scene: Scene) -> None:
    """Reject sends the worker back to work."""
    scene.submitted()
    answer = scene.run("reject", "auth", "-m", "A test is missing")
    assert answer == Answer(0, "auth waits for its author\nnext: git worker resume auth\n", "")


def test_approve_counts_late_commits(scene: Scene) -> None:
    """Approve --at prints how many commits were made after the submission."""
    worktree = scene.submitted()
    for count, words in ((1, "1 commit"), (2, "2 commits")):
        scene.commit(worktree, f"late-{count}")
        assert scene.run("approve", "auth", "--at", "auth/t1") == Answer(
            0,
            "auth is approved at <short>\n"
            f"{words} came after it was handed in: git worker diff auth\n"
            "next: git worker merge auth\n",
            "",
        )
        scene.run("undo")


def test_merge(scene: Scene) -> None:
    """Merge prints the new commit of the target and removes the worktree."""
    worktree = scene.approved()
    assert scene.run("merge", "auth") == Answer(0, "auth landed: main is at <short>\n", "")
    assert not worktree.exists()
    assert (scene.root / "new.txt").exists()


def test_land(scene: Scene) -> None:
    """Land approves and merges with the output of merge; a refusal is an error line."""
    worktree = scene.submitted()
    assert scene.run("land", "auth") == Answer(0, "auth landed: main is at <short>\n", "")
    assert not worktree.exists()
    nothing = "nothing waits for review, and nothing is approved\n"
    assert scene.run("land", "--all") == Answer(0, nothing, "")
    assert scene.run("approve", "--all") == Answer(0, "nothing waits for review\n", "")


def test_approve_all(scene: Scene) -> None:
    """`approve --all` prints one line for each worker and reports the refused ones."""
    scene.commit(scene.submitted(), "late")
    refused = scene.run("approve", "--all")
    assert (refused.status, refused.out) == (3, "")
    assert refused.err.splitlines()[0].startswith("error: auth: auth/t1 has a later commit than")
    assert scene.run("land", "auth", "--keep").status == 3


def test_merge_all_and_keep(scene: Scene) -> None:
    """`merge --all` lands every approved worker; --keep keeps the worktree and reports it."""
    scene.approved("auth", "t1", "a.txt")
    scene.approved("docs", "t2", "b.txt")
    assert scene.run("merge", "--all", "--keep") == Answer(
        0,
        "auth landed: main is at <short>\ndocs landed: main is at <short>\n",
        "kept <root>/worktrees/t1: --keep\nkept <root>/worktrees/t2: --keep\n",
    )
    assert scene.run("merge", "--all") == Answer(0, "nothing is approved\n", "")


def test_cancel_and_undo(scene: Scene) -> None:
    """Cancel names the rescue ref and the command that undoes it, and undo restores the work."""
    worktree = scene.submitted()
    (worktree / "untracked").write_text("kept\n")
    kept = "its work is kept under refs/worker/rescue/auth/t1/1\nundo: git worker undo\n"
    expected = f"auth has no task\n{kept}"
    assert scene.run("cancel", "auth") == Answer(0, expected, "")
    assert not worktree.exists()
    assert scene.run("undo") == Answer(
        0, "undid cancel: t1 is back with auth, which is in review\n", ""
    )
    assert (worktree / "untracked").read_text() == "kept\n"


def test_fail_and_reset(scene: Scene) -> None:
    """Fail keeps the worktree, reset frees the worker and keeps its work."""
    worktree = scene.working()
    scene.commit(worktree, "half.txt")
    assert scene.run("fail", "-m", "No idea", cwd=worktree) == Answer(0, "auth has failed\n", "")
    assert worktree.exists()
    kept = "its work is kept under refs/worker/rescue/auth/t1/1\nundo: git worker undo\n"
    expected = f"auth has no task\n{kept}"
    assert scene.run("reset", "auth") == Answer(0, expected, "")


def test_reset_after_another_has_the_task(scene: Scene) -> None:
    """Undo cannot return the task then, so a command that brings the work back is named."""
    worktree = scene.working()
    scene.commit(worktree, "half.txt")
    (worktree / "untracked").write_text("kept\n")
    scene.run("fail", "-m", "No idea", cwd=worktree)
    ok(scene.root, "spawn", "bob", "t1")
    answer = scene.run("reset", "auth")
    rescue = "refs/worker/rescue/auth/t1/1"
    command = f"git branch <name> {rescue}"
    assert answer.out == (
        f"auth has no task\nits work is kept under {rescue}\n"
        "undo cannot return its task: task t1 is assigned now, held by bob\n"
        f"a branch with its work: {command}\n"
    )
    git(scene.root, *command.replace("<name>", "half").split()[1:])
    assert git(scene.root, "show", "half:untracked") == "kept"
    assert git(scene.root, "show", "half:half.txt")


def test_recycle(scene: Scene) -> None:
    """Recycle makes a completed worker idle."""
    scene.approved()
    ok(scene.root, "merge", "auth")
    assert scene.run("recycle", "auth") == Answer(0, "auth has no task\n", "")


def test_recover_with_nothing_to_do(scene: Scene) -> None:
    """Recover without a name reports that no operation was interrupted."""
    scene.spawn("auth", "t1")
    assert scene.run("recover") == Answer(0, "no operation was interrupted\n", "")


def test_recover_an_interrupted_act(scene: Scene) -> None:
    """A killed command's operation is settled and reported by recover or any other command."""
    scene.submitted()
    killed = scene.run("approve", "auth", env={"GITWORKER_CRASH_AT": "approve.moved"})
    assert killed.status == -9
    assert scene.run("recover") == Answer(
        0, "settled 1 interrupted operation\n", "settled an interrupted approve of auth\n"
    )
    assert scene.run("list") == Answer(0, "auth\tAPPROVED\tt1\tauth/t1\n", "")


def test_recover_an_operation_that_cannot_be_completed(scene: Scene) -> None:
    """An operation that cannot be completed is reported once with a hint and blocks only itself."""
    scene.approved()
    lock = scene.root / ".git/refs/heads/auth/t1.lock"
    lock.touch()
    landed = scene.run("merge", "auth")
    assert (landed.status, landed.out) == (0, "auth landed: main is at <short>\n")
    hint = "rm <root>/.git/refs/heads/auth/t1.lock   # only if no git command is running there"
    for words, out in (
        (("recover",), "1 interrupted operation still open\n"),
        (("list",), "auth\t"),
    ):
        answer = scene.run(*words)
        assert answer.status == (3 if words == ("recover",) else 0)
        assert answer.out.startswith(out)
        assert answer.err.startswith("warning: an interrupted remove of auth is still open: ")
        assert "<root>/.git/refs/heads/auth/t1.lock exists: another git command" in answer.err
        assert answer.err.endswith(f"hint: {hint}\n")
        assert answer.err.count("warning") == 1
    assert "open operations" in scene.run("status").out
    assert "remove of auth has been at step begun" in scene.run("doctor").out
    left = scene.run("recover", "--json").document["left"]
    assert [(one["kind"], one["error"]["code"]) for one in left] == [("remove", "git_locked")]
    lock.unlink()
    assert scene.run("recover").out == "settled 1 interrupted operation\n"


def test_sync(scene: Scene) -> None:
    """Sync prints the new and the old commit of the branch."""
    worktree = scene.working()
    assert scene.run("sync", cwd=worktree) == Answer(
        0, "auth/t1 is at <short>, as before (main is at <short>)\n", ""
    )
    scene.commit(scene.root, "other.txt")
    assert scene.run("sync", cwd=worktree) == Answer(
        0, "auth/t1 is at <short>, before at <short> (main is at <short>)\n", ""
    )


def test_sync_through_a_conflict(scene: Scene) -> None:
    """Sync names the conflicting files with status 3, and --continue ends it."""
    worktree = scene.working()
    scene.commit(worktree, "README", "theirs\n")
    scene.commit(scene.root, "README", "ours\n")
    assert scene.run("sync", cwd=worktree) == Answer(
        3,
        "",
        "error: the rebase of auth/t1 in <root>/worktrees/t1 stopped with 1 file in conflict\n"
        "    README\n"
        "hint: cd <root>/worktrees/t1 && git worker sync --continue"
        "   # after you edit and git add them; or: --abort\n",
    )
    (worktree / "README").write_text("both\n")
    git(worktree, "add", "README")
    answer = scene.run("sync", "--continue", cwd=worktree)
    assert answer == Answer(
        0, "auth/t1 is at <short>, before at <short> (main is at <short>)\n", ""
    )
    assert (worktree / "README").read_text() == "both\n"


def test_list_and_path(scene: Scene) -> None:
    """List prints tab-separated rows on a pipe, path one exact line."""
    scene.working()
    assert scene.run("list") == Answer(0, "auth\tWORKING\tt1\tauth/t1\n", "")
    for name in ("auth", "t1", "auth/t1", "refs/heads/auth/t1"):
        assert scene.run("path", name) == Answer(0, "<root>/worktrees/t1\n", ""), name


def test_diff(scene: Scene) -> None:
    """Diff prints the change that would land, in git's format."""
    scene.submitted()
    expected = git(scene.root, "diff", "main...auth/t1") + "\n"
    assert scene.run("diff", "auth") == Answer(0, expected, "")
    assert "new.txt | 1 +" in scene.run("diff", "auth", "--stat").out
    place = Path(ok(scene.root, "path", "auth"))
    assert run(place, "diff", "--", "new.txt").out == scene.run("diff", "auth", "new.txt").out != ""


def test_status_show_and_log(scene: Scene) -> None:
    """The looking commands name the worker, its task and its state."""
    worktree = scene.submitted()
    for words in (("status",), ("show", "auth"), ("log",), ("log", "auth", "-n", "5")):
        answer = scene.run(*words)
        assert (answer.status, answer.err) == (0, ""), words
        assert "auth" in answer.out, words
        assert "in review" in answer.out, words
    assert "t1" in scene.run("show", cwd=worktree).out


def test_doctor(scene: Scene) -> None:
    """Doctor of a sound repository ends with 0."""
    scene.submitted()
    answer = scene.run("doctor")
    assert (answer.status, answer.err) == (0, ""), answer


def test_hooks_of_verify_worktrees(repository: Path) -> None:
    """A worktree for verify commands is no fault: the line says that it needs no hooks."""
    ok(repository, "init")
    git(repository, "worktree", "add", "-q", "--detach", "worktrees/.verify/1")
    place = repository / "worktrees/.verify/1"
    words = f"off {place}  (for verify commands, which need none)\n"
    assert run_here(repository, "hooks", "status").out.startswith(words)


def empty(directory: Path) -> None:
    """Delete the files of a directory."""
    for path in directory.iterdir():
        path.unlink()


@pytest.mark.parametrize("way", [shutil.rmtree, empty])
def test_missing_hooks(scene: Scene, way: Callable[[Path], None]) -> None:
    """A new repository has no changed hooks; lost ones are reported with their repair."""
    ok(scene.root, "init")
    assert scene.run("hooks", "status") == Answer(0, "there is no linked worktree\n", "")
    assert scene.run("hooks", "status", "--json").document["stale"] is False
    scene.spawn("auth", "t1")
    (scene.state / "hooks").chmod(0o755)
    way(scene.state / "hooks")
    shown = scene.run("hooks", "status").out.splitlines()
    assert shown[1:] == ["the hooks are missing", "repair: git worker hooks install"]
    ok(scene.root, "hooks", "install")
    assert scene.run("hooks", "status").out.splitlines() == shown[:1]


def test_hooks(scene: Scene, tmp_path: Path) -> None:
    """Hooks can be listed, removed from the checkout with all our files, and restored."""
    scene.working()
    on = Answer(0, "on  <root>/worktrees/t1\n", "")
    assert scene.run("hooks", "status") == on
    assert scene.run("hooks", "uninstall") == Answer(
        0, "removed the hooks; the state directory stays at <root>/.git/worker-state\n", ""
    )
    assert not (scene.root / ".worker-state").is_symlink()
    assert "gitworker" not in (scene.root / ".git/info/exclude").read_text()
    assert "gitworker" not in (scene.root / ".git/config").read_text()
    assert scene.run("hooks", "status") == Answer(0, "off <root>/worktrees/t1\n", "")
    assert scene.run("hooks", "install") == Answer(0, "the hooks are installed in 1 worktree\n", "")
    assert scene.run("hooks", "status") == on
    assert git(scene.root, "status", "--porcelain") == ""


def test_validate(scene: Scene) -> None:
    """Validate is silent on our own log and names line and rule of a broken one."""
    scene.approved()
    log = scene.state / "transitions.jsonl"
    assert scene.run("validate", str(log)) == Answer(0, "", "")
    lines = log.read_text().splitlines(keepends=True)
    broken = scene.root / "broken.jsonl"
    broken.write_text("".join([lines[0], "{}\n", *lines[1:]]))
    answer = scene.run("validate", "broken.jsonl")
    assert (answer.status, answer.err) == (1, "")
    assert all(line.startswith("broken.jsonl:2: ") for line in answer.out.splitlines()), answer


def test_commands_work_through_git(scene: Scene) -> None:
    """`git worker` is `git-worker`, and `git -C` and our -C both change the directory."""
    worktree = scene.spawn("auth", "t1")
    assert git(scene.root, "worker", "path", "auth") == str(worktree)
    assert git(scene.root.parent, "-C", "repo", "worker", "path", "auth") == str(worktree)
    assert ok(scene.root.parent, "-C", "repo", "path", "auth") == str(worktree)
