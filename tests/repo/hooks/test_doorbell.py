"""The doorbell: one line in the spool, one detached drain, and never a trace in git's command."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tests.repo.hooks.support import Seat, commit, make_seat, quoted, wait_until

DRAIN = "-EP -m gitworker.hookentry drain"


def ring(seat: Seat, dialect: tuple[str, ...], name: str = "post-commit", *args: str) -> str:
    """Run one of our hooks in a given shell as git would, and return its output."""
    env = {**os.environ, "GIT_DIR": git(seat.worktree, "rev-parse", "--absolute-git-dir")}
    done = subprocess.run(
        [*dialect, str(seat.hooks / name), *args],
        cwd=seat.worktree, env=env, check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    return done.stdout + done.stderr


def commit_noisily(seat: Seat) -> str:
    """Commit, and return everything git printed besides its own report."""
    (seat.worktree / "f").write_text("1\n")
    git(seat.worktree, "add", "f")
    command = ["git", "commit", "-q", "-m", "f"]
    done = subprocess.run(
        command, cwd=seat.worktree, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout + done.stderr


def hold_drain(seat: Seat, tmp_path: Path, notes: str = ":") -> Path:
    """Block the drain until the test writes to the pipe that is returned."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    calls = quoted(seat.calls)
    text = f"#!/bin/sh\n{notes} >{calls}.notes\necho $$ >>{calls}\nread -r x <{quoted(gate)}\n"
    seat.interpreter.write_text(text + f"echo end >>{calls}\n")
    return gate


def test_a_commit_writes_one_line_and_starts_one_drain(seat: Seat) -> None:
    """A commit leaves hook, git directory and arguments in the spool, and wakes one drain in /."""
    commit(seat.worktree)
    git_dir = f"{seat.root}/.git/worktrees/w"
    assert seat.spooled() == [["", "post-commit", git_dir, ""]]
    wait_until(lambda: bool(seat.told()), "the drain")
    assert [line.split("|", 1)[1] for line in seat.told()] == [f"/|{DRAIN} {seat.root}/.git"]


def test_every_hook_starts_a_drain(seat: Seat) -> None:
    """Merge, amend, rebase, am and switch each leave a line of their hook."""
    commit(seat.worktree, "a")
    git(seat.worktree, "commit", "-q", "--amend", "-m", "b")
    git(seat.worktree, "checkout", "-q", "-b", "side", "HEAD~1")
    git(seat.worktree, "merge", "-q", "auth/x")
    git(seat.worktree, "rebase", "-q", "--force-rebase", "HEAD~1")
    patch = git(seat.worktree, "format-patch", "-1", "--stdout")
    git(seat.worktree, "reset", "-q", "--hard", "HEAD~1")
    git(seat.worktree, "am", "-q", input=patch + "\n")
    hooks = {line[1] for line in seat.spooled()}
    expected = {"post-applypatch", "post-checkout", "post-commit", "post-merge", "post-rewrite"}
    assert hooks == expected


def test_checking_out_files_starts_no_drain(seat: Seat) -> None:
    """A checkout of files moves no ref and leaves no line."""
    (seat.worktree / "README").write_text("changed\n")
    git(seat.worktree, "checkout", "-q", "--", "README")
    assert not (seat.spool / "hooks").exists()


@pytest.mark.parametrize("place", ["rebase-merge", "rebase-apply/rebasing"])
def test_commits_of_a_rebase_wait_for_its_end(
    seat: Seat, dialect: tuple[str, ...], place: str
) -> None:
    """While a rebase is under way a commit leaves no line and starts no drain; its end does."""
    admin = seat.root / ".git" / "worktrees" / "w"
    (admin / place).mkdir(parents=True)
    assert ring(seat, dialect) == ""
    assert not (seat.spool / "hooks").exists()
    assert not (seat.spool / "ring").exists()
    ring(seat, dialect, "post-rewrite", "rebase")
    wait_until(lambda: bool(seat.told()), "the drain")


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
    seat: Seat, dialect: tuple[str, ...], todo: str | None, lines: int
) -> None:
    """The first checkout of a rebase starts a drain only if no commit is to be picked later."""
    rebase = seat.root / ".git" / "worktrees" / "w" / "rebase-merge"
    rebase.mkdir()
    if todo is not None:
        (rebase / "git-rebase-todo").write_text(todo)
    assert ring(seat, dialect, "post-checkout", "a", "b", "1") == ""
    assert (len(seat.spooled()) if (seat.spool / "hooks").exists() else 0) == lines


