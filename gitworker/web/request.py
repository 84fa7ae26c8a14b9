"""The values from which a page or a change is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import GitWorkerError
from gitworker.observe.queue.board_columns import next_review

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.observe.queue.worker_facts import CardFacts
    from gitworker.service import Service
    from gitworker.service.queue.board import Reader
    from gitworker.web.access import Access
    from gitworker.web.jobs import Jobs
    from gitworker.web.live import Hub

NEEDS = "needs"  # the number of items in the inbox, among the values derived from the status


class Site(NamedTuple):
    """One server: the service, the news, the running changes and the access."""

    service: Service
    hub: Hub
    jobs: Jobs
    access: Access
    reader: Reader
    address: str  # without a token

    def facts(self, service: Service) -> dict[str, CardFacts]:
        """Return project, agent and cost of each worker, as of the newest status."""
        return self.hub.derived("facts", service.worker_facts)

    def next_review(self, worker: str, *, is_decided: bool = False) -> str | None:
        """Return the worker that a reviewer reads after this one, as of the newest status.

        `is_decided`: this one is not in review any more, which the status may not show yet.
        """
        lines = self.hub.newest[1].workers
        if is_decided:
            lines = tuple(one for one in lines if one.worker != worker)
        return next_review(lines, worker)

    def count_needs(self) -> int | None:
        """Return the number of items in the inbox, as of the newest status; None if unknown."""
        try:
            return self.hub.derived(NEEDS, self.service.count_inbox)
        except (GitWorkerError, OSError):  # a busy database, or a full disk
            return None


class Ask(NamedTuple):
    """One request for a page: the parts of its path, its query, and how it shows changes.

    All views of `service` share one session.
    """

    site: Site
    service: Service
    path: Mapping[str, str]
    query: Mapping[str, str]
    is_sided: bool = False
