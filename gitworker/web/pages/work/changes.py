"""The changes of a worker's review, with comments and viewed marks, for a whole page or a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import NotFound
from gitworker.review.page.page import NO_FILES
from gitworker.review.page.rules_words import side_by_side
from gitworker.review.page.shown_changes import NOTE, show_changes
from gitworker.web.pages.work.colors import painted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.page.shown_changes import DiffLine, ShownHunk
    from gitworker.web.request import Site


class SideRow(NamedTuple):
    """One row of two columns: the line of each side, its number and text, and the comments."""

    kind: str
    old: int | None
    new: int | None
    left: Markup | None
    right: Markup | None
    said: tuple[Anchored, ...]


def read(
    site: Site, worker: str, *, is_sided: bool, only: str = "", records_look: bool = False
) -> dict[str, Any]:
    """Return the review of a worker; `review` is None without a branch, `missing` says why.

    `only` is the key of the one file that is wanted. `is_sided`: the versions are side by side.
    """
    try:
        page = site.service.review(worker, records_look=records_look)
    except NotFound as error:
        return {"name": worker, "review": None, "changes": None, "missing": error.message}
    shown = _show(page, only, is_sided=is_sided)
    return {"name": page.worker.worker_id, "review": page, "missing": "", **shown}


def _show(page: ReviewPage, only: str, *, is_sided: bool) -> dict[str, Any]:
    changes = show_changes(page)
    files = [(one, painted(one)) for one in changes.files if only in ("", one.key)]
    drafts = sum(not one.comment.message_id for one in page.comments)
    return {
        "changes": changes, "drafts": drafts, "files": files, "is_sided": is_sided,
        "said": changes.said if not only else (), "side_rows": side_rows, "unchanged": NO_FILES,
    }  # fmt: skip


def side_rows(hunk: ShownHunk, texts: Sequence[Markup]) -> Iterator[SideRow]:
    """Yield the rows of a hunk for two columns; a replaced line and its new version share one."""
    lines: Sequence[DiffLine] = hunk.lines
    for old, new in side_by_side([one.kind for one in lines]):
        before = None if old is None else lines[old]
        after = None if new is None else lines[new]
        last = after or before
        assert last is not None
        said = () if before is None else before.said
        said += () if after is None or after is before else after.said
        yield SideRow(
            last.kind, before and before.old, after and after.new,
            None if old is None else texts[old],
            None if new is None or last.kind == NOTE else texts[new], said,
        )  # fmt: skip
