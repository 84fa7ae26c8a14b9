"""Verify a window: its tip, and if that fails the prefixes that identify the culprit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, Refused
from gitworker.landing.prepare import Prepared
from gitworker.landing.search.rules_search import SearchSpan, next_probes, whole
from gitworker.model.ids import Oid
from gitworker.progress import VerificationNotice
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.verify.verify import NoVerdict, Verdict, Verifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.landing.search.shared_window import SharedWindow

Record = Callable[[Writer, list[dict[str, Any]]], None]
LOOK_EVERY_S = 0.5  # at the runs of other machines


class TargetFails(Refused):
    """The target itself does not pass; no worker is at fault."""


class WindowVerdict(NamedTuple):
    """The result of verifying a window.

    `passing` is the length of the longest passing prefix; `failed` is the verdict with the next
    worker on top, None if all pass. `unfit` is the error if that worker has no true verdict: the
    cause may be the worker, a full disk, or a program that git runs (a filter that asks a server).
    """

    passing: int
    verdicts: list[dict[str, Any]]
    failed: Verdict | None
    unfit: GitWorkerError | None = None


def verify_window(
    session: Session,
    verifier: Verifier,
    window: Sequence[Prepared],
    *,
    record: Record,
    shared: SharedWindow | None = None,
) -> WindowVerdict:
    """Find the longest prefix of a window that passes, with `merge.parallel` runs at once.

    `record` writes all verdicts so far after each one, in the transaction that records its run. If
    the target failed when it was last verified, a failing window is not searched before the target
    was tried again. Other machines verify prefixes of a `shared` window, too. Raises TargetFails if
    the target itself fails, and the verifier's errors if nothing can run or be checked out; no
    worker is at fault then.
    """
    base = window[0].base
    search = _Search(session, verifier, window, record=record, shared=shared)
    target_is_doubtful = verifier.known_failure(base) is not None
    while not search.is_over():
        search.step()
        crash_point("queue.verified")
        if target_is_doubtful and search.span.has_failure:
            search.stop()
            _require_target_passes(session, verifier, base)
            target_is_doubtful = False
    green, red = search.span.green, search.span.red
    unfit = search.unfit.get(red)
    if unfit is not None:
        verifier.require_checkout(window[green - 1].rewrite.new if green else base)
    elif red == 1:
        _require_target_passes(session, verifier, base)
    return WindowVerdict(green, search.verdicts, search.failed.get(red), unfit)


class _Search:
    """The state of one search: the known span, the current runs, the verdicts so far.

    A failure on another machine only narrows the search. The one that sends work back is repeated
    here, where its log is, since its cause may be the other machine.
    """

    def __init__(
        self,
        session: Session,
        verifier: Verifier,
        window: Sequence[Prepared],
        *,
        record: Record,
        shared: SharedWindow | None,
    ) -> None:
        self.span: SearchSpan = whole(len(window))
        self.verdicts: list[dict[str, Any]] = []
        self.failed: dict[int, Verdict] = {}
        self.unfit: dict[int, GitWorkerError] = {}
        self._session = session
        self._verifier = verifier
        self._window = window
        self._record = record
        self._shared = shared
        self._slots = session.settings.merge_parallel
        self._running: set[int] = set()
        self._old_failures = self._known_failures() if shared is not None else {}
        self._failed_elsewhere: set[int] = set()
        self._repeated: set[int] = set()

    def is_over(self) -> bool:
        """Return whether the culprit is known."""
        return self.span.is_settled and self.span.red not in self._failed_elsewhere

    def step(self) -> None:
        """Learn one verdict, which is recorded, and stop the runs that it makes useless."""
        prefix, verdict = self._learn()
        self.span = self.span.learn(prefix, passed=verdict.passed)
        if not verdict.passed:
            self.failed[prefix] = verdict
        self._release(prefix)
        for useless in [one for one in self._running if not self.span.concerns(one)]:
            self._verifier.cancel(self._commit(useless))
            self._running.discard(useless)
            self._release(useless)
        self.verdicts.append(self._entry(prefix, verdict))

    def _learn(self) -> tuple[int, Verdict]:
        """Return the next verdict: one that is known, or that of the next run to end."""
        while True:
            try:
                known = self._begin()
                if known is None:
                    ended = self._wait()
                    if ended is not None:
                        return ended
                    continue
            except NoVerdict as error:
                known = self._no_verdict(error)
            prefix, verdict = self._blamed(*known)
            with self._session.store.write() as writer:
                self._record(writer, [*self.verdicts, self._entry(prefix, verdict)])
            if verdict.cached:  # the verifier itself reports the others
                words = "passed before" if verdict.passed else "failed on another machine"
                label = label_of(self._window, prefix)
                self._session.report(VerificationNotice(f"{label}: {words}"))
            return prefix, verdict

    def _blamed(self, prefix: int, verdict: Verdict) -> tuple[int, Verdict]:
        """Return a verdict with its prefix: if several end at a commit that fails, the shortest."""
        if verdict.passed:
            return prefix, verdict
        return min(self._prefixes(self._commit(prefix))), verdict

    def _entry(self, prefix: int, verdict: Verdict) -> dict[str, Any]:
        return {"prefix": prefix, "commit": self._commit(prefix), **verdict._asdict()}

    def _note(self, writer: Writer, commit: Oid, verdict: Verdict) -> None:
        """Record a verdict on the window, in the transaction that records the run."""
        found = self._blamed(max(self._prefixes(commit)), verdict)
        self._record(writer, [*self.verdicts, self._entry(*found)])

    def stop(self) -> None:
        """Stop all runs; the next step starts again."""
        for prefix in self._running:
            self._verifier.cancel(self._commit(prefix))
            self._release(prefix)
        self._running.clear()

    def _begin(self) -> tuple[int, Verdict] | None:
        """Start the next runs; return a verdict instead if one is already known."""
        if self.span.is_settled:
            self._repeat_failure()
        others: frozenset[int] = frozenset()
        slots = self._slots
        if self._shared is not None:
            others = self._shared.of_others()
            slots += self._slots * self._shared.helpers
            if (found := self._learn_from_others()) is not None:
                return found
        for prefix in next_probes(self.span, slots, self._running | others):
            known = self._verifier.known(self._commit(prefix))
            if known is not None:
                return prefix, known
            if len(self._running) < self._slots and self._take(prefix):
                self._start(prefix)
        if not self._running:  # the other machines have the rest: this one does not wait for them
            self._start(next_probes(self.span, 1)[0])
        return None

    def _repeat_failure(self) -> None:
        """Start a run of the prefix whose failure elsewhere would decide; its verdict counts."""
        red = self.span.red
        self._failed_elsewhere.discard(red)
        self._repeated.add(red)
        del self.failed[red]
        self.span = self.span._replace(red=min(self.failed, default=self.span.size + 1))
        self._start(red)

    def _learn_from_others(self) -> tuple[int, Verdict] | None:
        """Return the verdict of a run on another machine that has ended, or None."""
        for prefix in self._unknown():
            known = self._verifier.known(self._commit(prefix))
            if known is not None:
                return prefix, known
        for prefix, failure in self._known_failures().items():
            is_new = failure != self._old_failures.get(prefix)
            if is_new and prefix not in self._running and prefix not in self._repeated:
                shortest = min(self._prefixes(self._commit(prefix)))
                self._failed_elsewhere.add(shortest)
                return shortest, failure._replace(log="")
        return None

    def _unknown(self) -> range:
        return range(self.span.green + 1, min(self.span.red, self.span.size + 1))

    def _known_failures(self) -> dict[int, Verdict]:
        """Return the newest verdicts on the prefixes of which nothing is known, if they failed."""
        found = {one: self._verifier.known_failure(self._commit(one)) for one in self._unknown()}
        return {prefix: failure for prefix, failure in found.items() if failure is not None}

    def _wait(self) -> tuple[int, Verdict] | None:
        """Return the next verdict of this machine; None if it is time to look at the others."""
        limit_s = None if self._shared is None else LOOK_EVERY_S
        ended = self._verifier.wait(limit_s, note=self._note)
        if ended is None:
            assert self._shared is not None, "a run exists as long as the search is not settled"
            return None
        commit, verdict = ended
        same = self._prefixes(commit)
        self._running -= same
        return self._blamed(max(same), verdict)

    def _start(self, prefix: int) -> None:
        self._verifier.start(self._commit(prefix), label=label_of(self._window, prefix))
        self._running.add(prefix)

    def _take(self, prefix: int) -> bool:
        return self._shared is None or self._shared.claims.take(prefix)

    def _release(self, prefix: int) -> None:
        if self._shared is not None:
            self._shared.claims.release(prefix)

    def _no_verdict(self, error: NoVerdict) -> tuple[int, Verdict]:
        """Treat a commit without a verdict as failing, so that the search finds it."""
        same = self._prefixes(error.commit)
        self._running -= same
        self.unfit[min(same)] = error
        return min(same), Verdict(
            passed=False, cached=False, flaky=False, reason=error.message, log="", duration_ms=0
        )

    def _prefixes(self, commit: Oid) -> set[int]:
        """Return the prefixes that end at a commit: several if a worker adds no commit."""
        prefixes = range(1, len(self._window) + 1)
        return {prefix for prefix in prefixes if self._commit(prefix) == commit}

    def _commit(self, prefix: int) -> Oid:
        return self._window[prefix - 1].rewrite.new


def _require_target_passes(session: Session, verifier: Verifier, base: Oid) -> None:
    """Raise TargetFails if the target itself fails."""
    name = session.target_name
    verdict = verifier.known(base)
    if verdict is None:
        verifier.start(base, label=name)
        ended = verifier.wait()
        assert ended is not None
        verdict = ended[1]
    if not verdict.passed:
        raise TargetFails(
            f"{name} itself does not pass ({verdict.reason}); nothing lands on it",
            f"less {quoted(verdict.log)}",
            code="target_fails",
        )


def label_of(window: Sequence[Prepared], prefix: int) -> str:
    """Return the name of the first `prefix` workers of a window for the user."""
    names = [one.worker.worker_id for one in window[:prefix]]
    return names[0] if len(names) == 1 else f"{names[-1]} and {len(names) - 1} before it"
