"""merge --dry-run: the workers that would land, in order and in windows, if everything passes."""

from typing import NamedTuple

from gitworker.branches.stack import parents_of
from gitworker.errors import Conflict, GitWorkerError, as_gitworker_error
from gitworker.landing.merge import by_target, choose
from gitworker.landing.prepare import CannotLand, Prepared, try_out
from gitworker.landing.queue import window_size
from gitworker.landing.window_assembly import waits_for_parent
from gitworker.model.ids import Oid
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.store.workers import Worker
from gitworker.verify.verify import Verifier


class Planned(NamedTuple):
    """The predicted outcome for one worker.

    `window` counts from 1; `is_known`: the tree of the commit has already passed. If `error` is set
    the worker would not land, and the other fields are None.
    """

    worker_id: str
    task_id: str | None
    window: int | None
    commit: Oid | None
    is_known: bool
    error: GitWorkerError | None


def plan(session: Session, names: list[str], *, everything: bool) -> list[Planned]:
    """Return the outcome that `merge` would have for these workers, in its order; change nothing.

    A worker that conflicts within a window is tried on top of it, as after the window's landing.
    """
    waiting = choose(session, names, everything=everything)
    planned: list[Planned] = []
    for ref, group in by_target(waiting):
        planned += _plan_group(session.aimed_at(ref), group, windows=_windows(planned))
    return planned


def _plan_group(session: Session, waiting: list[Worker], *, windows: int) -> list[Planned]:
    """Return the outcome for the workers that land on the session's target."""
    planner = _Planner(session, {one.worker_id: one.task_id for one in waiting}, windows=windows)
    while waiting:
        remaining = planner.plan_window(waiting)
        if len(remaining) == len(waiting):  # they are stacked on each other
            break
        waiting = remaining
    return planner.planned


def _windows(planned: list[Planned]) -> int:
    return max((one.window or 0 for one in planned), default=0)


class _Planner:
    """The windows planned so far, and the commit that the target would have."""

    def __init__(self, session: Session, waiting: dict[str, str | None], *, windows: int) -> None:
        self.planned: list[Planned] = []
        self._session = session
        self._size = window_size(session)
        self._verifier = Verifier(session)
        self._cache = ReplayCache(session.git_config)
        self._tip: Oid | None = None
        self._tasks: set[str] = set()
        self._waiting = waiting
        self._windows = windows

    def plan_window(self, waiting: list[Worker]) -> list[Worker]:
        """Plan one window; return the workers that have to wait for the next."""
        window: list[Prepared] = []
        postponed: list[Worker] = []
        with self._session.store.read() as reader:
            stacks = parents_of(reader)
        for worker in waiting:
            stack = stacks.get((worker.worker_id, worker.task))
            is_full = self._size is not None and len(window) >= self._size
            if is_full or waits_for_parent(stack, self._tasks, self._waiting):
                postponed.append(worker)
                continue
            try:
                window.append(self._fit(worker))
            except CannotLand as rejection:
                if window and not rejection.anywhere:
                    postponed.append(worker)
                else:
                    self._refuse(worker, _error_of_landing(worker, rejection))
            except (GitWorkerError, OSError) as error:
                self._refuse(worker, as_gitworker_error(error))
        if window:
            self._close(window)
        return postponed

    def _fit(self, worker: Worker) -> Prepared:
        prepared = try_out(
            self._session, worker, onto=self._tip, memory=self._cache, with_tasks=self._tasks
        )
        self._tip = prepared.rewrite.new
        self._tasks.add(worker.task)
        self._waiting.pop(worker.worker_id, None)
        return prepared

    def _close(self, window: list[Prepared]) -> None:
        self._windows += 1
        for one in window:
            commit = one.rewrite.new
            known = self._verifier.known(commit)
            is_known = known is not None and known.cached  # otherwise no commands are configured
            worker = one.worker
            self.planned.append(
                Planned(worker.worker_id, worker.task_id, self._windows, commit, is_known, None)
            )

    def _refuse(self, worker: Worker, error: GitWorkerError) -> None:
        self._waiting.pop(worker.worker_id, None)
        self.planned.append(Planned(worker.worker_id, worker.task_id, None, None, False, error))


def _error_of_landing(worker: Worker, rejection: CannotLand) -> Conflict:
    """Return the error with which a landing would end."""
    if rejection.conflict is None:
        return Conflict(
            f"{rejection.why}: its approval would be withdrawn",
            f"git worker diff {worker.worker_id}",
            code="approval_withdrawn",
        )
    paths = rejection.conflict.paths
    return Conflict(
        f"{worker.branch} would conflict in {count_text(len(paths), 'file')}; it would go back to"
        " work",
        f"git worker sync --as {worker.worker_id}",
        code="rebase_conflict",
        detail="\n".join(f"  {path}" for path in paths),
    )