@pytest.mark.parametrize("kind", ["picked", "become empty", "upstream already", "skipped"])
def test_each_rebase_starts_a_drain_in_the_end(seat: Seat, kind: str) -> None:
    """A rebase that moves the branch starts a drain at least once, even if it drops commits."""
    commit(seat.worktree, "a")
    if kind == "become empty":
        commit(seat.root, "b")
        (seat.worktree / "b").write_text("1\n")
        git(seat.worktree, "add", "b")
        git(seat.worktree, "commit", "-q", "--amend", "-m", "Change both")
    commit(seat.root, "d")
    text = "2\n" if kind == "skipped" else "1\n"
    commit(seat.root, "c" if kind == "picked" else "a", text)
    (seat.spool / "hooks").unlink()
    before = git(seat.worktree, "rev-parse", "HEAD")
    if kind == "skipped":
        with pytest.raises(AssertionError):
            git(seat.worktree, "rebase", "-q", "main")
        git(seat.worktree, "rebase", "--skip")
    else:
        git(seat.worktree, "rebase", "-q", "main")
    assert git(seat.worktree, "rev-parse", "HEAD") != before
    assert len(seat.spooled()) == 1


def test_a_drain_on_its_way_is_not_started_twice(seat: Seat, dialect: tuple[str, ...]) -> None:
    """While a living process holds the ring file, forty hooks start no drain; the next one does."""
    bell = seat.spool / "ring"
    bell.write_text(f"{os.getpid()}\n")
    for _ in range(40):
        assert ring(seat, dialect) == ""
    assert bell.read_text() == f"{os.getpid()}\n" + 40 * "."
    assert seat.told() == []
    ring(seat, dialect)
    wait_until(lambda: bool(seat.told()), "the drain")
    assert len(seat.spooled()) == 41


@pytest.mark.parametrize("left", ["dead", "", "0\n", "1x\n", "\n", "...", "-1\n"])
def test_a_killed_drain_silences_no_hook(seat: Seat, dialect: tuple[str, ...], left: str) -> None:
    """A ring file of a dead process, or without a pid, does not stop the next drain."""
    if left == "dead":
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = f"{gone.pid}\n"
    (seat.spool / "ring").write_text(left)
    assert ring(seat, dialect) == ""
    wait_until(lambda: bool(seat.told()), "the drain")


def test_the_ring_file_names_the_drain_itself(
    repository: Path, tmp_path: Path, dialect: tuple[str, ...]
) -> None:
    """The pid in the ring file is the drain's own: the hook forks once and no more."""
    seat = make_seat(tmp_path, repository, answers=False)
    seat.install()
    ring(seat, dialect)
    wait_until(lambda: bool(seat.told()), "the drain")
    assert (seat.spool / "ring").read_text() == seat.told()[0].split("|")[0] + "\n"


@pytest.mark.parametrize("nasty", ["a\nb\tc\x1b[31m\x7f", "\n", "%s%n\\n", "x" * 9000, "$(id) '\""])
def test_arguments_never_break_lines(seat: Seat, dialect: tuple[str, ...], nasty: str) -> None:
    """Whatever an argument holds, the spool gets one line of four fields below 4096 bytes."""
    ring(seat, dialect, "post-checkout", nasty, "old", "1")
    (line,) = (seat.spool / "hooks").read_bytes().splitlines()
    assert line.count(b"\t") == 3
    assert len(line) < 4096
    assert not any(byte < 32 and byte != 9 for byte in line)
    assert line.endswith(b" old 1") or len(nasty) > 4096


def test_lines_written_at_once_stay_whole(seat: Seat, dialect: tuple[str, ...]) -> None:
    """Hooks that run at the same moment in many processes leave one whole line each."""
    env = {**os.environ, "GIT_DIR": f"{seat.root}/.git/worktrees/w"}
    argv = [*dialect, str(seat.hooks / "post-merge")]
    running = [
        subprocess.Popen([*argv, f"{number}-{'y' * 300}"], env=env, cwd=seat.worktree)
        for number in range(40)
    ]
    assert {process.wait() for process in running} == {0}
    texts = sorted(line[3] for line in seat.spooled())
    assert texts == sorted(f"{number}-{'y' * 300}" for number in range(40))


