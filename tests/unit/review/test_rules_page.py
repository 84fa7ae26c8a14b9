"""The order of files, the hunks that a reviewer names, and the spelling of rounds."""

import pytest

from gitworker.errors import Invalid
from gitworker.review.page.rules_order import folded_paths, order_files
from gitworker.review.rules_patch import FilePatch, Hunk, RawChange
from gitworker.review.rules_rounds import added_commit, has_same_commits, parse_rounds, without_same
from gitworker.review.rules_viewed import choose


def file(path: str, *ids: str) -> FilePatch:
    """Return a change of a file with hunks of these ids."""
    change = RawChange("M", "1", "1", "a", "b", path, path)
    return FilePatch(change, False, tuple(Hunk(id, 1, 1, 1, 1, "", ()) for id in ids), None)


def test_the_order_of_files() -> None:
    """Conflicts come before claims, claims before the rest, folded files last."""
    files = [file("a"), file("b"), file("c"), file("d")]
    found = order_files(
        files, {"a": "generated"}, conflicts=[("docs", ("c",))], claims=[("ui", "path:b", "b")]
    )
    assert [(one.patch.path, one.risks) for one in found] == [
        ("c", ("conflicts with docs",)), ("b", ("claimed by ui (path:b)",)), ("d", ()), ("a", ()),
    ]  # fmt: skip


def test_attributes_fold_files() -> None:
    """A set attribute folds; unset, false and unspecified ones do not."""
    answers = [
        "a", "linguist-generated", "set", "a", "linguist-vendored", "unspecified",
        "b", "linguist-generated", "false", "b", "linguist-vendored", "true",
        "c", "linguist-generated", "unset", "",
    ]  # fmt: skip
    assert folded_paths(answers) == {"a": "generated", "b": "vendored"}


def test_named_hunks() -> None:
    """A file names its hunks, the beginning of an id names one, nothing names all."""
    files = [file("a", "abcd1", "abcd2"), file("b", "beef1")]
    assert choose(files, None, worker="auth") == {"abcd1": "a", "abcd2": "a", "beef1": "b"}
    assert choose(files, "b", worker="auth") == {"beef1": "b"}
    assert choose(files, "beef", worker="auth") == {"beef1": "b"}
    assert choose(files, "bee", worker="auth") == choose(files, "none", worker="auth") == {}
    with pytest.raises(Invalid) as caught:
        choose(files, "abcd", worker="auth")
    assert caught.value.hint == "git worker review auth"


def test_rounds() -> None:
    """Rounds are spelled N..M or N; equal commits of a range-diff are left out."""
    assert (parse_rounds("1..3"), parse_rounds("2")) == ((1, 3), (2, None))
    for text in ("", "1..", "..2", "a", "1...2"):
        with pytest.raises(Invalid):
            parse_rounds(text)
    text = "1:  abc1234 = 1:  def5678 Same\n2:  abc1234 ! 2:  def5678 Other\n    @@ x\n"
    assert without_same(text) == "2:  abc1234 ! 2:  def5678 Other\n    @@ x"
    assert added_commit("-:  ------- > 2:  be1c6ea Work") == "be1c6ea"
    assert added_commit("1:  abc1234 ! 2:  def5678 Other") is None
    one = [("c", "p", "a", "m")]
    assert has_same_commits(one, [("d", "p", "a", "m")])
    assert not has_same_commits(one, [])
