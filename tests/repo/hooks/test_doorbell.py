"""The doorbell: one line in the spool, one detached drain, and never a trace in git's command."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tests.repo.hooks.support import HookedRepo, commit, make_hooked_repo, quoted, wait_until

DRAIN = "-EP -m gitworker.hookentry drain"


def ring(
    hooked: HookedRepo, dialect: tuple[str, ...], name: str = "post-commit", *args: str
) -> str:
    """Run one of our hooks in a given shell as git would, and return its output."""
    env = {**os.environ, "GIT_DIR": git(hooked.worktree, "rev-parse", "--absolute-git-dir")}
    done = subprocess.run(
        [*dialect, str(hooked.hooks / name), *args],
        cwd=hooked.worktree, env=env, check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    return done.stdout + done.stderr


def commit_noisily(hooked: HookedRepo) -> str:
    """Commit, and return everything git printed besides its own report."""
    (hooked.worktree / "f").write_text("1\n")
    git(hooked.worktree, "add", "f")
    command = ["git", "commit", "-q", "-m", "f"]
    done = subprocess.run(
        command, cwd=hooked.worktree, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout + done.stderr


def hold_drain(hooked: HookedRepo, tmp_path: Path, notes: str = ":") -> Path:
    """Block the drain until the test writes to the pipe that is returned."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    calls = quoted(hooked.calls)
    text = f"#!/bin/sh\n{notes} >{calls}.notes\necho $$ >>{calls}\nread -r x <{quoted(gate)}\n"
    hooked.interpreter.write_text(text + f"echo end >>{calls}\n")
    return gate


def test_a_commit_writes_one_line_and_starts_one_drain(hooked: HookedRepo) -> None:
    """A commit leaves hook, git directory and arguments in the spool, and wakes one drain in /."""
    commit(hooked.worktree)
    git_dir = f"{hooked.root}/.git/worktrees/w"
    assert hooked.spooled() == [["", "post-commit", git_dir, ""]]
    wait_until(lambda: bool(hooked.starts()), "the drain")
    assert [line.split("|", 1)[1] for line in hooked.starts()] == [f"/|{DRAIN} {hooked.root}/.git"]


def test_every_hook_starts_a_drain(hooked: HookedRepo) -> None:
    """Merge, amend, rebase, am and switch each leave a line of their hook."""
    commit(hooked.worktree, "a")
    git(hooked.worktree, "commit", "-q", "--amend", "-m", "b")
    git(hooked.worktree, "checkout", "-q", "-b", "side", "HEAD~1")
    git(hooked.worktree, "merge", "-q", "auth/x")
    git(hooked.worktree, "rebase", "-q", "--force-rebase", "HEAD~1")
    patch = git(hooked.worktree, "format-patch", "-1", "--stdout")
    git(hooked.worktree, "reset", "-q", "--hard", "HEAD~1")
    git(hooked.worktree, "am", "-q", input=patch + "\n")
    hooks = {line[1] for line in hooked.spooled()}
    expected = {"post-applypatch", "post-checkout", "post-commit", "post-merge", "post-rewrite"}
    assert hooks == expected


def test_checking_out_files_starts_no_drain(hooked: HookedRepo) -> None:
    """A checkout of files moves no ref and leaves no line."""
    (hooked.worktree / "README").write_text("changed\n")
    git(hooked.worktree, "checkout", "-q", "--", "README")
    assert not (hooked.spool / "hooks").exists()


@pytest.mark.parametrize("place", ["rebase-merge", "rebase-apply/rebasing"])
def test_commits_of_a_rebase_wait_for_its_end(
    hooked: HookedRepo, dialect: tuple[str, ...], place: str
) -> None:
    """While a rebase is under way a commit leaves no line and starts no drain; its end does."""
    admin = hooked.root / ".git" / "worktrees" / "w"
    (admin / place).mkdir(parents=True)
    assert ring(hooked, dialect) == ""
    assert not (hooked.spool / "hooks").exists()
    assert not (hooked.spool / "ring").exists()
    ring(hooked, dialect, "post-rewrite", "rebase")
    wait_until(lambda: bool(hooked.starts()), "the drain")


