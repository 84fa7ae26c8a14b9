"""Our hooks with closed standard streams: no file of ours gets any output, and git succeeds."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tests.repo.hooks.support import HookedRepo, quoted, snapshot, wait_until

CLOSED = ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-")
NOISE = "user output"
NOISY = f"#!/bin/sh\necho {NOISE}\necho {NOISE} >&2\nread -r line\nexit 0\n"
DRAIN = """\
#!/bin/sh
echo {noise}; echo {noise} >&2
seen=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
echo "$seen" >{streams}.new && mv {streams}.new {streams}
"""


def closing(streams: str, *argv: str, hooked: HookedRepo) -> None:
    """Run a command in the worktree with some streams closed; it has to succeed."""
    shell = ["sh", "-c", f'exec "$@" {streams}', "sh", *argv]
    env = {**os.environ, "GIT_DIR": f"{hooked.root}/.git/worktrees/w"}
    subprocess.run(
        shell, cwd=hooked.worktree, env=env, check=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip


def be_noisy(hooked: HookedRepo, tmp_path: Path, *names: str) -> Path:
    """Let these hooks of the user and the drain write to all streams; return the drain's record."""
    for name in names:
        hook = hooked.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(NOISY)
        hook.chmod(0o755)
    streams = tmp_path / "streams"
    hooked.interpreter.write_text(DRAIN.format(noise=NOISE, streams=quoted(streams)))
    return streams


def written(hooked: HookedRepo, before: dict[str, bytes | str]) -> dict[str, bytes | str]:
    """Return the changes below the state directory."""
    after = snapshot(hooked.hooks.parent)
    return {name: after[name] for name in after if before.get(name) != after[name]}


@pytest.mark.parametrize("streams", CLOSED)
@pytest.mark.parametrize("name", ["post-commit", "post-rewrite"])
def test_a_shim_with_closed_streams(
    hooked: HookedRepo, tmp_path: Path, dialect: tuple[str, ...], name: str, streams: str
) -> None:
    """A doorbell writes its own line only, and the drain has /dev/null for all streams."""
    record = be_noisy(hooked, tmp_path, name)
    hooked.install_by_path()
    before = snapshot(hooked.hooks.parent)
    closing(streams, *dialect, str(hooked.hooks / name), "a", "b", "1", hooked=hooked)
    wait_until(record.exists, "the drain")
    assert record.read_text() == "/dev/null\n" * 3
    changed = written(hooked, before)
    assert set(changed) == {"spool/hooks", "spool/ring"}
    line = f"\t{name}\t{hooked.root}/.git/worktrees/w\ta b 1\n"
    assert changed["spool/hooks"] == line.encode()
    assert bytes(changed["spool/ring"]).strip().isdigit()  # type: ignore[arg-type]


@pytest.mark.parametrize("streams", CLOSED)
@pytest.mark.parametrize("is_stale", [False, True])
def test_a_shim_that_only_runs_the_users_hook(
    hooked: HookedRepo, tmp_path: Path, dialect: tuple[str, ...], *, streams: str, is_stale: bool
) -> None:
    """The hook of the user and the refresh of changed hooks write in none of our files."""
    record = be_noisy(hooked, tmp_path, "pre-commit", "pre-rebase")
    hooked.install_by_path()
    if is_stale:
        os.utime(hooked.root / ".git" / "config", (1_000_000_000, 1_000_000_000))
    before = snapshot(hooked.hooks.parent)
    for name in ("pre-commit", "pre-rebase"):
        closing(streams, *dialect, str(hooked.hooks / name), "main", hooked=hooked)
    assert record.exists() == is_stale
    assert not is_stale or record.read_text() == "/dev/null\n" * 3
    assert written(hooked, before) == {}


@pytest.mark.parametrize("streams", CLOSED)
def test_git_with_closed_streams(hooked: HookedRepo, tmp_path: Path, streams: str) -> None:
    """A commit and a rebase with closed streams succeed and leave two lines in the spool."""
    be_noisy(hooked, tmp_path, "pre-commit", "post-commit", "post-rewrite", "pre-rebase")
    hooked.refresh()
    before = snapshot(hooked.hooks.parent)
    (hooked.worktree / "f").write_text("1\n")
    git(hooked.worktree, "add", "f")
    closing(streams, "git", "commit", "-qm", "f", hooked=hooked)
    closing(streams, "git", "rebase", "-q", "--force-rebase", "HEAD~1", hooked=hooked)
    assert git(hooked.worktree, "log", "--format=%s", "-1") == "f"
    assert git(hooked.worktree, "status", "--porcelain") == ""
    assert [line[1] for line in hooked.spooled()] == ["post-commit", "post-rewrite"]
    assert set(written(hooked, before)) <= {"spool/hooks", "spool/ring"}
    for content in snapshot(hooked.hooks.parent).values():
        assert NOISE.encode() not in (content if isinstance(content, bytes) else b"")
