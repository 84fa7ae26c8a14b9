"""Commands that a git hook of the user's starts while a command of ours runs git."""

import fcntl
import subprocess
from pathlib import Path

import pytest

from gitworker.errors import Conflict
from gitworker.processes.table import find_start
from gitworker.repo.plumbing.repository_lock import HELD_ENV, hold
from tests.cli.conftest import Scene
from tests.conftest import git

AT_ONCE_S = 50  # a landing waits a day for its lock; a busy machine needs a few seconds

# The command that runs git, the hook that git runs then, the command that the hook starts.
CASES = [
    (("merge", "auth"), "post-merge", "merge ui"),
    (("merge", "auth"), "post-merge", "approve ui"),
    (("merge", "auth"), "reference-transaction", "merge ui"),
    (("spawn", "docs", "t9"), "post-checkout", "spawn other t10"),
    (("spawn", "docs", "t9"), "post-checkout", "adopt t1 other t10"),
]


# A command of the user's in a worker's worktree, the hook that git runs then, the hook's command.
NESTED = [
    (("git", "commit", "-qam", "x"), "pre-commit", "merge ui"),
    (("git", "commit", "-qam", "x"), "pre-commit", "sync"),
    (("git", "commit", "-qam", "x"), "post-commit", "done auth"),
    (("git", "commit", "-qam", "x"), "post-commit", "sync"),
    (("git", "commit", "-qa", "--amend", "-m", "x"), "post-rewrite", "merge ui"),
    (("git", "rebase", "-q", "--autostash", "-f", "HEAD~1"), "post-rewrite", "done auth"),
    (("git", "push", "-q", "there", "HEAD"), "pre-push", "approve ui"),
    (("git", "push", "-q", "there", "HEAD"), "pre-push", "merge ui"),
    (("git-worker", "done", "--commit", "-m", "x"), "pre-commit", "sync"),
    (("git-worker", "done", "--commit", "-m", "x"), "post-commit", "approve ui"),
    (("git-worker", "done", "--commit", "-m", "x"), "post-commit", "done auth"),
    (("git-worker", "done", "--commit", "-m", "x", "--push"), "pre-push", "merge ui"),
    (("git-worker", "sync"), "post-rewrite", "sync"),
    (("git-worker", "sync"), "post-rewrite", "done auth"),
    (("git-worker", "sync"), "post-checkout", "merge ui"),
    (("git-worker", "sync"), "post-commit", "approve ui"),
]


def hook(scene: Scene, name: str, command: str, cwd: Path | None = None) -> Path:
    """Let a hook of the user's run a command once; its answer and status are in the file."""
    seen = scene.root.parent / "seen"
    path = scene.root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"#!/bin/sh\n[ -e '{seen}' ] && exit 0\n: >'{seen}'\ncd '{cwd or scene.root}'\n"
        f"git-worker {command} >'{seen}' 2>&1 </dev/null\necho \"status $?\" >>'{seen}'\n"
    )
    path.chmod(0o755)
    return seen


@pytest.mark.parametrize(("outer", "name", "inner"), CASES)
def test_a_command_that_would_wait_for_itself(
    scene: Scene, outer: tuple[str, ...], name: str, inner: str
) -> None:
    """A command that needs a lock of the one that waits for its hook is refused at once."""
    scene.approved()
    scene.submitted("ui", "t2", "ui.txt")
    seen = hook(scene, name, inner)
    done = scene.run(*outer)
    assert done.status == 0, done
    assert "waits for the git hook" in seen.read_text()
    assert seen.read_text().endswith("status 3\n")


@pytest.mark.parametrize(("outer", "name", "inner"), NESTED)
def test_a_command_in_a_hook_of_a_worktree(
    scene: Scene, outer: tuple[str, ...], name: str, inner: str
) -> None:
    """A command in a hook of a worker's worktree answers at once: done, refused or in conflict."""
    remote = scene.root.parent / "remote.git"
    git(scene.root.parent, "init", "-q", "--bare", str(remote))
    git(scene.root, "remote", "add", "there", str(remote))
    worktree = scene.working()
    scene.commit(worktree, "auth.txt")
    scene.submitted("ui", "t2", "ui.txt")
    if inner == "merge ui":
        assert scene.run("approve", "ui").status == 0
    if outer[1] == "sync":
        scene.commit(scene.root, "other.txt")
    else:
        (worktree / "auth.txt").write_text("more\n")
    seen = hook(scene, name, inner, worktree)
    done = subprocess.run(outer, cwd=worktree, capture_output=True, text=True, timeout=AT_ONCE_S)
    assert done.returncode in (0, 3), done
    assert seen.read_text()[-9:] in ("status 0\n", "status 1\n", "status 3\n"), seen.read_text()
    assert "has held" not in seen.read_text() + done.stderr
    assert "auth.txt" in git(scene.root, "ls-tree", "--name-only", "auth/t1")


@pytest.mark.parametrize("inner", ["status", "list", "show ui", "log", "msg poll --no-ack"])
def test_a_command_that_reads(scene: Scene, inner: str) -> None:
    """A command that only reads answers in a hook."""
    scene.approved()
    scene.submitted("ui", "t2", "ui.txt")
    seen = hook(scene, "post-merge", inner)
    assert scene.run("merge", "auth").status == 0
    assert seen.read_text().endswith("status 0\n"), seen.read_text()


def test_after_the_command(scene: Scene) -> None:
    """A background process that a hook leaves may work once the first command has ended."""
    scene.approved()
    scene.submitted("ui", "t2", "ui.txt")
    seen = hook(scene, "post-merge", "list")
    kept = scene.root.parent / "environment"
    path = scene.root / ".git/hooks/post-merge"
    path.write_text(path.read_text() + f"printf %s \"$GITWORKER_HELD\" >'{kept}'\n")
    assert scene.run("merge", "auth").status == 0
    assert seen.exists()
    held = kept.read_text()
    assert "/locks/landing" in held
    assert scene.run("approve", "ui", env={"GITWORKER_HELD": held}).status == 0


@pytest.mark.parametrize("has_lock", [True, False])
def test_which_process_holds_the_lock(tmp_path: Path, *, has_lock: bool) -> None:
    """Only a living process that still has the lock file open is the command that waits for us."""
    path = str(tmp_path / "landing")
    command = ["flock", path, "cat"] if has_lock else ["cat"]
    with (
        open(path, "w") as ours,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(b"x")
        other.stdin.flush()
        assert other.stdout.read(1) == b"x"
        if not has_lock:
            fcntl.flock(ours, fcntl.LOCK_EX)
        patch.setenv(HELD_ENV, f"{other.pid} {find_start(other.pid)}\n{path}")
        with pytest.raises(Conflict) as caught, hold(path, name="landing", timeout_s=0):
            pass
        other.stdin.close()
    assert caught.value.code == ("nested" if has_lock else "locked")


def test_a_supervised_agent(scene: Scene) -> None:
    """An agent does not inherit the locks of the command whose hook started it."""
    scene.run("spawn", "auth", "t1")
    done = scene.run("exec", "auth", "--", "env", env={"GITWORKER_HELD": "1 1\n/locks/landing"})
    assert done.status == 0, done
    assert "GITWORKER_ID=auth" in done.out
    assert "GITWORKER_HELD" not in done.out