@pytest.mark.parametrize(
    ("todo", "lines"),
    [
        ("pick 1234567 one\n", 0),
        ("", 1),
        ("noop\n", 1),
        ("drop 1234567 one\n", 1),
        ("exec true\npick 1234567 one\n", 1),
        (None, 1),
    ],
)
def test_the_checkout_that_begins_a_rebase(
    hooked: HookedRepo, dialect: tuple[str, ...], todo: str | None, lines: int
) -> None:
    """The first checkout of a rebase starts a drain only if no commit is to be picked later."""
    rebase = hooked.root / ".git" / "worktrees" / "w" / "rebase-merge"
    rebase.mkdir()
    if todo is not None:
        (rebase / "git-rebase-todo").write_text(todo)
    assert ring(hooked, dialect, "post-checkout", "a", "b", "1") == ""
    assert (len(hooked.spooled()) if (hooked.spool / "hooks").exists() else 0) == lines


@pytest.mark.parametrize("kind", ["picked", "become empty", "upstream already", "skipped"])
def test_each_rebase_starts_a_drain_in_the_end(hooked: HookedRepo, kind: str) -> None:
    """A rebase that moves the branch starts a drain at least once, even if it drops commits."""
    commit(hooked.worktree, "a")
    if kind == "become empty":
        commit(hooked.root, "b")
        (hooked.worktree / "b").write_text("1\n")
        git(hooked.worktree, "add", "b")
        git(hooked.worktree, "commit", "-q", "--amend", "-m", "Change both")
    commit(hooked.root, "d")
    text = "2\n" if kind == "skipped" else "1\n"
    commit(hooked.root, "c" if kind == "picked" else "a", text)
    (hooked.spool / "hooks").unlink()
    before = git(hooked.worktree, "rev-parse", "HEAD")
    if kind == "skipped":
        with pytest.raises(AssertionError):
            git(hooked.worktree, "rebase", "-q", "main")
        git(hooked.worktree, "rebase", "--skip")
    else:
        git(hooked.worktree, "rebase", "-q", "main")
    assert git(hooked.worktree, "rev-parse", "HEAD") != before
    assert len(hooked.spooled()) == 1


def test_a_drain_on_its_way_is_not_started_twice(
    hooked: HookedRepo, dialect: tuple[str, ...]
) -> None:
    """While a living process holds the ring file, forty hooks start no drain; the next one does."""
    bell = hooked.spool / "ring"
    bell.write_text(f"{os.getpid()}\n")
    for _ in range(40):
        assert ring(hooked, dialect) == ""
    assert bell.read_text() == f"{os.getpid()}\n" + 40 * "."
    assert hooked.starts() == []
    ring(hooked, dialect)
    wait_until(lambda: bool(hooked.starts()), "the drain")
    assert len(hooked.spooled()) == 41


@pytest.mark.parametrize("left", ["dead", "", "0\n", "1x\n", "\n", "...", "-1\n"])
def test_a_killed_drain_silences_no_hook(
    hooked: HookedRepo, dialect: tuple[str, ...], left: str
) -> None:
    """A ring file of a dead process, or without a pid, does not stop the next drain."""
    if left == "dead":
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = f"{gone.pid}\n"
    (hooked.spool / "ring").write_text(left)
    assert ring(hooked, dialect) == ""
    wait_until(lambda: bool(hooked.starts()), "the drain")


def test_the_ring_file_names_the_drain_itself(
    repository: Path, tmp_path: Path, dialect: tuple[str, ...]
) -> None:
    """The pid in the ring file is the drain's own: the hook forks once and no more."""
    hooked = make_hooked_repo(tmp_path, repository, answers=False)
    hooked.install()
    ring(hooked, dialect)
    wait_until(lambda: bool(hooked.starts()), "the drain")
    assert (hooked.spool / "ring").read_text() == hooked.starts()[0].split("|")[0] + "\n"


@pytest.mark.parametrize("nasty", ["a\nb\tc\x1b[31m\x7f", "\n", "%s%n\\n", "x" * 9000, "$(id) '\""])
def test_arguments_never_break_lines(
    hooked: HookedRepo, dialect: tuple[str, ...], nasty: str
) -> None:
    """Whatever an argument holds, the spool gets one line of four fields below 4096 bytes."""
    ring(hooked, dialect, "post-checkout", nasty, "old", "1")
    (line,) = (hooked.spool / "hooks").read_bytes().splitlines()
    assert line.count(b"\t") == 3
    assert len(line) < 4096
    assert not any(byte < 32 and byte != 9 for byte in line)
    assert line.endswith(b" old 1") or len(nasty) > 4096


