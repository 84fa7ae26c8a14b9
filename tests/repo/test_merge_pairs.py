"""Merging pairs in memory gives the same result as `git merge`, and leaves nothing behind."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from fixtures.repos import Content, Repo, lines, tree_bytes
from gitworker.model.ids import Oid
from gitworker.repo.replay import merge_pairs
from gitworker.repo.replay.merge_pairs import find_objects_place, neutral_options
from tests.repo.merge_oracle import agree, merge_outcome, merged

BASE: dict[str, Content] = {
    "f": lines(20),
    "g": lines(9),
    "lib/one.c": lines(30, {1: "one"}),
    "lib/two.c": lines(30, {2: "two"}),
    "bin.dat": bytes(range(256)) * 4,
}
Files = Mapping[str, Content]
MOVED: Files = {
    "lib/one.c": None, "lib/two.c": None,
    "src/one.c": lines(30, {1: "one"}), "src/two.c": lines(30, {2: "two"}),
}  # fmt: skip
RENAMED: Files = {"f": None, "h": lines(20)}
# The changes of the two sides, and the paths in conflict.
CASES: dict[str, tuple[Files, Files, tuple[str, ...]]] = {
    "apart": ({"f": "1\n"}, {"g": "1\n"}, ()),
    "same file, far lines": ({"f": lines(20, {1: "x"})}, {"f": lines(20, {18: "y"})}, ()),
    "same line": ({"f": lines(20, {3: "x"})}, {"f": lines(20, {3: "y"})}, ("f",)),
    "same change": ({"f": lines(20, {3: "x"})}, {"f": lines(20, {3: "x"})}, ()),
    "both add": ({"n": "1\n"}, {"n": "2\n"}, ("n",)),
    "deleted and changed": ({"f": None}, {"f": lines(20, {3: "x"})}, ("f",)),
    "renamed and changed": (RENAMED, {"f": lines(20, {3: "x"})}, ()),
    "renamed onto an addition": (RENAMED, {"h": "other\n"}, ("h",)),
    "renamed twice": (RENAMED, {"f": None, "i": lines(20)}, ("f", "h", "i")),
    "directory renamed, file added": (MOVED, {"lib/new.c": "new\n"}, ("src/new.c",)),
    "directory renamed, file changed": (MOVED, {"lib/one.c": lines(30, {9: "x"})}, ()),
    "file and directory": ({"x": "1\n"}, {"x/y": "1\n"}, ("x",)),
    "directory in a file's place": ({"g": None, "g/y": "1\n"}, {"g": lines(9, {2: "z"})}, ("g",)),
    "binary": ({"bin.dat": b"\0one"}, {"bin.dat": b"\0two"}, ("bin.dat",)),
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a base commit on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", BASE)
    return repo


def side(repo: Repo, files: Files, start: str = "main") -> Oid:
    """Commit files on a detached HEAD; return the tip, with HEAD back on main."""
    repo.git("checkout", "-q", "--detach", start)
    tip = Oid(repo.commit("side", files))
    repo.git("checkout", "-q", "main")
    return tip


@pytest.mark.parametrize("case", CASES)
def test_constructed_cases(repo: Repo, case: str) -> None:
    """Edits, renames, directories, clashes: the verdict and the paths of a real merge."""
    ours, theirs, paths = CASES[case]
    one, other = side(repo, ours), side(repo, theirs)
    assert agree(repo, one, other) == paths
    assert bool(agree(repo, other, one)) == bool(paths)


def test_modes_and_links(repo: Repo) -> None:
    """A file made executable meets one that was edited; a link meets a file."""
    repo.git("checkout", "-q", "--detach", "main")
    (repo.root / "f").chmod(0o755)
    executable = repo.commit("mode")
    repo.git("checkout", "-q", "--detach", "main")
    (repo.root / "f").unlink()
    (repo.root / "f").symlink_to("g")
    link = repo.commit("link")
    edited = side(repo, {"f": lines(20, {3: "x"})})
    assert agree(repo, executable, edited) == ()
    assert agree(repo, link, edited) == ("f",)


def test_submodules(repo: Repo) -> None:
    """Two commits of one submodule conflict if it is unknown which contains the other."""
    oids = ["1" * 40, "2" * 40, "3" * 40]
    tips = []
    for oid in oids:
        repo.git("checkout", "-q", "--detach", tips[0] if tips else "main")
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{oid},sub")
        repo.git("commit", "-q", "-m", "sub")
        tips.append(repo.head())
        repo.git("reset", "-q", "--hard")
    pair = (Oid(tips[1]), Oid(tips[2]))
    assert merged(repo, pair).files == {pair: ("sub",)}


def test_criss_cross(repo: Repo) -> None:
    """Branches that merged each other are merged with both of their bases."""
    one = side(repo, {"f": lines(20, {3: "x"})})
    other = side(repo, {"f": lines(20, {15: "y"})})
    for name, ours, theirs in (("a", one, other), ("b", other, one)):
        repo.git("checkout", "-q", "-b", name, ours)
        repo.git("merge", "-q", "--no-edit", theirs)
    left = side(repo, {"f": lines(20, {3: "x", 15: "y", 8: "l"})}, "a")
    right = side(repo, {"f": lines(20, {3: "x", 15: "y", 8: "r"})}, "b")
    assert agree(repo, left, right) == ("f",)
    assert agree(repo, left, Oid(repo.head("b"))) == ()


def test_unrelated_histories(repo: Repo) -> None:
    """Branches without a common commit are merged, file by file."""
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.git("rm", "-rqf", ".")
    alone = repo.commit("alone", {"f": "other\n"})
    assert agree(repo, repo.head("main"), alone) == ("f",)


@pytest.mark.parametrize("text", ["f merge=union\n", "f -merge\n", "f merge=binary\n"])
def test_attributes(repo: Repo, text: str) -> None:
    """The given attributes apply: union merges both sides, others conflict."""
    repo.commit("attributes", {".gitattributes": text, "sub/f": "1\n"})
    one, other = (
        side(repo, {"f": f"{name}{lines(20)}", "g": "1\n"}) for name in ("one\n", "two\n")
    )
    pair = (one, other)
    found = merged(repo, pair, attributes={"": text.encode()})
    assert found.files[pair] == merge_outcome(repo, *pair)
    assert merged(repo, pair).files[pair] == ("f",)


def test_merge_programs_do_not_run(repo: Repo, tmp_path: Path) -> None:
    """A merge program of the user's does not run: its files are merged as text, binary ones too."""
    for name in ("mine", "odd=name.x"):
        repo.git("config", f"merge.{name}.driver", f"touch {tmp_path}/ran; exit 0")
        repo.git("config", f"merge.{name}.recursive", "binary")
    repo.git("config", "merge.default", "mine")
    text = b"g merge=mine\nf merge=odd=name.x\n"
    far = (side(repo, {"f": lines(20, {1: "x"})}), side(repo, {"f": lines(20, {18: "x"})}))
    near = (side(repo, {"g": lines(9, {1: "x"})}), side(repo, {"g": lines(9, {1: "y"})}))
    binary = (side(repo, {"bin.dat": b"\0one"}), side(repo, {"bin.dat": b"\0two"}))
    found = merged(repo, far, near, binary, attributes={"": text})
    assert found.complaint == ""
    assert found.files == {far: (), near: ("g",), binary: ("bin.dat",)}
    assert not (tmp_path / "ran").exists()


