"""Background jobs: silent, never in the way, with their failures in a log."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker import hookentry
from gitworker.processes.jobs import BACKGROUND
from gitworker.repo.hooks.layout import SHARED, hook_sources
from tests.bus.scene import Scene, commit
from tests.conftest import git

COMMAND = [sys.executable, *BACKGROUND]


@pytest.fixture
def scene(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A repository whose state is prepared, and whose hooks start no drain."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = Scene(repository)
    made.session()
    return made


def run(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a background job as a hook starts it."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd="/", env={**os.environ, **env}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def log_of(scene: Scene) -> str:
    """Return the background log."""
    path = scene.state_dir / "logs" / "background.log"
    return path.read_text() if path.exists() else ""


def test_a_drain_publishes_exports_and_notifies(scene: Scene) -> None:
    """The drain of a hook publishes, writes the logs and wakes the followers, without output."""
    oid = commit(scene.spawn("auth", "t"), "a")
    bell = scene.state_dir / "bell"
    bell.unlink(missing_ok=True)
    done = run("drain", f"{scene.root}/.git")
    assert (done.returncode, done.stdout, done.stderr, log_of(scene)) == (0, "", "", "")
    assert oid in (scene.state_dir / "bus.jsonl").read_text()
    assert bell.exists()


def test_variables_of_a_hook_do_not_reach_the_drain(scene: Scene, tmp_path: Path) -> None:
    """The variables of the repository that the hook ran in do not reach the drain."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    place = scene.spawn("auth", "t")
    oid = commit(place, "a")
    done = run(
        "drain", f"{scene.root}/.git", GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other),
        GIT_INDEX_FILE="/nowhere", GIT_PREFIX="x/",
    )  # fmt: skip
    assert (done.returncode, log_of(scene)) == (0, "")
    assert [message["commit"] for message in scene.messages("task_progress")] == [oid]


def test_a_failure_is_only_logged(scene: Scene) -> None:
    """A failing job prints nothing, exits 70 and leaves its report in the log."""
    for path in scene.state_dir.glob("bus.db-*"):  # the log would bring every page back
        path.unlink()
    (scene.state_dir / "bus.db").write_bytes(b"no database" * 100)
    done = run("drain", f"{scene.root}/.git")
    assert (done.returncode, done.stdout, done.stderr) == (70, "", "")
    assert "drain: Traceback" in log_of(scene)
    assert "is damaged" in log_of(scene)


def test_the_log_does_not_grow_for_ever(scene: Scene) -> None:
    """A log past its limit is set aside, and one old log is kept."""
    log = scene.state_dir / "logs" / "background.log"
    log.write_text("x" * (hookentry.LOG_MAX_BYTES + 1))
    assert hookentry.main(["no-such-job", f"{scene.root}/.git"]) == 70
    assert "KeyError" in log.read_text()
    assert (log.parent / "background.log.1").read_text().startswith("xxx")


def test_a_deleted_repository(tmp_path: Path) -> None:
    """If the repository has been deleted, the job makes nothing and prints nothing."""
    done = run("drain", str(tmp_path / "missing" / ".git"))
    assert (done.returncode, done.stdout, done.stderr) == (70, "", "")
    assert list(tmp_path.iterdir()) == []


def test_shims_are_refreshed(scene: Scene) -> None:
    """The job that renews the hooks' shims renews them."""
    scene.spawn("auth", "t")
    hooks = scene.state_dir / "hooks"
    shims = [path for path in hooks.rglob("*") if path.is_file()]
    assert shims
    for path in shims:
        path.unlink()
    done = run("refresh-hooks", f"{scene.root}/.git")
    assert (done.returncode, log_of(scene)) == (0, "")
    assert [path for path in hooks.rglob("*") if path.is_file()]


def test_a_heartbeat_daemon_without_work(scene: Scene) -> None:
    """The heartbeat daemon ends at once if no worker needs it."""
    done = run("beat", str(scene.state_dir), "10")
    assert (done.returncode, done.stdout, log_of(scene)) == (0, "", "")


def test_background_jobs_find_the_users_packages(tmp_path: Path) -> None:
    """Our jobs see the user's own packages; no PYTHON* variable or directory misleads them."""
    (tmp_path / "json.py").write_text("raise SystemExit('led astray')\n")
    flags = "import json, sys; print(sys.flags.no_user_site, sys.flags.ignore_environment)"
    done = subprocess.run(
        [sys.executable, BACKGROUND[0], "-c", flags],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "0 1\n"
    script = Path(hook_sources(), SHARED).read_text()
    assert f'"$gitworker_python" {" ".join(BACKGROUND)} ' in script
