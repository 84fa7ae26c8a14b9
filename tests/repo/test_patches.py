"""A patch id holds for the patch: it survives a rebase and nothing else."""

from pathlib import Path

import pytest

from fixtures.repos import RandomHistory, Repo, lines
from gitworker.model.ids import Oid
from gitworker.repo.history.patch_ids import EMPTY, has_all_patches, keeps_patches, patch_ids
from gitworker.repo.plumbing.git import Git


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository whose topic has a text, a binary, a mode, a rename and an empty commit."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": lines(30), "b": b"\0\1", "r": lines(9), "é": "1\n"})
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("commit 1\n\ncommit " + "1" * 40, {"f": lines(30, {3: "x"})})
    repo.commit("binary", {"b": b"\0\2"})
    (repo.root / "r").chmod(0o755)
    repo.commit("mode")
    repo.git("mv", "r", "renamed")
    repo.commit("rename", {"é": "2\n"})
    repo.commit("empty")
    repo.git("checkout", "-q", "main")
    return repo


def ids(repo: Repo, base: str = "main", tip: str = "topic") -> tuple[str, ...]:
    """Return the patch ids of a range."""
    return patch_ids(Git(str(repo.root)), Oid(repo.head(base)), Oid(repo.head(tip)))


def test_every_commit_has_its_own_id_in_order(repo: Repo) -> None:
    """One id per commit, oldest first, a stand-in for an empty one; merges have none."""
    found = ids(repo)
    assert len(set(found)) == 5
    assert found[4] == EMPTY
    assert ids(repo, "main", "topic~3") == found[:2]
    assert ids(repo, "topic") == ()