def test_filters_do_not_run(repo: Repo, tmp_path: Path) -> None:
    """If merges renormalise, the user's filters do not run and are not needed."""
    repo.git("config", "merge.renormalize", "true")
    repo.git("config", "filter.mine.clean", f"touch {tmp_path}/ran; cat")
    repo.git("config", "filter.mine.process", f"touch {tmp_path}/ran")
    repo.git("config", "filter.mine.required", "true")
    pair = (side(repo, {"f": lines(20, {1: "x"})}), side(repo, {"f": lines(20, {18: "x"})}))
    (tmp_path / "ran").unlink(missing_ok=True)
    assert merged(repo, pair, attributes={"": b"* filter=mine\n"}).files == {pair: ()}
    assert not (tmp_path / "ran").exists()


def test_options_for_settings() -> None:
    """Only merge programs and filters are disabled."""
    keys = ["core.bare", "merge.default", "merge.a.b.name", "filter.lfs.smudge", "filter.lfs.clean"]
    assert neutral_options(dict.fromkeys(keys, "x")) == [
        "--config-env=filter.lfs.clean=GITWORKER_NOTHING",
        "--config-env=filter.lfs.required=GITWORKER_NO",
    ]


def test_nothing_is_left_behind(repo: Repo) -> None:
    """No object, ref, index, file or worktree changes, and our own directory is empty."""
    one, other = side(repo, {"f": lines(20, {1: "x"})}), side(repo, {"f": lines(20, {18: "x"})})
    before = tree_bytes(repo.root)
    merged(repo, (one, other))
    assert tree_bytes(repo.root) == before
    assert list((repo.root.parent / "scratch").iterdir()) == []


