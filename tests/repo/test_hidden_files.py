"""Changes that an index flag hides from `git status` are found, at little cost without flags."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines
from gitworker.model.ids import Oid, TaskId, WorkerId
from gitworker.repo.plumbing.git import Git
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.status.hidden_files import hidden_changes

FLAGS = ("--assume-unchanged", "--skip-worktree")


@pytest.fixture
def work(tmp_path: Path) -> Repo:
    """A repository with a few files."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"a": lines(9), "sub/é": "é\n", "z": "z\n"})
    return repo


def processes(work: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """Return how many processes a look starts."""
    trace = tmp_path / "trace"
    trace.write_text("")
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    hidden_changes(Git(str(work.root)))
    monkeypatch.delenv("GITWORKER_TRACE")
    return len(trace.read_text().splitlines())


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("form", ["2", "4", "split"])
def test_a_change_behind_a_flag_is_found(work: Repo, flag: str, form: str) -> None:
    """A flagged file counts if its content differs, in every form of index."""
    git = Git(str(work.root))
    option = "--split-index" if form == "split" else f"--index-version={form}"
    work.git("update-index", *option.split("="))
    work.git("update-index", flag, "a", "sub/é", "z")
    (work.root / "z").unlink()
    assert hidden_changes(git) == ()
    os.utime(work.root / "a", (1, 1))
    assert hidden_changes(git) == ()
    work.write({"sub/é": "mine\n"})
    before = work.git("ls-files", "-v")
    assert hidden_changes(git) == ("sub/é",)
    assert work.git("ls-files", "-v") == before


def test_a_look_without_flags_starts_no_process(
    work: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If no entry is flagged only the index is read; an absent index hides nothing."""
    assert processes(work, monkeypatch, tmp_path) == 0
    work.git("update-index", "--assume-unchanged", "z")
    assert processes(work, monkeypatch, tmp_path) > 0
    (work.root / ".git" / "index").unlink()
    assert processes(work, monkeypatch, tmp_path) == 0


def test_names_of_any_length_are_walked(
    work: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A name longer than its entry can count is passed by, and a flag after it is found."""
    blob, long = work.git("rev-parse", "HEAD:z"), "/".join("m" * 250 for _ in range(17))
    work.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{long}")
    assert processes(work, monkeypatch, tmp_path) == 0
    work.git("update-index", "--assume-unchanged", "z")
    work.write({"z": "mine\n"})
    assert hidden_changes(Git(str(work.root))) == ("z",)


def test_ids_of_another_length_are_asked_for(tmp_path: Path) -> None:
    """In a repository with SHA-256 git itself is asked."""
    repo = Repo.make(tmp_path / "repo", "--object-format=sha256")
    repo.commit("base", {name: f"{name}\n" for name in "abcdefgh"})
    assert hidden_changes(Git(str(repo.root))) == ()
    repo.git("update-index", "--skip-worktree", "c")
    repo.write({"c": "mine\n"})
    assert hidden_changes(Git(str(repo.root))) == ("c",)


@pytest.mark.parametrize("flag", FLAGS)
def test_a_hidden_change_is_rescued(work: Repo, flag: str) -> None:
    """A rescue holds the hidden change, and the flag does not change."""
    work.git("update-index", flag, "a")
    work.write({"a": "mine\n"})
    before = work.git("ls-files", "-v")
    tip = Oid(work.head())
    kept = rescue(
        Git(str(work.root)), worker=WorkerId("w"), task=TaskId("t"), tip=tip,
        worktree=str(work.root),
    )  # fmt: skip
    assert work.git("show", f"{kept.oid}:a") == "mine"
    assert work.git("ls-files", "-v") == before
