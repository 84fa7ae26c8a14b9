"""Worktrees are listed with their open operations, and added without leftovers on failure."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.repo.worktrees.worktree_list import (
    add_worktree,
    find_admin_dir,
    find_checkout,
    list_worktrees,
)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": lines(9), ".gitignore": "*.log\n"})
    return repo


def add(repo: Repo, path: Path, branch: str = "auth/task") -> str:
    """Add a worktree at main's tip; return its path."""
    tree = add_worktree(
        Git(str(repo.root)), path=str(path), branch=Branch(branch), base=Oid(repo.head("main")),
        workers_setting=2,
    )  # fmt: skip
    return tree.path


def test_all_worktrees_are_listed(repo: Repo, tmp_path: Path) -> None:
    """Branch, detached, locked and missing worktrees come with their own git directories."""
    add(repo, tmp_path / "one")
    repo.worktree(tmp_path / "two\nlines", "--detach")
    repo.worktree(tmp_path / "gone", "-b", "gone")
    repo.git("worktree", "lock", str(tmp_path / "two\nlines"))
    (tmp_path / "gone").rename(tmp_path / "away")
    main, *linked = list_worktrees(Git(str(tmp_path / "one")))
    found = {Path(tree.path).name: tree for tree in linked}
    assert (main.path, main.admin_dir) == (str(repo.root), str(repo.root / ".git"))
    assert found["one"].branch == "refs/heads/auth/task"
    assert found["one"].admin_dir == Repo(tmp_path / "one").git("rev-parse", "--absolute-git-dir")
    assert found["two\nlines"].detached
    assert found["two\nlines"].locked
    assert found["gone"].prunable
    assert Path(found["gone"].admin_dir).name == "gone"
    assert all(tree.head == repo.head() for tree in linked)


def test_a_bare_and_an_empty_repository_are_listed(tmp_path: Path) -> None:
    """Without a commit there is no head; a bare repository has no branch checked out."""
    empty = Repo.make(tmp_path / "empty")
    [tree] = list_worktrees(Git(str(empty.root)))
    assert (tree.head, tree.branch, tree.bare) == (None, "refs/heads/main", False)
    bare = Repo.make(tmp_path / "bare.git", "--bare")
    [tree] = list_worktrees(Git(str(bare.root)))
    assert tree.bare
    assert find_checkout(Git(str(bare.root)), Ref("refs/heads/main")) is None


def test_an_added_worktree_tracks_nothing(repo: Repo, tmp_path: Path) -> None:
    """The branch starts at the base, without an upstream, whatever branch.autoSetupMerge is."""
    repo.git("config", "branch.autoSetupMerge", "always")
    path = add(repo, tmp_path / "one")
    assert Repo(Path(path)).head("auth/task") == repo.head("main")
    assert repo.run("config", "branch.auth/task.merge").returncode == 1


def test_a_branch_or_path_in_the_way_is_refused(repo: Repo, tmp_path: Path) -> None:
    """Nothing that exists is overwritten, and nothing new is left behind."""
    repo.git("branch", "auth/task")
    repo.git("branch", "blocker")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/f").write_text("mine\n")
    refs = repo.git("for-each-ref")
    for path, branch in (("x", "auth/task"), ("full", "b"), ("y", "blocker/task")):
        with pytest.raises(Refused):
            add(repo, tmp_path / path, branch)
    assert repo.git("for-each-ref") == refs
    assert sorted(os.listdir(tmp_path)) == ["full", "repo"]
    assert len(list_worktrees(Git(str(repo.root)))) == 1


def test_a_failed_checkout_leaves_nothing(repo: Repo, tmp_path: Path) -> None:
    """If a filter makes the checkout fail, directory, admin directory and branch are deleted."""
    repo.git("config", "filter.broken.smudge", "false")
    repo.git("config", "filter.broken.required", "true")
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/attributes").write_text("f filter=broken\n")
    with pytest.raises(GitWorkerError):
        add(repo, tmp_path / "one")
    assert not (tmp_path / "one").exists()
    assert repo.git("branch", "--list") == "* main"
    assert len(list_worktrees(Git(str(repo.root)))) == 1


def test_a_failing_hook_of_the_users_fails_nothing(repo: Repo, tmp_path: Path) -> None:
    """git keeps the worktree when post-checkout fails, and so do we."""
    hook = repo.root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 3\n")
    hook.chmod(0o755)
    assert (Path(add(repo, tmp_path / "one")) / "f").exists()


def test_parallel_adds_all_succeed(repo: Repo, tmp_path: Path) -> None:
    """Eight at once: every worktree is whole."""
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(add, repo, tmp_path / f"w{n}", f"auth-{n}/t") for n in range(8)]
    assert all((Path(job.result()) / "f").exists() for job in jobs)
    assert len(list_worktrees(Git(str(repo.root)))) == 9


