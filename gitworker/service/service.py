"""The service: one method for each use case and each view.

A `Service` names a directory and an identity and holds nothing open. Each call opens the
repository, settles interrupted work, runs one use case, and closes the database, so that one
process can serve many requests from many threads. Results are frozen data; `to_json` turns each
into the JSON that the command line prints. Errors are those of `gitworker.errors`, with code and
hint. The working directory and the environment variables of gitworker are never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.progress import Progress, ignore
from gitworker.service.live.methods import LiveMethods
from gitworker.service.queue.agents import AgentMethods
from gitworker.service.queue.automations import AutomationMethods
from gitworker.service.queue.board import BoardMethods
from gitworker.service.queue.fleet import FleetMethods
from gitworker.service.queue.notifications import NotificationMethods
from gitworker.service.queue.projects import ProjectMethods
from gitworker.service.queue.questions import QuestionMethods
from gitworker.service.queue.runs import RunMethods
from gitworker.service.queue.tasks import TaskMethods
from gitworker.service.queue.workstreams import WorkstreamMethods
from gitworker.service.repair import CareMethods
from gitworker.service.request import Request
from gitworker.service.review.comments import CommentMethods
from gitworker.service.views import ViewMethods
from gitworker.service.work import WorkMethods

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_repository(
    directory: str,
    *,
    identity: str = "hq",
    environment: Mapping[str, str] | None = None,
    progress: Progress = ignore,
) -> Service:
    """Return the service of the repository that a directory belongs to.

    `identity` is the caller, as for `--as`: a worker, or `hq` for a person. `environment` holds
    settings such as GITWORKER_TARGET and is empty by default. Raises Unavailable if the directory
    is not in a git repository.
    """
    from gitworker.paths import require_repository

    require_repository(directory, {})
    return Service(Request(directory, identity, environment or {}, progress))


class Service(
    WorkMethods, RunMethods, LiveMethods, ViewMethods, TaskMethods, ProjectMethods, AgentMethods,
    CommentMethods, QuestionMethods, NotificationMethods, WorkstreamMethods, AutomationMethods,
    BoardMethods, CareMethods, FleetMethods,
):  # fmt: skip
    """The use cases and views of one repository for one identity; see the module."""