def test_location_of_objects(tmp_path: Path) -> None:
    """Objects are written to a file system in memory if one exists, else to our directory."""
    assert find_objects_place("scratch", memory=str(tmp_path / "none")) == "scratch"
    assert find_objects_place("scratch", memory="/proc") == "scratch"
    assert find_objects_place("scratch", memory=str(tmp_path)) == str(tmp_path)


def test_many_requests(repo: Repo) -> None:
    """Pairs in many requests, some of which git gives up at, all have their own verdicts."""
    tips = [side(repo, {"f": lines(20, {at % 3: f"{at}"}), f"n{at}": "n\n"}) for at in range(7)]
    missing = Oid("1" * 40)
    wanted = [(one, other) for one in tips for other in tips if one < other]
    asked = [*wanted[:3], (missing, tips[0]), *wanted[3:15], (tips[0], missing), *wanted[15:]]
    found = merged(repo, *wanted * (merge_pairs.PAIRS_AT_ONCE // 10), *asked)
    assert missing in found.complaint
    places = {tip: at % 3 for at, tip in enumerate(tips)}
    assert found.files == {
        (a, b): ("f",) if abs(places[a] - places[b]) < 2 else () for a, b in wanted
    }


def test_a_pair_that_git_dies_of(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that crashes loses its unwritten results: the pair is found, all others are known."""
    tips = [side(repo, {"f": lines(20, {at: "x"})}) for at in (1, 3, 9, 15)]
    wanted = [(one, other) for one in tips for other in tips if one != other]
    deadly = wanted[7]
    real = shutil.which("git")
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        "#!/bin/sh\ncase $* in *merge-tree*) ;; *) exec " + f"{real}" + ' "$@" ;; esac\n'
        f"asked=$(cat)\ncase $asked in *'{deadly[0]} {deadly[1]}'*) kill -ABRT $$ ;; esac\n"
        f'printf "%s\\n" "$asked" | {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    expected = merged(repo, *wanted).files
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    found = merged(repo, *wanted)
    assert found.files == {pair: expected[pair] for pair in wanted if pair != deadly}
    assert found.complaint == "git merge-tree ended with status -6"


def test_a_repository_that_git_cannot_read(repo: Repo) -> None:
    """If hardly any pair can be merged, git is not asked for ever, and its messages are kept."""
    one, other = Oid(repo.head()), Oid("1" * 40)
    found = merged(repo, *[(one, other)] * 500)
    assert found.files == {}
    assert other in found.complaint
    assert merged(repo) == ({}, "")


def test_names_that_are_no_text(repo: Repo) -> None:
    """A path with a line feed, and one that is no UTF-8, are returned unchanged."""
    name = b"a\nb\xff".decode("utf-8", "surrogateescape")
    pair = (side(repo, {name: "1\n"}), side(repo, {name: "2\n"}))
    assert merged(repo, pair).files == {pair: (name,)}


def test_long_ids(tmp_path: Path) -> None:
    """A repository of sha256 is merged as any other."""
    repo = Repo.make(tmp_path / "sha256" / "repo", "--object-format=sha256")
    repo.commit("base", BASE)
    one, other = side(repo, {"f": lines(20, {3: "x"})}), side(repo, {"f": lines(20, {3: "y"})})
    assert len(one) == 64
    assert agree(repo, one, other) == ("f",)
    assert agree(repo, one, side(repo, {"g": "1\n"})) == ()