def test_ids_survive_a_rebase(repo: Repo) -> None:
    """Replayed onto a target that moved, the patches are the same."""
    before = ids(repo)
    repo.commit("main", {"f": lines(30, {25: "main"}), "other": "1\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "-q", "main")
    assert ids(repo) == before


@pytest.mark.parametrize(
    "change",
    [
        {"f": lines(30, {3: " x"})},
        {"f": lines(30, {3: "x "})},
        {"f": lines(30, {3: "y"})},
        {"f": lines(30, {3: "x"}), "g": ""},
    ],
)
def test_any_other_patch_has_another_id(repo: Repo, change: dict[str, str]) -> None:
    """White space counts too."""
    repo.git("checkout", "-q", "-b", "variant", "main")
    repo.commit("commit 1", change)
    assert ids(repo, "main", "variant") != ids(repo, "main", "topic~4")


@pytest.mark.parametrize(
    ("text", "expected"),
    [({3: "x"}, True), ({3: "  x"}, False), ({3: "y"}, False)],
    ids=["same", "indented", "other"],
)
def test_patches_that_another_branch_has(repo: Repo, text: dict[int, str], expected: bool) -> None:
    """A branch with the same patch under another id has it; one that is only indented has not."""
    repo.git("checkout", "-q", "-b", "landed", "main")
    repo.commit("other", {"other": "1\n"})
    repo.commit("commit 1", {"f": lines(30, text)})
    landed, commit = Oid(repo.head("landed")), Oid(repo.head("topic~4"))
    assert has_all_patches(Git(str(repo.root)), landed, of=commit) is expected


def test_binary_content_counts(repo: Repo) -> None:
    """Two binary files that differ have different ids."""
    found: list[str] = []
    for content in (b"\0\2", b"\0\3"):
        repo.git("checkout", "-q", "-B", "variant", "main")
        repo.commit("binary", {"b": content})
        found += ids(repo, "main", "variant")
    assert found[0] == ids(repo)[1] != found[1]


@pytest.mark.parametrize(
    "setting",
    [
        "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.context=0", "diff.renames=copies",
        "diff.algorithm=patience", "diff.interHunkContext=9", "diff.external=false",
        "color.ui=always", "log.showSignature=true", "log.showRoot=false", "format.pretty=fuller",
        "diff.indentHeuristic=true", "diff.suppressBlankEmpty=true", "core.quotePath=false",
        "log.decorate=full", "notes.displayRef=refs/notes/*", "diff.relative=true",
        "log.diffMerges=first-parent", "diff.orderFile=order", "diff.submodule=log",
        "log.follow=true", "core.abbrev=4", "log.date=iso", "core.whitespace=cr-at-eol",
    ],
)  # fmt: skip
def test_no_setting_changes_an_id(repo: Repo, setting: str) -> None:
    """An approval given on one machine holds on another."""
    before = ids(repo)
    (repo.root / "order").write_text("r*\n")
    name, _, value = setting.partition("=")
    repo.git("config", name, value)
    assert ids(repo) == before


def test_attributes_of_a_worktree_change_nothing(repo: Repo, tmp_path: Path) -> None:
    """The same commits have the same ids in every worktree."""
    before = ids(repo)
    linked = repo.worktree(tmp_path / "linked", "--detach")
    (linked.root / ".gitattributes").write_text("* -diff\nf binary\n")
    (linked.root / "sub").mkdir()
    assert ids(linked) == before
    assert ids(Repo(linked.root / "sub")) == before


def test_two_processes_for_the_whole_range(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many commits, git starts twice."""
    git, base, tip = Git(str(repo.root)), Oid(repo.head()), Oid(repo.head("topic"))
    monkeypatch.setenv("GITWORKER_TRACE", str(tmp_path / "trace"))
    patch_ids(git, base, tip)
    assert len((tmp_path / "trace").read_text().splitlines()) == 2


def pairs(repo: Repo, old: str, new: str) -> list[tuple[Oid, Oid]]:
    """Return two ranges of equal length as picks."""
    listed = [repo.git("rev-list", "--reverse", span).split() for span in (old, new)]
    return [(Oid(one), Oid(other)) for one, other in zip(*listed, strict=True)]


def test_patches_of_the_same_blobs_are_kept(repo: Repo) -> None:
    """If the target changed other files, every kind of change surely keeps its patch."""
    repo.commit("main", {"other": "1\n"})
    repo.git("branch", "old", "topic")
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "-q", "main")
    git = Git(str(repo.root))
    assert keeps_patches(git, pairs(repo, "main~1..old", "main..topic"))
    assert keeps_patches(git, [])


def test_a_patch_of_other_blobs_is_not_surely_kept(repo: Repo) -> None:
    """A file that the target changed elsewhere, a lost commit, and a merge decide nothing."""
    repo.commit("main", {"f": lines(30, {25: "main"})})
    repo.git("branch", "old", "topic")
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "-q", "main")
    git = Git(str(repo.root))
    whole = pairs(repo, "main~1..old", "main..topic")
    assert not keeps_patches(git, whole)
    assert keeps_patches(git, whole[1:])
    assert not keeps_patches(git, [(whole[0][0], whole[1][1])])
    repo.git("branch", "side", "main~1")
    repo.git("checkout", "-q", "side")
    repo.commit("side", {"side": "1\n"})
    repo.git("merge", "-q", "--no-edit", "old")
    merge = Oid(repo.head())
    assert not keeps_patches(git, [(merge, merge)])


@pytest.mark.parametrize("seed", range(6))
def test_a_surely_kept_patch_has_equal_ids(tmp_path: Path, seed: int) -> None:
    """For any two commits, patch ids agree if we say that the patch is kept."""
    repo = Repo.make(tmp_path / "repo")
    RandomHistory(repo, seed).build()
    repo.run("rebase", "main", "topic")
    repo.run("rebase", "--abort")
    git = Git(str(repo.root))
    listed = repo.git("rev-list", "--min-parents=1", "--all", "--reflog", "HEAD").split()
    commits = [Oid(oid) for oid in listed]
    by_commit = {oid: patch_ids(git, Oid(repo.head(f"{oid}~1")), oid) for oid in commits}
    kept = 0
    for old in commits:
        for new in commits:
            if keeps_patches(git, [(old, new)]):
                assert by_commit[old] == by_commit[new]
                kept += 1
    assert kept >= len(commits)


def test_one_process_checks_whether_patches_are_kept(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many picks, git starts once."""
    git, both = Git(str(repo.root)), pairs(repo, "main..topic", "main..topic")
    monkeypatch.setenv("GITWORKER_TRACE", str(tmp_path / "trace"))
    assert keeps_patches(git, both)
    assert len((tmp_path / "trace").read_text().splitlines()) == 1
