"""Build a window: which worker is next, on top of which, and which has to wait.

A change of `.gitworker.toml` ends its window: later workers are judged by the new settings.
"""

from collections.abc import Callable, Container, Mapping, Sequence

from gitworker.branches.stack import Stack, parents_of
from gitworker.errors import Conflict, GitWorkerError, Invalid, as_gitworker_error
from gitworker.landing.prepare import DoesNotStack, Prepared, prepare, withdraw
from gitworker.model.ids import Oid
from gitworker.progress import Replaying
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session
from gitworker.store.workers import Worker, load_worker
from gitworker.verify.target_settings import changes_settings, settings_at

REACH = 3  # windows ahead for which the radar's cache is read
Fail = Callable[[str, GitWorkerError], None]


def waits_for_parent(
    stack: Stack | None, tasks: Container[str], waiting: Mapping[str, str | None]
) -> bool:
    """Return True if the parent of a stacked worker has to land first.

    `tasks` are already in the window; `waiting` maps each waiting worker to its task.
    """
    if stack is None or stack.parent_task in tasks:
        return False
    return waiting.get(stack.parent_worker) == stack.parent_task


class Assembly:
    """The next window of one run; `fail` is called for every worker that cannot land.

    `brings_settings` is whether the last commit of the window changes `.gitworker.toml`.
    """

    def __init__(self, session: Session, *, memory: ReplayCache, fail: Fail) -> None:
        self._session = session
        self._cache = memory
        self._fail = fail
        self.brings_settings = False

    def assemble(self, names: Sequence[str], size: int | None) -> list[Prepared]:
        """Return the next window of at most `size` workers, in the order of `names`.

        A worker that does not fit on top of it is left out, and continues to wait.
        """
        window: list[Prepared] = []
        found = {name: self._find(name) for name in names}
        waiting = {name: worker.task_id for name, worker in found.items()}
        with self._session.store.read() as reader:
            stacks = parents_of(reader)
        conflicts = self._known_conflicts(list(found.values()), size)
        has_failed = False
        for number, (name, worker) in enumerate(found.items(), 1):
            if size is not None and len(window) >= size:
                break
            tasks = {one.worker.task for one in window}
            if waits_for_parent(stacks.get((name, worker.task)), tasks, waiting):
                continue
            if any((one.worker.worker_id, name) in conflicts for one in window):
                continue
            base = window[-1].rewrite.new if window else None
            self._session.report(Replaying(name, number, len(found)))
            try:
                window.append(
                    prepare(self._session, worker, onto=base, with_tasks=tasks, memory=self._cache)
                )
            except DoesNotStack:
                continue
            except (GitWorkerError, OSError) as error:
                self._fail(name, as_gitworker_error(error))
                has_failed = True
        if not window and not has_failed:
            self._fail_cycle(names)
        return self._cut(window)

    def _find(self, name: str) -> Worker:
        with self._session.store.read() as reader:
            return load_worker(reader, name)

    def _fail_cycle(self, names: Sequence[str]) -> None:
        names_text = " and ".join(sorted(names))
        error = Conflict(
            f"{names_text} are stacked on each other, so none of them can land first",
            f"git worker show {min(names)}",
        )
        for name in names:
            self._fail(name, error)

    def _known_conflicts(self, workers: Sequence[Worker], size: int | None) -> set[tuple[str, str]]:
        """Return the pairs of the next workers that are known to conflict, earlier ones first.

        Only the radar's cache is read: a conflicting worker lands in another window, untried.
        """
        if size is None or size == 1:
            return set()
        git, common_dir = self._session.git, self._session.repository.common_dir
        target = find_tip(git, common_dir, self._session.target)
        tips: dict[str, Oid] = {}
        for worker in workers[: REACH * size]:
            tip = find_tip(git, common_dir, worker.ref)
            if tip is not None:
                tips[worker.worker_id] = tip
        if target is None or len(tips) < 2:
            return set()
        from gitworker.radar.radar import conflicting_pairs  # 5 ms, only for several workers

        names, commits = list(tips), list(tips.values())
        pairs = conflicting_pairs(self._session, commits, target=target, compute=False)
        return {(names[one], names[other]) for one, other in pairs}

    def _cut(self, window: list[Prepared]) -> list[Prepared]:
        """Return the window up to the first change of the settings; a wrong change is withdrawn.

        A change that cannot be read, or that names a remote unknown to git, stays approved but
        does not land.
        """
        known = self._cache.changes
        if not window or not changes_settings(
            self._session, window[0].base, window[-1].rewrite.new, known=known
        ):
            return window
        for place, one in enumerate(window):
            if not changes_settings(self._session, one.base, one.rewrite.new, known=known):
                continue
            try:
                brought = settings_at(
                    self._session, one.rewrite.new, owner=one.worker.branch or "the target"
                )
                if brought.merge_remote:  # an unknown remote would block every later worker
                    from gitworker.branches.remote import require_remote  # 3 ms, rarely needed

                    require_remote(self._session, brought.merge_remote)
            except Invalid as error:
                try:
                    name = one.worker.worker_id
                    hint = f"git worker reject {name} -m <text>"
                    self._fail(name, withdraw(self._session, one.worker, error.message, hint=hint))
                except GitWorkerError as failure:  # rejected meanwhile, for example
                    self._fail(one.worker.worker_id, failure)
                return window[:place]
            except GitWorkerError as error:  # the work itself is not at fault
                self._fail(one.worker.worker_id, error)
                return window[:place]
            self.brings_settings = True
            return window[: place + 1]
        return window
