"""The environment of our git: no inherited variable changes a command's input or output."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.git_environment import (
    DROPPED,
    DROPPED_PREFIXES,
    FIXED_ENV,
    KEPT_BY_REASON,
    TRACES,
    clean_environment,
    is_dropped,
)
from gitworker.repo.remote.fetch import fetch_branch

NAME = re.compile(rb"(?<![A-Z0-9_])GIT_[A-Z0-9_]+(?![A-Za-z0-9_])")
PRINT = ("-c", "alias.print-environment=!env", "print-environment")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with three commits."""
    repo = Repo.make(tmp_path / "repo")
    for number in range(3):
        repo.commit(f"commit {number}", {"f": f"{number}\n"})
    return repo


def git_program() -> bytes:
    """Return the bytes of git itself, also if a script on PATH starts it."""
    path = shutil.which("git")
    assert path is not None
    program = Path(path).read_bytes()
    named = re.findall(rb"'(/[^']+/bin/git)'", program) if program.startswith(b"#!") else []
    return Path(named[-1].decode()).read_bytes() if named else program


def test_every_variable_of_git_is_in_the_table() -> None:
    """Each variable that git's program names is kept or dropped, with a reason."""
    kept = {name for names in KEPT_BY_REASON.values() for name in names}
    assert not kept & DROPPED
    found = {name.decode() for name in NAME.findall(git_program())}
    assert len(found) > 50
    unknown = {
        name for name in found - kept - DROPPED if not name.startswith((*DROPPED_PREFIXES, TRACES))
    }
    assert unknown == set()


def test_dropped_variables_do_not_reach_git(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """git gets the fixed variables and none that the table drops; others are passed unchanged."""
    for name in (*DROPPED, *(f"{prefix}X" for prefix in DROPPED_PREFIXES)):
        monkeypatch.setenv(name, "1")
    kept = {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_AUTHOR_NAME": "Eve", "GIT_PASSWORD": "x"}
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    words = Git(str(repo.root)).text(*PRINT).splitlines()
    found = dict(word.split("=", 1) for word in words if word.startswith(("GIT_", "L")))
    assert kept.items() <= found.items()
    assert FIXED_ENV.items() <= found.items()
    # git sets GIT_PREFIX itself for an alias; a git that fixtures/newer_git unpacked gets the rest.
    own = {"GIT_PREFIX", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", *FIXED_ENV}
    assert found.get("GIT_TEMPLATE_DIR") != "1"
    assert not {name for name, value in found.items() if is_dropped(name, value)} - own


@pytest.mark.parametrize("value", ["1", "2", "7", "true", "relative", "af_unix:/tmp/x"])
def test_a_trace_reaches_files_only(value: str) -> None:
    """A trace to a descriptor, which may be a file of ours, is dropped; one to a file is kept."""
    for name in ("GIT_TRACE", "GIT_TRACE2_EVENT", "GIT_TRACE_PACKET"):
        assert name not in clean_environment({name: value})
        assert clean_environment({name: "/tmp/trace"})[name] == "/tmp/trace"


def by_ref(repo: Repo) -> None:
    """Replace the newest commit by one with another parent, as a replace ref."""
    repo.git("replace", "--graft", "main", "main~2")


def by_file(repo: Repo) -> None:
    """The same as a graft."""
    (repo.root / ".git/info").mkdir(exist_ok=True)
    line = f"{repo.head()} {repo.head('main~2')}\n"
    (repo.root / ".git/info/grafts").write_text(line)


def by_named_file(repo: Repo) -> None:
    """The same in a file that only the environment names."""
    (repo.root / "grafts").write_text(f"{repo.head()} {repo.head('main~2')}\n")


@pytest.mark.parametrize("base", ["refs/replace/", "refs/other/"])
@pytest.mark.parametrize("hide", [by_ref, by_file, by_named_file])
def test_real_commits_are_read(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, hide: Callable[[Repo], None], base: str
) -> None:
    """Replace refs and grafts, wherever they are, hide no commit from us; git prints no warning."""
    commits = repo.git("rev-list", "main").split()
    monkeypatch.setenv("GIT_REPLACE_REF_BASE", base)
    hide(repo)
    if hide is by_named_file:
        monkeypatch.setenv("GIT_GRAFT_FILE", str(repo.root / "grafts"))
    assert len(repo.git("rev-list", "main").split()) == 2
    done = Git(str(repo.root)).run("rev-list", "main")
    assert (done.text.split(), done.err) == (commits, b"")


def test_a_fetch_has_the_same_environment(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transfer, which GitPython starts, gets the fixed variables and none that are dropped."""
    clone = Repo.make(repo.root.parent / "clone")
    seen = repo.root.parent / "seen"
    script = repo.root.parent / "upload-pack"
    script.write_text(f'#!/bin/sh\nenv >"{seen}"\nexec git-upload-pack "$@"\n')
    script.chmod(0o755)
    clone.git("remote", "add", "up", str(repo.root))
    clone.git("config", "remote.up.uploadpack", str(script))
    head = repo.head()
    for name in ("GIT_NAMESPACE", "GIT_DIR", "GIT_INDEX_FILE", "GIT_GRAFT_FILE", "GIT_TRACE"):
        monkeypatch.setenv(name, "2")
    assert fetch_branch(Git(str(clone.root)), remote="up", branch="main") == head
    found = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert not {"GIT_NAMESPACE", "GIT_INDEX_FILE", "GIT_TRACE"} & found.keys()
