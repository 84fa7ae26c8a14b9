"""Every commit and tree that git refuses is found, and no other."""

from pathlib import Path

import pytest

from fixtures.hostile_commits import HARMLESS, hostile_commit
from fixtures.hostile_commits import SHAPES as MALFORMED
from fixtures.hostile_trees import FILE, LINK, SHAPES, commit_tree, hostile_tree, raw_tree
from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.history.tree_check import BadCommit, find_bad_commit
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.rules_tree import Protection, is_safe_path, name_fault

SPELLINGS = (
    "..", ".", ".git", ".GIT", "..git", ".gitx", ".git ", ".git.", ".git. x", ".git:x", ".git::$I",
    "git~1", "GIT~1", "git~2", "git~1 .", "git~1:x", "git~11", "a\\.git", "a\\b", "a\\git~1\\b",
    "..\\x", ".git\\x", ".g\u200cit", ".git\u200d", "\ufeff.git", ".g\u0130t", ".git\udcff",
    "\u202e.git", ".gitmodules", ".GITMODULES", ".gitmodules ", ".gitmodules:x", ".gitmodules x",
    "gitmod~1", "gitmod~4", "gitmod~5", "gitmod~1.", "gi7eba~1", "gi7eb~10", "gi7eb~01", "~1000000",
    "gi7e~1", ".gitmod\u200cules", "a\\.gitmodules", ".gitignore", ".gitattributes", "...", ". ",
)  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit."""
    made = Repo.make(tmp_path / "repo")
    made.commit("Start", {"README": "one\n", "src/app.py": "1\n"})
    return made


def check(repo: Repo, *tips: str, base: str = "main") -> BadCommit | None:
    """Look for a bad commit on top of the base."""
    oids = [Oid(tip if len(tip) in {40, 64} else repo.head(tip)) for tip in tips]
    return find_bad_commit(Git(str(repo.root)), oids, base=Oid(repo.head(base)))


@pytest.mark.parametrize("switch", ["true", "false"])
@pytest.mark.parametrize("mode", [FILE, LINK])
def test_names_are_judged_as_git_judges_them(repo: Repo, mode: str, switch: str) -> None:
    """A name is refused exactly if git's index refuses it, with either protection on or off."""
    blob = repo.git("hash-object", "-w", "--stdin", input=b"x")
    settings = ("-c", f"core.protectHFS={switch}", "-c", f"core.protectNTFS={switch}")
    judged = {}
    for name in SPELLINGS:
        line = f"{mode} {blob}\t{name}\0".encode("utf-8", "surrogateescape")
        repo.git("read-tree", "--empty")
        repo.run(*settings, "update-index", "-z", "--index-info", input=line)
        judged[name] = repo.git("ls-files") != ""
    protection = Protection(hfs=switch == "true", ntfs=switch == "true")
    ours = {name: name_fault(name, mode.encode(), protection) is None for name in SPELLINGS}
    assert ours == judged


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(repo: Repo, shape: str) -> None:
    """Each hostile shape is found, whatever commit of the branch has it."""
    bad = commit_tree(repo, hostile_tree(repo, shape), parent=repo.head())
    good = commit_tree(repo, repo.git("rev-parse", "HEAD^{tree}"), parent=bad)
    for tip in (bad, good):
        found = check(repo, tip)
        assert found is not None
        assert found.commit == bad


def test_a_side_branch_counts(repo: Repo) -> None:
    """A bad tree on the second parent of a merge, or in the merge alone, is found."""
    start, tree = repo.head(), repo.git("rev-parse", "HEAD^{tree}")
    bad = commit_tree(repo, hostile_tree(repo, ".."), parent=start)
    merge = repo.git("commit-tree", tree, "-p", start, "-p", bad, "-m", "Merge")
    assert (check(repo, merge) or (None,))[0] == bad
    evil = repo.raw_commit(
        f"tree {hostile_tree(repo, '..')}\nparent {start}\nparent {start}\nauthor a <a@b> 1 +0000\n"
        "committer a <a@b> 1 +0000\n\nEvil\n".encode()
    )
    assert (check(repo, evil) or (None,))[0] == evil


def test_ordinary_trees_pass(repo: Repo) -> None:
    """Trees that git itself writes pass: links, submodules, deep, odd and foreign names."""
    files = {
        "a-b": "1", "a/b/c/d": "2", "a.c": "3", ".gitignore": "x", ".gitattributes": "", "ä/ö": "4",
        "x y": "5", 'quo"te': "6", "tab\there": "7", "git~x": "8", "..x/y": "9", "back\\slash": "0",
    }  # fmt: skip
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("Names", files)
    (repo.root / "link").symlink_to("a")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},sub")
    repo.git("add", "link")
    repo.git("commit", "-q", "-m", "More")
    repo.git("rm", "-rq", "--cached", ".")
    repo.git("commit", "-q", "-m", "Nothing left")
    assert check(repo, "topic") is None
    assert check(repo, "main") is None


