"""Faulty repositories, disks and programs are reported clearly, and nothing is lost."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run
from tests.conftest import git

EVERYWHERE = (("list",), ("spawn", "auth", "t1"), ("heartbeat", "auth"), ("msg", "poll"))


def test_help_into_a_full_disk(tmp_path: Path) -> None:
    """Help that cannot be written ends with one clear error."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            ["git-worker", "-h"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert "No space left on device" in done.stderr


def test_missing_rights(scene: Scene) -> None:
    """A path without write permission is named, and the error is not reported as a bug."""
    scene.spawn("auth", "t1")
    locks = scene.state / "locks"
    locks.chmod(0)
    try:
        for words in (("heartbeat", "auth"), ("spawn", "docs", "t2")):
            done = subprocess.run(
                ["git-worker", *words], cwd=scene.root, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, preexec_fn=give_up_rights,
            )  # fmt: skip
            assert done.returncode == 1, done
            assert f"error: {locks}" in done.stderr
            assert "Permission denied" in done.stderr
            assert "bug" not in done.stderr
    finally:
        locks.chmod(0o700)


def give_up_rights() -> None:
    """Make the next program of root obey permissions like any other user's (capabilities(7))."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def test_no_repository(tmp_path: Path) -> None:
    """Outside a repository every command reports that there is no repository."""
    for words in EVERYWHERE:
        message = f"error: {tmp_path} is not inside a git repository\nhint: cd <directory>\n"
        assert run(tmp_path, *words) == Answer(1, "", message), words


def test_no_commit_yet(tmp_path: Path) -> None:
    """In a repository without a commit, spawn says how to make one, and init works."""
    git(tmp_path, "init", "-q", "empty")
    root = tmp_path / "empty"
    ok(root, "init")
    assert run(root, "spawn", "auth", "t1") == Answer(
        1,
        "",
        "error: the target branch main has no commit yet\n"
        "hint: git commit --allow-empty -m Start   # or: git config worker.target <branch>\n",
    )


def test_unborn_target(repository: Path) -> None:
    """A target that has no commit is named."""
    answer = run(repository, "spawn", "auth", "t1", env={"GITWORKER_TARGET": "release"})
    assert answer.status == 1
    assert answer.err.startswith("error: the target branch release does not exist\n")
    assert not (repository / "worktrees").exists()


def test_a_wrong_setting(repository: Path) -> None:
    """A setting of the wrong type is a misuse that names its source."""
    git(repository, "config", "worker.claims.lease-s", "soon")
    answer = run(repository, "init")
    assert (answer.status, answer.out) == (2, "")
    assert "git config worker.claims.lease-s" in answer.err


def test_state_directory_is_a_file(repository: Path) -> None:
    """If the state directory cannot be created, the error says so and keeps the blocking file."""
    (repository / ".git/worker-state").write_text("mine\n")
    answer = run(repository, "init", root=repository)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(
        "error: cannot prepare the state directory <root>/.git/worker-state"
    )
    assert (repository / ".git/worker-state").read_text() == "mine\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write where the mode says no")
def test_read_only_state_directory(scene: Scene) -> None:
    """A state directory that is not writable is reported, by frequent commands too."""
    scene.spawn("auth", "t1")
    scene.state.chmod(0o500)
    try:
        for words in (("spawn", "docs", "t2"), ("heartbeat", "auth"), ("msg", "send", "x-note")):
            answer = scene.run(*words)
            assert answer.status == 1, words
            assert "writ" in answer.err, words
    finally:
        scene.state.chmod(0o700)


def test_newer_schema(scene: Scene) -> None:
    """A database of a newer version is refused by every command and left alone."""
    scene.spawn("auth", "t1")
    database = sqlite3.connect(scene.state / "bus.db")
    database.execute("UPDATE meta SET value = '99' WHERE key = 'gitworker_schema'")
    database.commit()
    database.close()
    for words in EVERYWHERE:
        answer = scene.run(*words)
        assert (answer.status, answer.out) == (1, ""), words
        assert "was written by a newer gitworker (schema 99" in answer.err, words
        assert answer.err.endswith("hint: pip install --upgrade gitworker\n"), words


@pytest.mark.parametrize(
    "damage", [b"this is no database " * 200, b"SQLite format 3\0" + b"\xff" * 8000]
)
def test_damaged_database(scene: Scene, damage: bytes) -> None:
    """A damaged database is reported as damaged, and is kept byte by byte."""
    scene.spawn("auth", "t1")
    for suffix in ("-wal", "-shm"):
        (scene.state / f"bus.db{suffix}").unlink(missing_ok=True)
    (scene.state / "bus.db").write_bytes(damage)
    for words in EVERYWHERE:
        answer = scene.run(*words)
        assert (answer.status, answer.out) == (1, ""), (words, answer)
        assert "is damaged" in answer.err, (words, answer)
    assert (scene.state / "bus.db").read_bytes() == damage
    assert run(scene.root, "doctor").status == 1


def test_git_too_old(scene: Scene, tmp_path: Path) -> None:
    """A git older than 2.39 is refused by name."""
    real = shutil.which("git")
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(
        "#!/bin/sh\n"
        'for word; do [ "$word" = version ] || [ "$word" = --version ] || continue\n'
        '\techo "git version 2.30.2"; exit 0; done\n'
        f'exec {real} "$@"\n'
    )
    fake.chmod(0o755)
    env = {"PATH": f"{fake.parent}:{os.environ['PATH']}"}
    assert scene.run("spawn", "auth", "t1", env=env) == Answer(
        1,
        "",
        "error: git 2.30.2 is too old: gitworker needs 2.39 or later (for merge-tree)\n"
        "hint: git --version\n",
    )
    assert not (scene.root / "worktrees").exists()


def test_no_git(scene: Scene, tmp_path: Path) -> None:
    """Without git on PATH, the error says that git is missing."""
    program = shutil.which("git-worker")
    assert program
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git-worker").symlink_to(program)
    answer = scene.run("list", env={"PATH": str(tmp_path / "bin")})
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("error: cannot run git: No such file or directory\n")


def test_bare_repository(repository: Path, tmp_path: Path) -> None:
    """In a bare repository, all work is done in worktrees."""
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    worktree = Path(ok(tmp_path / "bare.git", "spawn", "auth", "t1"))
    assert git(worktree, "branch", "--show-current") == "auth/t1"
    assert ok(worktree, "list") == "auth\tASSIGNED\tt1\tauth/t1"


def test_full_output(scene: Scene) -> None:
    """An answer that cannot be written is an error."""
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    scene.spawn("auth", "t1")
    with open("/dev/full", "wb") as full:
        answer = subprocess.run(
            ["git-worker", "list"], cwd=scene.root, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert answer.returncode == 1
    assert b"cannot write to standard output" in answer.stderr
