"""The changes of a review as the screens show them: numbered lines with comments inline."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from gitworker.review.comments.rules_steps import is_resolved
from gitworker.review.rules_patch import mode_text
from gitworker.store.reviewing.comments import OLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.page.rules_order import PageFile
    from gitworker.review.rules_patch import FilePatch, Hunk

ADD, DEL, SAME, NOTE = "add", "del", "same", "note"
KINDS = {"+": ADD, "-": DEL, "\\": NOTE}
STATUSES = {"A": "new", "D": "deleted", "T": "other type"}
LINES_AT_MOST = 20_000
DELETED = "D"
DELETION, DELETED_AT_MOST = "large deletion", 60  # lines; a deleted file with more begins folded


class DiffLine(NamedTuple):
    """One line with its number on each side; `said` are the comments that end on it."""

    kind: str
    old: int | None
    new: int | None
    text: str
    said: tuple[Anchored, ...] = ()


class ShownHunk(NamedTuple):
    """One hunk; `id` is the name of its viewed mark, `place` its ranges of lines."""

    id: str
    place: str
    heading: str
    lines: tuple[DiffLine, ...]
    is_viewed: bool

    @property
    def is_discussed(self) -> bool:
        """Return whether a comment on it is not resolved; it does not begin folded then."""
        said = [one.comment for line in self.lines for one in line.said]
        return any(not is_resolved(one.state) for one in said)


class ShownFile(NamedTuple):
    """One file; `key` is the same in every round, `said` are comments outside its hunks.

    `viewed` of its `total` parts are viewed. `folded` is the reason to begin folded.
    """

    key: str
    path: str
    facts: tuple[str, ...]
    folded: str | None
    counts: tuple[int, int]
    hunks: tuple[ShownHunk, ...]
    said: tuple[Anchored, ...]
    viewed: int
    total: int
    old_path: str  # before a rename

    @property
    def is_viewed(self) -> bool:
        """Return whether every part is viewed."""
        return self.viewed == self.total

    @property
    def is_discussed(self) -> bool:
        """Return whether a comment on one of its hunks is not resolved."""
        return any(one.is_discussed for one in self.hunks)


class ShownChanges(NamedTuple):
    """The files, the comments on none of them, and the number of lines after the limit."""

    files: tuple[ShownFile, ...]
    said: tuple[Anchored, ...]
    left_out: int

    @property
    def viewed(self) -> int:
        """Return the number of parts that the reader has viewed."""
        return sum(one.viewed for one in self.files)

    @property
    def total(self) -> int:
        """Return the number of parts of all files."""
        return sum(one.total for one in self.files)


def show_changes(page: ReviewPage, *, limit: int = LINES_AT_MOST, only: str = "") -> ShownChanges:
    """Return the files of a review, each with the comments on it, and at most `limit` lines.

    With `only`, the key of a file, the others have no lines.
    """
    left = {one.comment.id: one for one in page.comments}
    files, shown, size = [], 0, 0
    for file in page.files:
        count = sum(len(hunk.lines) for hunk in file.patch.hunks)
        size += count
        is_shown = shown + count <= limit
        shown += count * is_shown
        has_lines = is_shown and only in ("", key_of(file.patch.path))
        files.append(_file(file, page, left, has_lines=has_lines))
    return ShownChanges(tuple(files), tuple(left.values()), size - shown)


def key_of(path: str) -> str:
    """Return a name of a path that can be part of an address, and is the same in every round."""
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _file(
    file: PageFile, page: ReviewPage, left: dict[int, Anchored], *, has_lines: bool
) -> ShownFile:
    """Return a file; its comments are removed from `left`."""
    patch = file.patch
    own = [one for one in left.values() if _is_on(one, patch)]
    hunks = []
    for hunk in patch.hunks if has_lines else ():
        lines = tuple(_lines(hunk, own))
        place = f"-{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count}"
        hunks.append(ShownHunk(hunk.id, place, hunk.heading, lines, hunk.id in page.viewed))
    inline = {one.comment.id for hunk in hunks for line in hunk.lines for one in line.said}
    for one in own:
        del left[one.comment.id]
    return ShownFile(
        key_of(patch.path), patch.path, (*_facts(patch), *file.risks),
        file.folded or _folded_deletion(patch, has_comments=bool(own)),
        (patch.added, patch.removed), tuple(hunks),
        tuple(one for one in own if one.comment.id not in inline),
        len(page.viewed.intersection(patch.ids)), len(patch.ids), patch.change.old_path,
    )  # fmt: skip


def _folded_deletion(patch: FilePatch, *, has_comments: bool) -> str | None:
    """Return the reason to fold a deleted file: its lines are many, and no comment is on them."""
    is_large = patch.change.status == DELETED and patch.removed > DELETED_AT_MOST
    return DELETION if is_large and not has_comments else None


def _is_on(one: Anchored, patch: FilePatch) -> bool:
    place = one.comment.place
    if place is None:
        return False
    path = patch.change.old_path if place.side == OLD else patch.path
    return (one.lines or place).path == path


def _facts(patch: FilePatch) -> Iterator[str]:
    change = patch.change
    if change.status in STATUSES:
        yield STATUSES[change.status]
    if change.old_path != change.path:
        yield f"from {change.old_path}"
    if (mode := mode_text(change)) is not None:
        yield mode
    if patch.is_binary:
        yield "binary"


def _lines(hunk: Hunk, comments: Sequence[Anchored]) -> Iterator[DiffLine]:
    ends: dict[tuple[bool, int], list[Anchored]] = {}
    for one in comments:
        if one.lines is not None and one.comment.place is not None:
            ends.setdefault((one.comment.place.side == OLD, one.lines.last), []).append(one)
    old, new = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        kind = KINDS.get(line[:1], SAME)
        has_old, has_new = kind in (DEL, SAME), kind in (ADD, SAME)
        said = [
            *(ends.get((True, old), ()) if has_old else ()),
            *(ends.get((False, new), ()) if has_new else ()),
        ]
        yield DiffLine(
            kind, old if has_old else None, new if has_new else None, line[1:], tuple(said)
        )
        old += has_old
        new += has_new