def test_the_drain_holds_nothing_of_gits(seat: Seat, tmp_path: Path) -> None:
    """Git's streams, a caller's lock on descriptor 5 and git's variables do not reach the drain."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to look into a process")
    gate = hold_drain(seat, tmp_path, '{ ls -l "/proc/$$/fd"; env; }')
    (seat.worktree / "f").write_text("1\n")
    git(seat.worktree, "add", "f")
    script = 'exec 5>"$1"; git commit -m f | cat'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(tmp_path / "lock")],
        cwd=seat.worktree, check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "1 file changed" in done.stdout
    assert done.stderr == ""
    wait_until(lambda: bool(seat.told()), "the drain")
    notes = Path(f"{seat.calls}.notes").read_text()
    assert " 0 -> /dev/null" in notes
    assert " 2 -> /dev/null" in notes
    assert str(tmp_path / "lock") not in notes
    assert "GIT_DIR=" not in notes
    assert "GIT_INDEX_FILE=" not in notes
    gate.write_text("go\n")
    wait_until(lambda: "end" in seat.told(), "the drain's end")


def test_the_drain_outlives_the_terminal(
    seat: Seat, tmp_path: Path, dialect: tuple[str, ...]
) -> None:
    """Hang-up, interrupt, quit and stop from the terminal do not end the drain."""
    gate = hold_drain(seat, tmp_path)
    ring(seat, dialect)
    wait_until(lambda: bool(seat.told()), "the drain")
    pid = int(seat.told()[0])
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        os.kill(pid, number)
    gate.write_text("go\n")
    wait_until(lambda: "end" in seat.told(), "the drain's end")


def break_spool(seat: Seat) -> None:
    """Put a file in the place of the spool directory."""
    seat.spool.rmdir()
    seat.spool.write_text("")


def break_disk(seat: Seat) -> None:
    """Let every write to the spool and the ring file end with `no space left`."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full to stand in for a full disk")
    (seat.spool / "hooks").symlink_to("/dev/full")
    (seat.spool / "ring").symlink_to("/dev/full")


def break_python(seat: Seat) -> None:
    """Take the interpreter away."""
    seat.interpreter.unlink()


def break_state(seat: Seat) -> None:
    """Remove the files that the shims share."""
    seat.hooks.chmod(0o755)
    (seat.hooks / "gitworker.sh").unlink()


def forbid_state(seat: Seat) -> None:
    """Make the spool read-only, as on a read-only disk (root walks past this one)."""
    seat.spool.chmod(0o555)


@pytest.mark.parametrize(
    "breakage", [break_spool, break_disk, break_python, break_state, forbid_state]
)
def test_a_failure_of_ours_is_never_gits(seat: Seat, breakage: object) -> None:
    """If our side is broken in any way, git commits and shows no message of ours."""
    assert callable(breakage)
    breakage(seat)
    assert commit_noisily(seat) == ""
    assert git(seat.worktree, "log", "-1", "--format=%s") == "f"


def test_off_means_off(
    seat: Seat, dialect: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITWORKER_HOOKS=off leaves no line and starts no drain, stale shims or not."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    (seat.hooks / "stamp").chmod(0o644)
    os.utime(seat.hooks / "stamp", (1, 1))
    ring(seat, dialect, "pre-commit")
    ring(seat, dialect, "post-commit")
    assert list(seat.spool.iterdir()) == []


def test_a_commit_starts_two_hooks(seat: Seat, tmp_path: Path) -> None:
    """If the user has no hooks, git runs our pre-commit and post-commit and no other hook."""
    trace = tmp_path / "trace"
    (seat.worktree / "f").write_text("1\n")
    git(seat.worktree, "add", "f")
    git(seat.worktree, "commit", "-qm", "f", env={**os.environ, "GIT_TRACE2_EVENT": str(trace)})
    lines = trace.read_text().splitlines()
    hooks = [line for line in lines if '"child_class":"hook"' in line]
    assert len(hooks) == 2
