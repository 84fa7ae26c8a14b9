"""The landing queue at work: windows of approved workers, verified, narrowed down, landed.

The landing lock is held while a window is put together and while it lands, never while its commits
are verified: reviewers go on meanwhile. What was verified lands only if target and workers still
stand as they did; else the window is put together anew, and trees that passed do not run again.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from random import randrange

from gitworker import clock
from gitworker.branches.remote import follow_remote, open_remote
from gitworker.branches.stack import parents_of
from gitworker.bus.drain import drain
from gitworker.errors import Conflict, GitWorkerError
from gitworker.journal.recover import finish_interrupted, require_landed
from gitworker.landing.prepare import Prepared
from gitworker.landing.pushing import Pushing, RemoteMoved, settle_pushes
from gitworker.landing.queue_log import close_record, open_record, record_verdict
from gitworker.landing.queue_verify import TargetFails, Verified, label_of, verify_window
from gitworker.landing.rules_queue import next_size, parents_first
from gitworker.landing.window import land
from gitworker.landing.window_assembly import Assembly
from gitworker.lifecycle.outcome import Landed, NotLanded
from gitworker.lifecycle.rules import is_approved, is_landed
from gitworker.lifecycle.verdict import send_back_failed
from gitworker.model.ids import Oid
from gitworker.repo.checkout.fastforward import check_forward
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.remote.transfer import Narrate
from gitworker.repo.replay.replay_cache import Memory
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.store.operations import find_last_operation
from gitworker.store.windows import newest_windows
from gitworker.store.workers import Worker, find_worker
from gitworker.verify.target_settings import changes_settings, settings_at
from gitworker.verify.trust import untrusted
from gitworker.verify.verify import Progress, Verdict, Verifier, require_trusted
from gitworker.worktrees.pool.lend_to_verify import lender
from gitworker.worktrees.prefetched_checks import Looks

MOVES = 10  # how often the target may move while a window is verified before we give up
OUTCOMES = ("landed", "failed")  # those that say something about how large a window may be
# What is in everybody's way: the state of the target's checkout, not what somebody changes.
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
ASIDE_AT_MOST = 3  # who cannot land by themselves in a row: then it is not about their commits
Tell = Callable[[str], None]
Note = Callable[[Sequence[Landed | NotLanded]], None]
Show = Callable[[Sequence[Progress]], None]


def window_size(session: Session) -> int | None:
    """Return how many workers the next window carries; None where nothing is verified."""
    settings = session.settings
    if not settings.verify_commands:
        return None
    with session.store.read() as reader:
        last = next((w for w in newest_windows(reader, 5) if w.outcome in OUTCOMES), None)
    return next_size(
        settings.merge_window,
        last=None if last is None else last.size,
        was_full=last is not None and len(last.workers) >= last.size,
        passed=last is None or last.outcome == "landed",
    )


class Queue:
    """One run of the queue over some workers; `results` is what became of each.

    The caller holds the queue's lock.
    """

    def __init__(
        self,
        session: Session,
        *,
        keep: bool,
        tell: Tell,
        show: Show | None = None,
        narrate: Narrate | None = None,
        early: Looks | None = None,
        note: Note = lambda results: None,
    ) -> None:
        self.session = session
        self.results: dict[str, Landed | NotLanded] = {}
        self._keep = keep
        self._tell = tell
        self._show = show
        self._narrate = narrate
        self._early = early
        self._hear = note
        self._memory = Memory()
        self._chosen: dict[str, Worker] = {}
        self._waiting: list[str] = []
        self._held = ExitStack()
        self._pushing: Pushing | None = None
        self._read_at: Oid | None = None  # the target's commit that the settings are of
        self._one_by_one = 0  # how many of the next windows carry one worker
        self._moves = 0
        self._aside = 0  # how many in a row could not land, each by itself
        self._pause_s = 0.0
        self._red: TargetFails | None = None

    def run(
        self, chosen: Sequence[Worker], *, windows: int | None = None
    ) -> dict[str, Landed | NotLanded]:
        """Land workers in the order given, as many at a time as fit on top of each other.

        At most `windows` that come to something are tried; who was in none of them is not in the
        results. One that is put together anew, or split up, is not given up half-way: somebody who
        begins once more would do the same again. Raises what is in everybody's way before anything
        has come of it: an unfinished landing, a remote that cannot be reached.
        """
        self._chosen = {worker.worker_id: worker for worker in chosen}
        with self.session.store.read() as reader:
            stacks = parents_of(reader)
        found = {one.worker_id: stacks.get((one.worker_id, one.task_id or "")) for one in chosen}
        parents = {name: stack.parent_worker for name, stack in found.items() if stack}
        self._waiting = parents_first(found, parents)
        with self._held:
            self._follow(self.session)
            if not self._waiting:  # what was cut off is ended all the same
                with hold(self.session.landing_lock, what="landing"):
                    self._catch_up()
            while self._waiting and windows != 0:
                known = len(self.results)
                try:
                    has_tried = self._round()
                except GitWorkerError as error:
                    if not self.results:
                        raise
                    self._fail_all(error)
                    break
                has_come = len(self.results) > known and not self._aside
                if windows is not None and has_tried and has_come:
                    windows -= 1
        return self.results

    def _follow(self, session: Session) -> None:
        """Work by a session's settings from now on."""
        if self._waiting:
            require_trusted(session)
        self.session = session
        self._verifier = self._held.enter_context(self._verifier_of(session))
        remote = open_remote(session, narrate=self._narrate)
        self._pushing = None if remote is None else Pushing(remote)

    def _verifier_of(self, session: Session) -> Verifier:
        return Verifier(session, tell=self._tell, show=self._show, lend=lender(session))

    def _round(self) -> bool:
        """Put one window together, verify it, land what passes; tell whether there was one."""
        if self._pause_s:
            clock.sleep(self._pause_s)
            self._pause_s = 0.0
        pushing = self._pushing
        remote_tip = None if pushing is None else pushing.remote.fetch()
        with hold(self.session.landing_lock, what="landing"):
            self._catch_up(remote_tip)
            if (pushing is None) != (self._pushing is None):
                return False  # the settings that came with the target name a remote, or none
            size = 1 if self._one_by_one else window_size(self.session)
            window = self._assemble(size)
            if not window or not self._is_clear(window):
                return False
            news = changes_settings(self.session, window[0].base, window[-1].rewrite.new)
            if not news and self._verifier.known(window[-1].rewrite.new) is not None:
                self._land(window)
                return True
            number = open_record(self.session, window, size=size or len(window))
        verified = self._verify(number, window, with_news=news)
        if verified is not None:
            with hold(self.session.landing_lock, what="landing"):
                self._catch_up()
                self._conclude(number, window, verified)
        return True

    def _catch_up(self, remote_tip: Oid | None = None) -> None:
        """End what was cut off, follow remote and settings, tell what nobody was told of."""
        settle_pushes(self.session)
        finish_interrupted(self.session)
        require_landed(self.session)
        if remote_tip is not None:
            follow_remote(self.session, remote_tip)
        tip = find_tip(self.session.git, self.session.repository.common_dir, self.session.target)
        if tip is not None and tip != self._read_at:
            settings = settings_at(self.session, tip)
            self._read_at = tip
            if settings != self.session.settings:
                self._follow(self.session._replace(settings=settings))
        drain(self.session)

    def _assemble(self, size: int | None) -> list[Prepared]:
        for name in list(self._waiting):
            self._note_landed(name)
        assembly = Assembly(self.session, memory=self._memory, fail=self._fail)
        return assembly.assemble(list(self._waiting), size) if self._waiting else []

    def _note_landed(self, name: str) -> None:
        """Take out of the line who was landed by somebody else since, or by the end of a kill."""
        chosen, worker = self._chosen[name], self._anew(name)
        if not (is_approved(chosen.state) and is_landed(worker.state)):
            return
        with self.session.store.read() as reader:
            act = find_last_operation(reader, "merge", worker=name, task=chosen.task_id)
        if act is not None and worker.task_id == chosen.task_id:
            commit = Oid(act.data["new"])
            self._note({name: Landed(worker, commit, self.session.target, worker.worktree, None)})

    def _anew(self, name: str) -> Worker:
        """Return the worker as it stands now."""
        with self.session.store.read() as reader:
            worker = find_worker(reader, name)
        assert worker is not None
        return worker

    # ------------------------------------------------------------------ before a window
    def _is_clear(self, window: list[Prepared]) -> bool:
        """Tell whether the target's checkout could follow, before anything is verified or pushed.

        Whoever is in the way fails. Where nothing is verified the landing itself finds out.
        """
        if self._pushing is None and not self.session.settings.verify_commands:
            return True
        error = self._obstacle(window, len(window))
        if error is not None:
            self._blocked(window, error)
        return error is None

    def _obstacle(self, window: list[Prepared], prefix: int) -> GitWorkerError | None:
        """Return what is in the way of moving the target over the first workers of a window."""
        ref = self.session.target
        try:
            check_forward(
                self.session.git,
                ref=ref,
                old=window[0].base,
                new=window[prefix - 1].rewrite.new,
                worktree=find_checkout(self.session.git, ref),
            )
        except GitWorkerError as error:
            return error
        return None

    def _blocked(self, window: list[Prepared], error: GitWorkerError) -> None:
        """Fail whoever is in the way of a landing: one, everybody, or it shows one by one."""
        if error.code in COMMON:
            self._fail_all(error)
            return
        for prefix in range(1, len(window) + 1) if error.code == "would_overwrite" else ():
            found = self._obstacle(window, prefix)
            if found is not None:
                self._fail(window[prefix - 1].worker.worker_id, found)
                return
        if error.code == "ref_moved" and self._count_move():
            return
        if len(window) > 1:
            self._one_by_one = len(window) + 1
        elif self.session.settings.verify_commands:  # each costs a run
            self._set_aside(window[0].worker.worker_id, error)
        else:
            self._fail(window[0].worker.worker_id, error)

    # ------------------------------------------------------------------ verifying
    def _verify(self, number: int, window: list[Prepared], *, with_news: bool) -> Verified | None:
        """Verify a window; None where that cannot be done, everybody concerned being told."""

        def on_verdict(verdicts: list[dict[str, object]]) -> None:
            if verdicts[-1]["cached"]:  # of the others the verifier tells
                self._tell(f"{label_of(window, int(str(verdicts[-1]['prefix'])))}: passed before")
            record_verdict(self.session, number, window, verdicts)

        try:
            verified = verify_window(self.session, self._verifier, window, on_verdict=on_verdict)
            if with_news and verified.passing == len(window):
                return self._verify_news(window, verified)
            return verified
        except TargetFails as error:  # nobody's commits are to blame
            self._red = self._red or error
            names = [one.worker.worker_id for one in window]
            self._note({name: NotLanded(name, self._red) for name in names})
        except GitWorkerError as error:
            self._fail_all(error)
        close_record(self.session, number, "refused")
        return None

    def _verify_news(self, window: list[Prepared], verified: Verified) -> Verified:
        """Verify the last of a window by the settings that it brings itself, where it may run."""
        tip = window[-1].rewrite.new
        session = self.session._replace(settings=settings_at(self.session, tip))
        if untrusted(session, "verify"):
            return verified
        with self._verifier_of(session) as verifier:
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
    def _conclude(self, number: int, window: list[Prepared], verified: Verified) -> None:
        """Land what passes and send the culprit back, if all stands as it did when it began."""
        if not self._stands(window[: verified.passing + 1]):
            close_record(self.session, number, "moved", verdicts=verified.verdicts)
            self._count_move()
            return
        passing, failing = window[: verified.passing], window[verified.passing :]
        landed = self._land(passing) if passing else 0
        if landed < len(passing):
            outcome = "moved" if self._pause_s else "refused"
        else:
            outcome = "failed" if failing else "landed"
        if failing and landed == len(passing):
            if verified.unfit is not None:
                self._set_aside(failing[0].worker.worker_id, verified.unfit)
            elif verified.failed is not None:
                self._blame(failing[0], verified.failed)
        close_record(self.session, number, outcome, verdicts=verified.verdicts, landed=landed)

    def _stands(self, window: list[Prepared]) -> bool:
        """Tell whether target, branches and workers are as they were when they were verified."""
        git, common_dir = self.session.git, self.session.repository.common_dir
        if find_tip(git, common_dir, self.session.target) != window[0].base:
            return False
        for one in window:
            if self._anew(one.worker.worker_id).version != one.worker.version:
                return False
            if find_tip(git, common_dir, one.rewrite.ref) != one.rewrite.old:
                return False
        return True

    def _count_move(self) -> bool:
        """Count a window that something moved under; give up after many in a row."""
        self._moves += 1
        if self._moves > MOVES:
            name = self.session.target.removeprefix("refs/heads/")
            self._fail_all(
                Conflict(
                    f"{name} moved {MOVES} times while its next commits were verified",
                    "git worker merge --all",
                    code="target_moved",
                )
            )
        return True

    def _land(self, window: list[Prepared]) -> int:
        """Land a window and return how many landed."""
        push = None if self._pushing is None else self._pushing.push
        self._one_by_one = max(0, self._one_by_one - 1)
        try:
            results = land(self.session, window, keep=self._keep, push=push, early=self._early)
        except RemoteMoved as error:
            self._back_off(error)
            return 0
        except GitWorkerError as error:
            if push is None or error.code in (*COMMON, "would_overwrite", "ref_moved"):
                self._blocked(window, error)
            elif error.code in DECLINED:
                self._decline(window, error)
            else:
                self._fail_all(error)  # the remote's answer is the same for everybody
            return 0
        self._moves = self._aside = 0
        self._note(results)
        return sum(isinstance(result, Landed) for result in results.values())

    def _decline(self, window: list[Prepared], error: GitWorkerError) -> None:
        """Offer the workers of a window that a hook has declined to it one by one."""
        if len(window) > 1:
            self._one_by_one = len(window)
        else:
            self._set_aside(window[0].worker.worker_id, error)

    def _set_aside(self, name: str, error: GitWorkerError) -> None:
        """Fail one for what may be about its commits; everybody, where that comes too often.

        Anybody at random is next, since those who fail each time gather at the head of the line.
        """
        self._aside += 1
        if self._aside == ASIDE_AT_MOST:
            self._fail_all(error)
            return
        self._fail(name, error)
        if self._waiting:
            self._waiting.insert(0, self._waiting.pop(randrange(len(self._waiting))))

    def _back_off(self, error: GitWorkerError) -> None:
        """Set how long to wait before the next try to push, or give up."""
        assert self._pushing is not None
        delay_s = self._pushing.delay_s()
        if delay_s is None:
            self._fail_all(error)
            return
        self._tell(f"{error.message}; trying again")
        self._pause_s = delay_s

    def _blame(self, culprit: Prepared, verdict: Verdict) -> None:
        error: GitWorkerError
        try:
            error = send_back_failed(
                self.session,
                self._anew(culprit.worker.worker_id),
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
        self._hear(list(results.values()))

    def _fail(self, name: str, error: GitWorkerError) -> None:
        self._note({name: NotLanded(name, error)})

    def _fail_all(self, error: GitWorkerError) -> None:
        self._note({name: NotLanded(name, error) for name in self._waiting})
