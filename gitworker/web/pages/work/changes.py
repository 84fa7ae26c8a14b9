"""The changes of a worker's review, with comments and viewed marks, for a whole page or a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.review.page.shown_changes import show_changes
from gitworker.web.pages.work.colors import painted

if TYPE_CHECKING:
    from gitworker.review.page.page import ReviewPage
    from gitworker.web.request import Site


def read(site: Site, worker: str, *, only: str = "", records_look: bool = False) -> dict[str, Any]:
    """Return the review of a worker; `review` is None without a branch, `missing` says why.

    `only` is the key of the one file that is wanted.
    """
    try:
        page = site.service.review(worker, records_look=records_look)
    except NotFound as error:
        return {"name": worker, "review": None, "changes": None, "missing": error.message}
    return {"name": page.worker.worker_id, "review": page, "missing": "", **_show(page, only)}


def _show(page: ReviewPage, only: str) -> dict[str, Any]:
    changes = show_changes(page)
    files = [one for one in changes.files if only in ("", one.key)]
    drafts = sum(not one.comment.message_id for one in page.comments)
    return {
        "changes": changes, "drafts": drafts, "files": [(one, painted(one)) for one in files],
        "said": changes.said if not only else (),
    }  # fmt: skip
