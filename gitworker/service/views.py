"""The views of the service: each is one read of the repository as frozen data."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitworker.landing.queue_status import QueueStatus
    from gitworker.model.task import TaskStatus
    from gitworker.observe.agents import AgentList
    from gitworker.observe.logs.log import Log
    from gitworker.observe.workers.diff import Diff, DiffOptions
    from gitworker.observe.workers.list import WorkerList
    from gitworker.observe.workers.path import WorktreePath
    from gitworker.observe.workers.show import WorkerView
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.radar.conflict import ConflictView
    from gitworker.radar.radar import RadarResult
    from gitworker.repo.hooks.hook_status import HookStatus
    from gitworker.session import Session
    from gitworker.tasks.task_list import TaskList
    from gitworker.tasks.task_text import TaskText
    from gitworker.worktrees.pool.keep_ready import PoolState

STATUS_EVERY_S = 10.0  # of a status that is watched
View = TypeVar("View", "StatusScreen", "WorkerList")


class ViewMethods(ServiceBase):
    """The views; see `WorkMethods` for the names of workers and the imports."""

    def status(self, *, every_subject: bool = True, machine: str | None = None) -> StatusScreen:
        """Return every worker on one screen, or those of one machine of the fleet.

        `every_subject`: with the subjects of all commits.
        """
        from gitworker.observe.workers.status import read_status

        with self._reading_tips() as (session, tips):
            found = read_status(session, tips, every_subject=every_subject)
            return found if machine is None else of_machine(session, found, machine)

    def list_workers(self, *, machine: str | None = None) -> WorkerList:
        """Return all workers by name, or those of one machine of the fleet."""
        from gitworker.observe.workers.list import read_list

        with self._reading_tips() as (session, tips):
            found = read_list(session, tips)
            return found if machine is None else of_machine(session, found, machine)

    def show(self, worker: str | None = None) -> WorkerView:
        """Return everything about one worker, by its id, task or branch."""
        from gitworker.observe.workers.show import read_show

        with self._reading() as session:
            return read_show(session, self._worker(session, worker))

    def list_tasks(
        self,
        statuses: Collection[TaskStatus] = (),
        *,
        project: str | None = None,
        limit: int | None = None,
    ) -> TaskList:
        """Return the tasks, all or those in one of the statuses, and of a project.

        Those that wait for a person come first, then those at work, to come, and ended; in each
        status the last change first. `limit` bounds their number, and the cost.
        """
        from gitworker.tasks.task_list import read_tasks

        with self._reading() as session:
            return read_tasks(session, statuses, project=project, limit=limit)

    def task_text(self, task: str | None = None) -> TaskText:
        """Return the title and the text of a task, by its id, its worker or its branch.

        Raises NotFound for an unknown name, and for a worker without a task.
        """
        from gitworker.errors import NotFound
        from gitworker.tasks.task_text import find_text

        with self._reading() as session:
            found = find_text(session, task) if task else None
            if found is None:
                worker = self._worker(session, task)
                found = find_text(session, worker.task_id) if worker.task_id else None
            if found is None:
                raise NotFound(f"worker {worker.worker_id} has no task", "git worker list")
            return found

    def diff(
        self,
        worker: str | None = None,
        options: DiffOptions | None = None,
    ) -> Diff:
        """Return the changes of a worker, as git prints them; by default those that would land.

        In a worker's own worktree, a name that no worker has may be a path that exists there.
        """
        from gitworker.lifecycle.find import is_known
        from gitworker.model.ids import RESERVED
        from gitworker.observe.workers.diff import DiffOptions, is_path, read_diff
        from gitworker.worktrees.elsewhere import bring_branches

        options = options or DiffOptions()
        with self._reading() as session:
            if worker is not None and session.actor not in RESERVED:
                with session.store.read() as reader:
                    named = is_known(reader, worker)
                if not named and is_path(session, self._worker(session, None), worker):
                    options = options._replace(paths=(worker, *options.paths))
                    worker = None
            found = self._worker(session, worker)
            bring_branches(session, [found])
            return read_diff(session, found, options)

    def path(self, worker: str | None = None) -> WorktreePath:
        """Return the worktree of a worker."""
        from gitworker.observe.workers.path import read_path

        with self._reading() as session:
            return read_path(session, self._worker(session, worker))

    def main_checkout(self) -> WorktreePath:
        """Return the main checkout, or the directory of a bare repository."""
        from gitworker.model.ids import HQ
        from gitworker.observe.workers.path import WorktreePath

        with self._quickly() as session:
            return WorktreePath(HQ, session.main_top, None)

    def log(
        self,
        worker: str | None = None,
        *,
        limit: int | None = 50,
        since_ms: int = 0,
        types: frozenset[str] = frozenset(),
        agent_lines: int = 0,
    ) -> Log:
        """Return the last events, oldest first, of one worker or of all.

        Only those since a time and of these types, if given: `transition`, `commit`, `message`, or
        the type of a message. `agent_lines` is the number of lines of the worker's .worker.log that
        are added.
        """
        from gitworker.observe.logs.log import read_log

        with self._reading() as session:
            found = None if worker is None else self._worker(session, worker)
            return read_log(
                session, found, limit=limit, since_ms=since_ms, types=types,
                agent_lines=agent_lines,
            )  # fmt: skip

    def agents(self, *, include_all: bool = False) -> AgentList:
        """Return the agents with their activity; with `include_all` also those that have ended."""
        from gitworker.observe.agents import read_agents

        with self._settled(create=False) as (session, _):
            return read_agents(session, include_all=include_all)

    def queue(self) -> QueueStatus:
        """Return the landing queue: its order and the newest windows."""
        from gitworker import clock
        from gitworker.landing.queue_status import read_queue_status
        from gitworker.repo.plumbing.repository_lock import is_held

        with self._reading() as session, session.store.read() as reader:
            return read_queue_status(
                reader, clock.now_ms(), is_running=is_held(session.queue_lock),
                machine=session.store.fleet_machine,
            )  # fmt: skip

    def conflicts(self, workers: Sequence[str] = ()) -> RadarResult:
        """Return the active branches that conflict with the target and with each other.

        With `workers` only the pairs with one of them are included.
        """
        from gitworker.radar.radar import survey

        with self._reading() as session:
            named = [self._worker(session, name) for name in workers]
            chosen = {one.ref for one in named if one.branch}
            found = survey(session, chosen=chosen if workers else None)
        absent = {one.worker_id for one in named} - {blip.worker for blip in found.blips}
        return found._replace(absent=tuple(sorted(absent)))

    def show_conflict(self, worker: str | None, other: str | None = None) -> ConflictView:
        """Return the files in conflict of a worker with another one, each with three versions.

        Without `other`, and with its name, it is the branch that the worker lands on. Raises
        NotFound if one of them has no branch.
        """
        from gitworker.model.ref_names import short_name
        from gitworker.radar.conflict import read_conflict

        with self._reading() as session:
            found = self._worker(session, worker)
            target = short_name(session.target_of(found))
            second = None if other in (None, target) else self._worker(session, other)
            return read_conflict(session, found, second)

    def pool(self) -> PoolState:
        """Return the parked worktrees, and how many are wanted."""
        from gitworker.worktrees.pool.keep_ready import pool_state

        with self._settled(create=True) as (session, _):
            return pool_state(session)

    def hooks(self) -> HookStatus:
        """Return the worktrees in which the hooks are installed, and the user's own hooks."""
        from gitworker.repo.hooks.hook_status import status

        with self._reading() as session:
            return status(session.git, session.repository)


def of_machine(session: Session, found: View, machine: str) -> View:
    """Return a view without the workers of other machines.

    Raises Refused without a fleet, NotFound if neither a worker nor the fleet has this machine.
    """
    from gitworker.tasks.agents.places import no_fleet, require_machine

    if session.store.fleet_machine is None:
        raise no_fleet()
    workers = tuple(one for one in found.workers if one.machine == machine)
    if not workers:
        with session.store.read() as reader:
            require_machine(reader, machine)
    return found._replace(workers=workers)
