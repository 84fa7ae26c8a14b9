"""The present places of comments: each follows its lines through later rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import NotFound
from gitworker.repo.plumbing.objects import read_objects
from gitworker.review.comments.rules_anchor import follow, is_removed
from gitworker.review.comments.rules_place import Lines, same_lines, split_lines
from gitworker.review.patch import read_patch
from gitworker.store.reviewing.comments import OLD, Comment, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitworker.model.ids import Oid
    from gitworker.repo.plumbing.git import Git
    from gitworker.review.rules_patch import FilePatch
    from gitworker.store.reviewing.rounds import Round


class Anchored(NamedTuple):
    """A comment with its place in the newest round; None without one, or if it is outdated."""

    comment: Comment
    lines: Lines | None
    is_outdated: bool


def find_anchors(
    git: Git, comments: Iterable[Comment], rounds: Sequence[Round]
) -> tuple[Anchored, ...]:
    """Return the comments with their places in the newest round.

    A comment is outdated if its lines changed, or if git has deleted the commits of its round. A
    comment on the side before the change is outdated if its lines are no longer removed.
    """
    found = [_Anchor(one, rounds) for one in comments]
    patches: dict[tuple[Oid, Oid], Sequence[FilePatch] | None] = {}
    for one in found:
        one.lines = _moved(git, one, patches)
    _require_same(git, [one for one in found if one.lines is not None])
    return tuple(
        Anchored(one.comment, one.lines, one.comment.place is not None and one.lines is None)
        for one in found
    )


class _Anchor:
    """A comment, the commit that has its lines, and the commit in which they are searched."""

    __slots__ = ("comment", "lines", "new", "now", "old", "then")

    def __init__(self, comment: Comment, rounds: Sequence[Round]) -> None:
        self.comment = comment
        self.lines: Lines | None = None
        self.now = rounds[-1]
        is_old = comment.place is not None and comment.place.side == OLD
        self.then = next((one for one in rounds if one.number == comment.round), rounds[-1])
        self.old = self.then.base if is_old else self.then.tip
        self.new = self.now.base if is_old else self.now.tip


def _moved(
    git: Git, anchor: _Anchor, patches: dict[tuple[Oid, Oid], Sequence[FilePatch] | None]
) -> Lines | None:
    place = anchor.comment.place
    if place is None:
        return None
    before = Lines(place.path, place.first, place.last)
    if anchor.old == anchor.new:
        lines: Lines | None = before
    else:
        files = _patch(git, anchor.old, anchor.new, patches)
        lines = None if files is None else follow(before, files)
    if lines is None or place.side != OLD or anchor.then.number == anchor.now.number:
        return lines
    then = _patch(git, anchor.then.base, anchor.then.tip, patches)
    now = _patch(git, anchor.now.base, anchor.now.tip, patches)
    if then is None or now is None or (is_removed(before, then) and not is_removed(lines, now)):
        return None
    return lines


def _patch(
    git: Git, old: Oid, new: Oid, patches: dict[tuple[Oid, Oid], Sequence[FilePatch] | None]
) -> Sequence[FilePatch] | None:
    """Return the change between two commits without context lines; None if one is deleted."""
    if (old, new) not in patches:
        try:
            patches[old, new] = read_patch(git, old, new, context=0)
        except NotFound:
            patches[old, new] = None
    return patches[old, new]


def _require_same(git: Git, anchors: Sequence[_Anchor]) -> None:
    """Take the place from every comment whose lines are not exactly those that it quotes."""
    names = list(dict.fromkeys(f"{one.new}:{one.lines.path}" for one in anchors if one.lines))
    contents = dict(zip(names, read_objects(git, names), strict=True))
    split = {name: split_lines(content or b"") for name, content in contents.items()}
    for one in anchors:
        place: Place | None = one.comment.place
        if one.lines is None or place is None:
            continue
        if not same_lines(split[f"{one.new}:{one.lines.path}"], one.lines, place.quoted):
            one.lines = None
