"""The wheel alone is enough: it contains hooks, schema, queries and the manual page."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("gitworker", "githooks", "docs", "scripts", "pyproject.toml", "README.md", "LICENSE")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the sources, then delete the copy."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, copy / name, ignore=ignored)
        else:
            shutil.copy(source, copy / name)
    target = tmp_path_factory.mktemp("wheel")
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], cwd=copy)
    shutil.rmtree(copy)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment with its dependencies and nothing else of ours."""
    environment = tmp_path_factory.mktemp("environment") / "venv"
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)])
    python = environment / "bin" / "python"
    _run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps",
         "--no-index", "--disable-pip-version-check", str(wheel)]
    )  # fmt: skip
    dependencies = sysconfig.get_path("purelib")
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    return environment


def test_wheel_holds_the_hooks_the_queries_and_the_manual(wheel: Path) -> None:
    """Every file that is not a Python module is in the wheel too."""
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "gitworker/_githooks/post-commit",
        "gitworker/_githooks/pre-commit",
        "gitworker/store/sqlite/schema.sql",
        "gitworker/store/sqlite/queries/messages.sql",
        "gitworker/cli/pages/agent.md",
    ):
        assert wanted in names
    for page in ("git-worker.1", "git-worker-spawn.1", "git-worker-msg-send.1"):
        assert any(name.endswith(f"share/man/man1/{page}") for name in names), page
    assert any(name.endswith("scripts/git-worker") for name in names)


def test_git_shows_the_manual_pages(
    installed: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the environment's bin on PATH, `git help` finds the page of every command."""
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    monkeypatch.setenv("PATH", f"{installed}/bin", prepend=":")
    for words, title in (
        (["git", "help", "worker-spawn"], "GIT-WORKER-SPAWN(1)"),
        (["git", "worker", "--help"], "GIT-WORKER(1)"),
    ):
        assert _run(words, cwd=repository).startswith(title)


def test_an_installed_wheel_works_without_the_sources(
    installed: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the wheel alone a worker is spawned, its hook fires, and its work lands."""
    monkeypatch.setenv("PATH", f"{installed}/bin", prepend=":")
    origin = _run(
        [f"{installed}/bin/python", "-I", "-c", "import gitworker; print(gitworker.__file__)"]
    ).strip()
    assert origin.startswith(str(installed))
    path = _run(["git", "worker", "spawn", "auth", "login"], cwd=repository).strip()
    _run(["git", "worker", "start"], cwd=Path(path))
    (Path(path) / "form.py").write_text("form = 1\n")
    _run(["git", "add", "form.py"], cwd=Path(path))
    _run(["git", "commit", "-qm", "Add the form"], cwd=Path(path))
    hooks = _run(["git", "rev-parse", "--git-path", "hooks"], cwd=Path(path)).strip()
    assert (Path(path) / hooks / "post-commit").is_file()
    _run(["git", "worker", "done"], cwd=Path(path))
    _run(["git", "worker", "approve", "auth"], cwd=repository)
    _run(["git", "worker", "merge", "auth"], cwd=repository)
    assert (
        _run(["git", "log", "-1", "--format=%s", "main"], cwd=repository).strip() == "Add the form"
    )


def _run(command: list[str], cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