def test_trees_of_the_base_are_not_judged(repo: Repo) -> None:
    """Only the changes of a branch are read: an old bad tree of the target blocks no branch."""
    bad = commit_tree(repo, hostile_tree(repo, "file and directory"), parent=repo.head())
    good = commit_tree(repo, repo.git("rev-parse", "HEAD^{tree}"), parent=bad)
    assert check(repo, good, base=bad) is None


def test_a_repository_may_allow_names(repo: Repo) -> None:
    """A name that only another file system takes for `.git` passes if the repository allows it."""
    tip = commit_tree(repo, hostile_tree(repo, "NTFS short"), parent=repo.head())
    assert check(repo, tip) is not None
    repo.git("config", "core.protectNTFS", "false")
    assert check(repo, tip) is None
    assert check(repo, commit_tree(repo, hostile_tree(repo, ".git"), parent=tip)) is not None


def test_git_is_believed_if_it_fails_for_other_reasons(repo: Repo) -> None:
    """If git cannot read the branch, and its trees are good, git's own failure is reported."""
    tip = commit_tree(repo, repo.git("rev-parse", "HEAD^{tree}"), parent="12" * 20)
    with pytest.raises(GitFailed):
        check(repo, tip)


def test_a_tree_that_is_cut_short(repo: Repo) -> None:
    """A tree object that ends in the middle of an entry is found."""
    data = b"100644 x\0\1\2\3"
    tree = repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", input=data)
    found = check(repo, commit_tree(repo, tree, parent=repo.head()))
    assert found is not None
    assert "damaged" in found.reason


@pytest.mark.parametrize("path", ["..", "a/../b", ".git/config", "a/.GIT/x", "/etc/x", "a//b", ""])
def test_unsafe_paths(path: str) -> None:
    """A path that climbs, is absolute, or passes a git directory is not safe."""
    assert not is_safe_path(path)
    assert is_safe_path(f"x{path}".replace("/", "_"))


def test_sha256(tmp_path: Path) -> None:
    """Trees with long ids are read too."""
    repo = Repo.make(tmp_path / "long", "--object-format=sha256")
    repo.commit("Start", {"a": "1"})
    blob = repo.git("hash-object", "-w", "--stdin", input=b"x")
    bad = commit_tree(repo, raw_tree(repo, [(FILE, "..", blob)]), parent=repo.head())
    assert (check(repo, bad) or (None,))[0] == bad


@pytest.mark.parametrize("shape", [*MALFORMED, *HARMLESS])
def test_headers_are_judged_as_git_judges_them(repo: Repo, tmp_path: Path, shape: str) -> None:
    """A commit is refused exactly if a remote with `receive.fsckObjects` refuses it."""
    commit = hostile_commit(repo, shape, parent=repo.head())
    known = repo.git("rev-list", "--objects", "--no-object-names", "HEAD")
    pack = repo.run("pack-objects", "--stdout", input=f"{known}\n{commit}\n".encode()).stdout
    bare = Repo.make(tmp_path / "remote", "--bare")
    received = bare.run("index-pack", "--strict", "--stdin", input=pack)
    assert (received.returncode == 0) is (shape in HARMLESS), received.stderr
    found = check(repo, commit)
    assert (found and (found.commit, found.path)) == (None if shape in HARMLESS else (commit, None))


@pytest.mark.parametrize("shape", MALFORMED)
def test_a_malformed_commit_below_the_tip(repo: Repo, shape: str) -> None:
    """A malformed commit is found below a good one and on the side of a merge."""
    start, tree = repo.head(), repo.git("rev-parse", "HEAD^{tree}")
    bad = hostile_commit(repo, shape, parent=start)
    above = commit_tree(repo, tree, parent=bad)
    merge = commit_tree(repo, tree, parent=f"{start}\nparent {above}")
    for tip in (above, merge):
        found = check(repo, tip)
        assert found is not None
        assert (found.commit, found.path) == (bad, None)


def test_a_malformed_commit_of_the_base(repo: Repo) -> None:
    """A malformed commit of the target blocks no branch on top of it."""
    bad = hostile_commit(repo, "no author", parent=repo.head())
    tip = commit_tree(repo, repo.git("rev-parse", "HEAD^{tree}"), parent=bad)
    assert check(repo, tip, base=bad) is None