def test_lines_written_at_once_stay_whole(hooked: HookedRepo, dialect: tuple[str, ...]) -> None:
    """Hooks that run at the same moment in many processes leave one whole line each."""
    env = {**os.environ, "GIT_DIR": f"{hooked.root}/.git/worktrees/w"}
    argv = [*dialect, str(hooked.hooks / "post-merge")]
    running = [
        subprocess.Popen([*argv, f"{number}-{'y' * 300}"], env=env, cwd=hooked.worktree)
        for number in range(40)
    ]
    assert {process.wait() for process in running} == {0}
    texts = sorted(line[3] for line in hooked.spooled())
    assert texts == sorted(f"{number}-{'y' * 300}" for number in range(40))


def test_the_drain_holds_nothing_of_gits(hooked: HookedRepo, tmp_path: Path) -> None:
    """Git's streams, a caller's lock on descriptor 5 and git's variables do not reach the drain."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to look into a process")
    gate = hold_drain(hooked, tmp_path, '{ ls -l "/proc/$$/fd"; env; }')
    (hooked.worktree / "f").write_text("1\n")
    git(hooked.worktree, "add", "f")
    script = 'exec 5>"$1"; git commit -m f | cat'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(tmp_path / "lock")],
        cwd=hooked.worktree, check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "1 file changed" in done.stdout
    assert done.stderr == ""
    wait_until(lambda: bool(hooked.starts()), "the drain")
    notes = Path(f"{hooked.calls}.notes").read_text()
    assert " 0 -> /dev/null" in notes
    assert " 2 -> /dev/null" in notes
    assert str(tmp_path / "lock") not in notes
    assert "GIT_DIR=" not in notes
    assert "GIT_INDEX_FILE=" not in notes
    gate.write_text("go\n")
    wait_until(lambda: "end" in hooked.starts(), "the drain's end")


def test_the_drain_outlives_the_terminal(
    hooked: HookedRepo, tmp_path: Path, dialect: tuple[str, ...]
) -> None:
    """Hang-up, interrupt, quit and stop from the terminal do not end the drain."""
    gate = hold_drain(hooked, tmp_path)
    ring(hooked, dialect)
    wait_until(lambda: bool(hooked.starts()), "the drain")
    pid = int(hooked.starts()[0])
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        os.kill(pid, number)
    gate.write_text("go\n")
    wait_until(lambda: "end" in hooked.starts(), "the drain's end")


def break_spool(hooked: HookedRepo) -> None:
    """Put a file in the place of the spool directory."""
    hooked.spool.rmdir()
    hooked.spool.write_text("")


def break_disk(hooked: HookedRepo) -> None:
    """Let every write to the spool and the ring file end with `no space left`."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full to stand in for a full disk")
    (hooked.spool / "hooks").symlink_to("/dev/full")
    (hooked.spool / "ring").symlink_to("/dev/full")


def break_python(hooked: HookedRepo) -> None:
    """Take the interpreter away."""
    hooked.interpreter.unlink()


def break_state(hooked: HookedRepo) -> None:
    """Remove the files that the shims share."""
    hooked.hooks.chmod(0o755)
    (hooked.hooks / "gitworker.sh").unlink()


def forbid_state(hooked: HookedRepo) -> None:
    """Make the spool read-only, as on a read-only disk (root walks past this one)."""
    hooked.spool.chmod(0o555)


@pytest.mark.parametrize(
    "breakage", [break_spool, break_disk, break_python, break_state, forbid_state]
)
def test_a_failure_of_ours_is_never_gits(hooked: HookedRepo, breakage: object) -> None:
    """If our side is broken in any way, git commits and shows no message of ours."""
    assert callable(breakage)
    breakage(hooked)
    assert commit_noisily(hooked) == ""
    assert git(hooked.worktree, "log", "-1", "--format=%s") == "f"


def test_off_means_off(
    hooked: HookedRepo, dialect: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITWORKER_HOOKS=off leaves no line and starts no drain, stale shims or not."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    (hooked.hooks / "stamp").chmod(0o644)
    os.utime(hooked.hooks / "stamp", (1, 1))
    ring(hooked, dialect, "pre-commit")
    ring(hooked, dialect, "post-commit")
    assert list(hooked.spool.iterdir()) == []


def test_a_commit_starts_two_hooks(hooked: HookedRepo, tmp_path: Path) -> None:
    """If the user has no hooks, git runs our pre-commit and post-commit and no other hook."""
    trace = tmp_path / "trace"
    (hooked.worktree / "f").write_text("1\n")
    git(hooked.worktree, "add", "f")
    git(hooked.worktree, "commit", "-qm", "f", env={**os.environ, "GIT_TRACE2_EVENT": str(trace)})
    lines = trace.read_text().splitlines()
    hooks = [line for line in lines if '"child_class":"hook"' in line]
    assert len(hooks) == 2
