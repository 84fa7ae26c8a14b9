"""The landing queue: windows of approved workers are verified, searched for a culprit, and landed.

The landing lock is held while a window is built and while it lands, but not while its commits are
verified, so that reviewers can work. A verified window lands only if the target and the workers are
unchanged; otherwise it is rebuilt, and trees that passed are not verified again.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.branches.stack import parent_names
from gitworker.bus.drain import drain
from gitworker.errors import Conflict, GitWorkerError
from gitworker.journal.finish_landing import PUSHING
from gitworker.journal.recover import finish_interrupted, require_landed
from gitworker.landing.rules_queue import next_size, parents_first
from gitworker.landing.window import find_obstacle, land
from gitworker.landing.window_assembly import Assembly
from gitworker.lifecycle.rules import is_approved, is_landed
from gitworker.lifecycle.verdict import send_back_failed
from gitworker.model.outcome import Landed, NotLanded
from gitworker.progress import Notice, WorkersLanded
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.store.operations import find_last_operation, unfinished_operations
from gitworker.store.payloads.payload import MergeData
from gitworker.store.workers import Worker, load_worker
from gitworker.verify.rules_verify import declared_environment
from gitworker.verify.target_settings import settings_at
from gitworker.verify.trust import require_trusted, untrusted_commands

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from gitworker.landing.prepare import Prepared
    from gitworker.landing.pushing import Pushing
    from gitworker.landing.queue_log import WindowEnd
    from gitworker.landing.search.shared_window import SharedWindow
    from gitworker.landing.search.verify_window import TargetFails, WindowVerdict
    from gitworker.model.ids import Oid
    from gitworker.session import Session
    from gitworker.verify.verify import Verdict, Verifier

# A landing without remote and verify commands imports none of the modules for these: 15 ms.
MOVES = 10  # how often the target may move while a window is verified before we give up
OUTCOMES = ("landed", "failed")  # outcomes that determine the size of the next window
# Errors that block every worker: the state of the target's checkout, not the content of a commit.
COMMON = frozenset(
    {
        "operation_open",
        "index_locked",
        "checkout_missing",
        "not_on_branch",
        "checkout_moved",
        "checked_out_twice",
        "checkout_unknown",
    }
)
DECLINED = frozenset({"remote_hook_declined", "pre_push_declined"})
FAILURES_AT_MOST = 3  # so many single failures in a row: their commits are not the cause


def window_size(session: Session) -> int | None:
    """Return the size of the next window; None if nothing is verified."""
    settings = session.settings
    if not settings.verify_commands:
        return None
    from gitworker.store.windows import newest_windows

    with session.store.read() as reader:
        last = next((w for w in newest_windows(reader, 5) if w.outcome in OUTCOMES), None)
    return next_size(
        settings.merge_window,
        last=None if last is None else last.size,
        was_full=last is not None and len(last.workers) >= last.size,
        passed=last is None or last.outcome == "landed",
    )


def settle_landings(session: Session, remote_tip: Oid | None = None) -> None:
    """Finish interrupted landings and follow the remote; the caller holds the landing lock.

    Raises Conflict if a landing can be neither finished nor rolled back now.
    """
    with session.store.read() as reader:
        has_pushes = any(one.step == PUSHING for one in unfinished_operations(reader))
    if has_pushes:
        from gitworker.landing.pushing import settle_pushes

        settle_pushes(session)
    finish_interrupted(session)
    require_landed(session)
    if remote_tip is not None:
        from gitworker.branches.remote import follow_remote

        follow_remote(session, remote_tip)


class Queue:
    """One run of the queue over some workers; `results` holds the outcome of each.

    The caller holds the queue's lock. While the target is the branch of a workstream, the settings
    of the repository's target apply, and nothing is pushed.
    """

    def __init__(self, session: Session, *, keep: bool, memory: ReplayCache | None = None) -> None:
        self.session = session
        self.results: dict[str, Landed | NotLanded] = {}
        self._keep = keep
        self._cache = memory or ReplayCache(session.git_config)
        self._chosen: dict[str, Worker] = {}
        self._waiting: list[str] = []
        self._resources = ExitStack()
        self._pushing: Pushing | None = None
        self._verifier: Verifier | None = None
        # The target's commit from which the settings were read.
        self._read_at = None if session.settings.file_faults else session.settings_from
        self._one_by_one = 0  # how many of the next windows have a single worker
        self._moves = 0
        self._failures_in_row = 0  # single workers in a row that could not land
        self._pause_s = 0.0
        self._target_failure: TargetFails | None = None

    def run(
        self, chosen: Sequence[Worker], *, windows: int | None = None
    ) -> dict[str, Landed | NotLanded]:
        """Land workers in the order given, as many at a time as fit on top of each other.

        At most `windows` windows with an outcome are tried; a worker that was in none of them is
        not in the results. A rebuilt or split window is not given up halfway, since the next run
        would only repeat the work. Raises an error that blocks every worker if nothing has landed
        or failed yet: an unfinished landing, an unreachable remote.
        """
        self._chosen = {worker.worker_id: worker for worker in chosen}
        with self.session.store.read() as reader:
            parents = parent_names(reader, chosen)
        self._waiting = parents_first(self._chosen, parents)
        with self._resources:
            self._use_settings(self.session)
            if not self._waiting:  # interrupted landings are finished all the same
                with hold(self.session.landing_lock, name="landing"):
                    self._refresh()
            while self._waiting and windows != 0:
                known = len(self.results)
                try:
                    was_tried = self._try_window()
                except GitWorkerError as error:
                    if not self.results:
                        raise
                    self._fail_all(error)
                    break
                is_decided = len(self.results) > known and not self._failures_in_row
                if windows is not None and was_tried and is_decided:
                    windows -= 1
        return self.results

    def _use_settings(self, session: Session) -> None:
        """Use a session's settings from now on."""
        if self._waiting:
            require_trusted(session)
        self.session = session
        declared_environment(session.settings.verify_env, os.environ)  # raises Invalid
        self._verifier = self._pushing = None
        if session.settings.merge_remote and session.trunk is None:
            from gitworker.landing.pushing import open_pushing

            self._pushing = open_pushing(session)

    def _require_verifier(self) -> Verifier:
        """Return the verifier of the present settings."""
        if self._verifier is None:
            from gitworker.verify.verify import Verifier
            from gitworker.worktrees.pool.pool import lender

            verifier = Verifier(self.session, lend=lender(self.session))
            self._verifier = self._resources.enter_context(verifier)
        return self._verifier

    def _has_passed(self, window: list[Prepared]) -> bool:
        """Return whether a window needs no verification, or has passed before."""
        if not self.session.settings.verify_commands:
            return True
        return self._require_verifier().known(window[-1].rewrite.new) is not None

    def _try_window(self) -> bool:
        """Build a window, verify it and land the passing workers; return False without a window."""
        if self._pause_s:
            clock.sleep(self._pause_s)
            self._pause_s = 0.0
        pushing = self._pushing
        remote_tip = None if pushing is None else pushing.remote.fetch()
        with hold(self.session.landing_lock, name="landing"):
            self._refresh(remote_tip)
            if (pushing is None) != (self._pushing is None):
                return False  # the settings that arrived with the target add or remove a remote
            size = 1 if self._one_by_one else window_size(self.session)
            window, news = self._build_window(size)
            if not window or not self._require_clear(window):
                return False
            if not news and self._has_passed(window):
                self._land(window)
                return True
            from gitworker.landing.queue_log import open_record

            number = open_record(self.session, window, size=size or len(window))
        verified = self._verify(number, window, with_news=news)
        if verified is not None:
            with hold(self.session.landing_lock, name="landing"):
                self._refresh()
                self._conclude(number, window, verified)
        return True

    def _refresh(self, remote_tip: Oid | None = None) -> None:
        """Finish interrupted landings, follow remote and settings, publish unpublished commits."""
        settle_landings(self.session, remote_tip)
        tip = find_tip(self.session.git, self.session.repository.common_dir, self.session.target)
        if tip is not None and tip != self._read_at and self.session.trunk is None:
            settings = settings_at(self.session, tip)
            self._read_at = tip
            if settings != self.session.settings:
                self._use_settings(self.session._replace(settings=settings))
        drain(self.session)

    def _build_window(self, size: int | None) -> tuple[list[Prepared], bool]:
        """Return the next window, and whether it changes the settings of the target."""
        for name in list(self._waiting):
            self._note_landed(name)
        assembly = Assembly(self.session, memory=self._cache, fail=self._fail)
        window = assembly.assemble(list(self._waiting), size) if self._waiting else []
        return window, assembly.brings_settings

    def _note_landed(self, name: str) -> None:
        """Record a worker that another queue or a recovery has landed meanwhile."""
        chosen, worker = self._chosen[name], self._read_worker(name)
        if not (is_approved(chosen.state) and is_landed(worker.state)):
            return
        with self.session.store.read() as reader:
            operation = find_last_operation(reader, "merge", worker=name, task=chosen.task_id)
        if operation is not None and worker.task_id == chosen.task_id:
            commit = operation.payload(MergeData).new
            result = Landed(
                name, worker.task_id, commit, self.session.target, worker.worktree, None
            )
            self._note({name: result})

    def _read_worker(self, name: str) -> Worker:
        """Return the worker as currently stored."""
        with self.session.store.read() as reader:
            return load_worker(reader, name)

    # ------------------------------------------------------------------ before a window
    def _require_clear(self, window: list[Prepared]) -> bool:
        """Return True if the target's checkout can follow; checked before verifying or pushing.

        A worker that blocks it fails. If nothing is verified, the landing itself checks this.
        """
        if self._pushing is None and not self.session.settings.verify_commands:
            return True
        error = find_obstacle(self.session, window)
        if error is not None:
            self._blocked(window, error)
        return error is None

    def _blocked(self, window: list[Prepared], error: GitWorkerError) -> None:
        """Fail the worker that blocks a landing, or all; if unknown, try them one by one."""
        if error.code in COMMON:
            self._fail_all(error)
            return
        for prefix in range(1, len(window) + 1) if error.code == "would_overwrite" else ():
            found = find_obstacle(self.session, window[:prefix])
            if found is not None:
                self._fail(window[prefix - 1].worker.worker_id, found)
                return
        if error.code == "ref_moved" and self._count_move():
            return
        if len(window) > 1:
            self._one_by_one = len(window) + 1
        elif self.session.settings.verify_commands:  # each try costs a run
            self._fail_one(window[0].worker.worker_id, error)
        else:
            self._fail(window[0].worker.worker_id, error)

    # ------------------------------------------------------------------ verifying
    def _verify(
        self, number: int, window: list[Prepared], *, with_news: bool
    ) -> WindowVerdict | None:
        """Verify a window; return None if that is impossible, with the reasons in the results."""
        from gitworker.landing.queue_log import WindowEnd, recorder
        from gitworker.landing.search.verify_window import TargetFails, verify_window

        try:
            with self._share(number, window) as shared:
                verified = verify_window(
                    self.session, self._require_verifier(), window,
                    record=recorder(self.session, number, window), shared=shared,
                )  # fmt: skip
            if with_news and verified.passing == len(window):
                return self._verify_news(window, verified)
            return verified
        except TargetFails as error:  # no worker is at fault
            self._target_failure = self._target_failure or error
            names = [one.worker.worker_id for one in window]
            self._note({name: NotLanded(name, self._target_failure) for name in names})
        except GitWorkerError as error:
            self._fail_all(error)
        WindowEnd(self.session, number, "refused").close()
        return None

    def _share(
        self, number: int, window: list[Prepared]
    ) -> AbstractContextManager[SharedWindow | None]:
        """Let the other machines of a fleet verify prefixes of a window meanwhile."""
        if self._pushing is None or self.session.store.fleet_machine is None:
            return nullcontext()
        from gitworker.landing.search.shared_window import share

        commits = [one.rewrite.new for one in window]
        key = self._require_verifier().key_of(commits[-1])
        return share(self.session, number, self._pushing.remote, commits=commits, key=key)

    def _verify_news(self, window: list[Prepared], verified: WindowVerdict) -> WindowVerdict:
        """Verify the last of a window by the settings that it brings, if they are trusted."""
        from gitworker.verify.verify import Verifier
        from gitworker.worktrees.pool.pool import lender

        tip = window[-1].rewrite.new
        session = self.session._replace(settings=settings_at(self.session, tip))
        if untrusted_commands(session, "verify"):
            return verified
        with Verifier(session, lend=lender(session)) as verifier:
            verdict = verifier.known(tip)
            if verdict is None:
                verifier.start(tip, label=f"{window[-1].worker.worker_id}, by its own settings")
                ended = verifier.wait()
                assert ended is not None
                verdict = ended[1]
        if verdict.passed:
            return verified
        return verified._replace(passing=len(window) - 1, failed=verdict)

    # ------------------------------------------------------------------ landing
    def _conclude(self, number: int, window: list[Prepared], verified: WindowVerdict) -> None:
        """Land the passing workers and send the culprit back, if nothing has changed since."""
        from gitworker.landing.queue_log import WindowEnd

        session, verdicts = self.session, verified.verdicts
        if not self._is_unchanged(window[: verified.passing + 1]):
            WindowEnd(session, number, "moved", verdicts=verdicts).close()
            self._count_move()
            return
        passing, failing = window[: verified.passing], window[verified.passing :]
        end = WindowEnd(session, number, "landed", verdicts=verdicts, landed=len(passing))
        landed = self._land(passing, None if failing else end) if passing else 0
        if end.is_recorded:
            return
        if landed < len(passing):
            outcome = "moved" if self._pause_s else "refused"
        else:
            outcome = "failed" if failing else "landed"
        if failing and landed == len(passing):
            if verified.unfit is not None:
                self._fail_one(failing[0].worker.worker_id, verified.unfit)
            elif verified.failed is not None:
                self._send_back(failing[0], verified.failed)
        WindowEnd(session, number, outcome, verdicts=verdicts, landed=landed).close()

    def _is_unchanged(self, window: list[Prepared]) -> bool:
        """Return True if target, branches and workers are as they were when verified."""
        git, common_dir = self.session.git, self.session.repository.common_dir
        if find_tip(git, common_dir, self.session.target) != window[0].base:
            return False
        for one in window:
            if self._read_worker(one.worker.worker_id).version != one.worker.version:
                return False
            if find_tip(git, common_dir, one.rewrite.ref) != one.rewrite.old:
                return False
        return True

    def _count_move(self) -> bool:
        """Count a window under which something moved; give up after many in a row."""
        self._moves += 1
        if self._moves > MOVES:
            name = self.session.target_name
            self._fail_all(
                Conflict(
                    f"{name} moved {MOVES} times during the verification of its next commits",
                    "git worker merge --all",
                    code="target_moved",
                )
            )
        return True

    def _land(self, window: list[Prepared], end: WindowEnd | None = None) -> int:
        """Land a window and return how many landed; `end` is recorded if all of them do."""
        push = None if self._pushing is None else self._pushing.push
        self._one_by_one = max(0, self._one_by_one - 1)
        try:
            results = land(
                self.session, window, keep=self._keep, push=push, known=self._cache.changes,
                end=end,
            )  # fmt: skip
        except GitWorkerError as error:
            if self._pushing is not None and self._pushing.came_too_late(error):
                self._schedule_retry(error)
            elif push is None or error.code in (*COMMON, "would_overwrite", "ref_moved"):
                self._blocked(window, error)
            elif error.code in DECLINED:
                self._split_declined(window, error)
            else:
                self._fail_all(error)  # the remote would answer the same for every worker
            return 0
        self._moves = self._failures_in_row = 0
        self._note(results)
        return sum(isinstance(result, Landed) for result in results.values())

    def _split_declined(self, window: list[Prepared], error: GitWorkerError) -> None:
        """Offer the workers of a window that a remote hook declined to it one by one."""
        if len(window) > 1:
            self._one_by_one = len(window)
        else:
            self._fail_one(window[0].worker.worker_id, error)

    def _fail_one(self, name: str, error: GitWorkerError) -> None:
        """Fail one worker if its commits may be the cause; fail all after several in a row.

        The next worker is chosen at random, since workers that fail each time gather at the head.
        """
        self._failures_in_row += 1
        if self._failures_in_row == FAILURES_AT_MOST:
            self._fail_all(error)
            return
        self._fail(name, error)
        if self._waiting:
            from random import randrange

            self._waiting.insert(0, self._waiting.pop(randrange(len(self._waiting))))

    def _schedule_retry(self, error: GitWorkerError) -> None:
        """Set the delay before the next try to push, or give up."""
        assert self._pushing is not None
        delay_s = self._pushing.delay_s()
        if delay_s is None:
            self._fail_all(error)
            return
        self.session.report(Notice(f"{error.message}; trying again"))
        self._pause_s = delay_s

    def _send_back(self, culprit: Prepared, verdict: Verdict) -> None:
        error: GitWorkerError
        try:
            error = send_back_failed(
                self.session,
                self._read_worker(culprit.worker.worker_id),
                commit=culprit.rewrite.new,
                onto=culprit.base,
                reason=verdict.reason,
                log=verdict.log,
            )
        except GitWorkerError as failure:
            error = failure
        self._fail(culprit.worker.worker_id, error)

    # ------------------------------------------------------------------ results
    def _note(self, results: dict[str, Landed | NotLanded]) -> None:
        self.results |= results
        self._waiting = [name for name in self._waiting if name not in results]
        self.session.report(WorkersLanded(list(results.values())))

    def _fail(self, name: str, error: GitWorkerError) -> None:
        self._note({name: NotLanded(name, error)})

    def _fail_all(self, error: GitWorkerError) -> None:
        self._note({name: NotLanded(name, error) for name in self._waiting})
