"""Putting a window together: who comes next, on top of whom, and who has to wait.

A change of `.gitworker.toml` ends its window: what lands after it is judged by the new settings.
"""

from collections.abc import Callable, Sequence

from gitworker.branches.remote import require_remote
from gitworker.branches.stack import Stack, parents_of
from gitworker.errors import Conflict, GitWorkerError, Invalid, error_of
from gitworker.landing.prepare import DoesNotStack, Prepared, prepare, withdraw
from gitworker.model.ids import Branch, Oid, ref_of
from gitworker.radar.radar import conflicting_pairs
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.replay.replay_cache import Memory
from gitworker.session import Session
from gitworker.store.workers import Worker, find_worker
from gitworker.verify.target_settings import changes_settings, settings_at

REACH = 3  # windows ahead that the radar is asked about
Fail = Callable[[str, GitWorkerError], None]


def waits_for_parent(stack: Stack | None, tasks: set[str], waiting: dict[str, str | None]) -> bool:
    """Tell whether somebody else has to land before.

    `tasks` are in the window already, `waiting` is who waits, with the task that each has.
    """
    if stack is None or stack.parent_task in tasks:
        return False
    return waiting.get(stack.parent_worker) == stack.parent_task


class Assembly:
    """The next window of one run; `fail` is told of everybody who cannot land."""

    def __init__(self, session: Session, *, memory: Memory, fail: Fail) -> None:
        self._session = session
        self._memory = memory
        self._fail = fail

    def assemble(self, names: Sequence[str], size: int | None) -> list[Prepared]:
        """Return the next window of at most `size` workers, in the order of `names`.

        Who does not fit on top of it is left out, and goes on waiting.
        """
        window: list[Prepared] = []
        found = {name: self._find(name) for name in names}
        waiting = {name: worker.task_id for name, worker in found.items()}
        with self._session.store.read() as reader:
            stacks = parents_of(reader)
        clashes = self._clashes(list(found.values()), size)
        has_failed = False
        for name, worker in found.items():
            if size is not None and len(window) >= size:
                break
            tasks = {one.worker.task_id or "" for one in window}
            if waits_for_parent(stacks.get((name, worker.task_id or "")), tasks, waiting):
                continue
            if any((one.worker.worker_id, name) in clashes for one in window):
                continue
            base = window[-1].rewrite.new if window else None
            try:
                window.append(
                    prepare(self._session, worker, onto=base, with_tasks=tasks, memory=self._memory)
                )
            except DoesNotStack:
                continue
            except (GitWorkerError, OSError) as error:
                self._fail(name, error_of(error))
                has_failed = True
        if not window and not has_failed:
            self._end_circle(names)
        return self._cut(window)

    def _find(self, name: str) -> Worker:
        with self._session.store.read() as reader:
            worker = find_worker(reader, name)
        assert worker is not None
        return worker

    def _end_circle(self, names: Sequence[str]) -> None:
        error = Conflict("they stand on each other: none can land first", "git worker show WORKER")
        for name in names:
            self._fail(name, error)

    def _clashes(self, workers: Sequence[Worker], size: int | None) -> set[tuple[str, str]]:
        """Return who is known to conflict with whom, of those next in line, earlier ones first.

        By the radar's cache alone: who clashes lands in another window, without being tried.
        """
        if size is None or size == 1:
            return set()
        git, common_dir = self._session.git, self._session.repository.common_dir
        target = find_tip(git, common_dir, self._session.target)
        tips: dict[str, Oid] = {}
        for worker in workers[: REACH * size]:
            tip = find_tip(git, common_dir, ref_of(Branch(worker.branch or "")))
            if tip is not None:
                tips[worker.worker_id] = tip
        if target is None or len(tips) < 2:
            return set()
        names, commits = list(tips), list(tips.values())
        pairs = conflicting_pairs(self._session, commits, target=target, compute=False)
        return {(names[one], names[other]) for one, other in pairs}

    def _cut(self, window: list[Prepared]) -> list[Prepared]:
        """Return the window up to the first change of the settings; one that is wrong goes back.

        One that names a remote which git does not know here, or cannot be read, waits for that.
        """
        if not window or not changes_settings(
            self._session, window[0].base, window[-1].rewrite.new
        ):
            return window
        for place, one in enumerate(window):
            if not changes_settings(self._session, one.base, one.rewrite.new):
                continue
            try:
                brought = settings_at(self._session, one.rewrite.new)
                if brought.merge_remote:  # one that nobody knows would stop whoever comes after
                    require_remote(self._session, brought.merge_remote)
            except Invalid as error:
                try:
                    self._fail(
                        one.worker.worker_id, withdraw(self._session, one.worker, error.message)
                    )
                except GitWorkerError as failure:  # rejected meanwhile, say: it does not wait on
                    self._fail(one.worker.worker_id, failure)
                return window[:place]
            except GitWorkerError as error:  # nothing is wrong with the work itself
                self._fail(one.worker.worker_id, error)
                return window[:place]
            return window[: place + 1]
        return window
