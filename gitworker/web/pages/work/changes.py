"""The changes of a worker's review, with comments and viewed marks, for a whole page or a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.review.page.page import NO_FILES
from gitworker.review.page.shown_changes import show_changes
from gitworker.web.pages.work.rows import RowCache

if TYPE_CHECKING:
    from gitworker.review.page.page import ReviewPage
    from gitworker.service import Service


ROWS = RowCache()


def read(
    service: Service,
    worker: str,
    *,
    is_sided: bool,
    only: str = "",
    keeps: str = "",
    records_look: bool = False,
) -> dict[str, Any]:
    """Return the review of a worker; `review` is None without a branch, `missing` says why.

    `only` is the key of the one file that is wanted. `is_sided`: the versions are side by side.
    `keeps` is the tip of the lines on the screen, which are left out as long as it is the tip.
    """
    try:
        page = service.review(worker, records_look=records_look)
    except NotFound as error:
        return {"name": worker, "review": None, "changes": None, "missing": error.message}
    shown = _show(page, only, is_sided=is_sided)
    shown["keeps_rows"] = keeps == page.round.tip
    return {"name": page.worker.worker_id, "review": page, "missing": "", **shown}


def _show(page: ReviewPage, only: str, *, is_sided: bool) -> dict[str, Any]:
    changes = show_changes(page, only=only)
    files = [one for one in changes.files if only in ("", one.key)]
    drafts = sum(not one.comment.message_id for one in page.comments)
    return {
        "changes": changes, "drafts": drafts, "files": files, "is_sided": is_sided,
        "said": changes.said if not only else (), "rows": ROWS.rows, "unchanged": NO_FILES,
    }  # fmt: skip