@pytest.mark.parametrize(
    "words",
    [
        "could not create directory of '.git/worktrees/one'",
        "could not open '.git/worktrees/one/locked' for writing",
        "could not open '.git/worktrees/one/gitdir' for writing",
        "could not open '.git/worktrees/one/HEAD' for writing",
    ],
)
def test_an_admin_directory_pruned_by_gits_upkeep_is_made_again(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """An admin directory that was pruned half made is made again; other failures are reported."""
    complaint = stand_in(tmp_path, monkeypatch)
    complaint.write_text(f"fatal: {words}: No such file or directory\n")
    assert (Path(add(repo, tmp_path / "one")) / "f").exists()
    assert not complaint.exists()
    complaint.write_text(f"fatal: {words}: Permission denied\n")
    with pytest.raises(GitWorkerError) as caught:
        add(repo, tmp_path / "two", "auth/other")
    assert "Permission denied" in caught.value.detail
    add(repo, tmp_path / "two", "auth/other")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file: the next `git worktree add` takes it and fails with the message in it."""
    complaint, program = folder / "complaint", folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
case " $* " in *" worktree add "*)
    test ! -e '{complaint}' || {{ cat '{complaint}' >&2; rm '{complaint}'; exit 128; }}
esac
exec '{shutil.which("git")}' "$@"
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return complaint


def test_git_that_stays_locked_is_a_conflict(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that is never released is reported, and nothing is left."""
    monkeypatch.setattr("gitworker.repo.worktrees.worktree_list.PAUSES_S", (0.0,))
    lock = repo.root / ".git/refs/heads/auth/task.lock"
    lock.parent.mkdir()
    lock.write_text("")
    with pytest.raises(Conflict):
        add(repo, tmp_path / "one")
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("command", ["rebase", "merge", "cherry-pick", "revert", "bisect", "am"])
def test_an_open_operation_is_reported(repo: Repo, tmp_path: Path, command: str) -> None:
    """Each operation that git can leave open is recognised by its files, and its end too."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", {"f": "other\n"})
    patch = repo.git("format-patch", "-1", "-o", str(tmp_path))
    repo.git("checkout", "-q", "main")
    first = repo.commit("mine", {"f": "mine\n"})
    repo.commit("again", {"f": "again\n"})
    arguments = {
        "rebase": ["other"], "merge": ["other"], "cherry-pick": ["other"],
        "revert": ["--no-edit", first], "bisect": ["start"], "am": [patch],
    }  # fmt: skip
    admin = str(repo.root / ".git")
    assert open_operation(admin) is None
    repo.run(command, *arguments[command])
    assert open_operation(admin) == command
    assert find_checkout(Git(str(repo.root)), Ref("refs/heads/main")) == str(repo.root)
    repo.git(command, "reset" if command == "bisect" else "--abort")
    assert open_operation(admin) is None


def test_a_sequence_stopped_between_commits_is_reported(repo: Repo) -> None:
    """A cherry-pick of several commits is open even if no CHERRY_PICK_HEAD is left."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("one", {"f": "one\n"})
    repo.commit("two", {"g": "two\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"f": "mine\n"})
    repo.run("cherry-pick", "main..other")
    repo.git("reset", "-q", "--hard")
    assert open_operation(str(repo.root / ".git")) == "cherry-pick"


def test_status_counts_each_kind(repo: Repo) -> None:
    """Staged, unstaged, untracked and unmerged paths are counted; ignored files are not."""
    git = Git(str(repo.root))
    assert read_status(git).is_clean
    repo.write({"my.log": "ignored\n"})
    assert read_status(git).is_clean
    repo.write({"f": "changed\n", "new\nname": "s\n", "dir/one": "1\n", "dir/two": "2\n"})
    repo.git("add", "new\nname")
    status = read_status(git)
    assert (status.staged, status.unstaged, status.untracked, status.unmerged) == (1, 1, 1, 0)
    assert status.paths == ("f", "new\nname")
    assert not status.is_clean


def test_status_counts_conflicts(repo: Repo) -> None:
    """An unmerged path is counted as such."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit("other", {"f f": "other\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"f f": "mine\n"})
    repo.run("merge", "other")
    status = read_status(Git(str(repo.root)))
    assert (status.unmerged, status.paths) == (1, ("f f",))


def test_the_admin_directory_of_a_missing_worktree_is_found(repo: Repo, tmp_path: Path) -> None:
    """A worktree that is away still has its own git directory."""
    add(repo, tmp_path / "one")
    (tmp_path / "one").rename(tmp_path / "away")
    assert find_admin_dir(str(repo.root / ".git"), str(tmp_path / "one")) is not None
    assert find_admin_dir(str(repo.root / ".git"), str(tmp_path / "two")) is None


def test_work_inside_a_submodule_counts(repo: Repo, tmp_path: Path) -> None:
    """A worktree with changes inside a submodule is not clean; none of its own paths changed."""
    module = Repo.make(tmp_path / "module")
    module.commit("m", {"m": "1\n"})
    repo.git("submodule", "--quiet", "add", str(module.root), "sub")
    repo.commit("sub")
    git = Git(str(repo.root))
    assert read_status(git).is_clean
    (repo.root / "sub/m").write_text("2\n")
    status = read_status(git)
    assert (status.is_clean, status.paths) == (False, ())
