"""Verify a window: its tip, and if that fails the prefixes that identify the culprit."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, Refused
from gitworker.landing.prepare import Prepared
from gitworker.landing.search.rules_search import SearchSpan, next_probes, whole
from gitworker.model.ids import Oid
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.verify.verify import NoVerdict, Verdict, Verifier


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
    on_verdict: Callable[[list[dict[str, Any]]], None],
) -> WindowVerdict:
    """Find the longest prefix of a window that passes, with `merge.parallel` runs at once.

    `on_verdict` receives all verdicts so far after each one. If the target failed when it was last
    verified, a failing window is not searched before the target was tried again. Raises TargetFails
    if the target itself fails, and the verifier's errors if nothing can run or be checked out; no
    worker is at fault then.
    """
    base = window[0].base
    search = _Search(session, verifier, window)
    target_is_doubtful = verifier.has_failed(base)
    while not search.span.is_settled:
        on_verdict(search.step())
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
    """The state of one search: the known span, the current runs, the verdicts so far."""

    def __init__(self, session: Session, verifier: Verifier, window: Sequence[Prepared]) -> None:
        self.span: SearchSpan = whole(len(window))
        self.verdicts: list[dict[str, Any]] = []
        self.failed: dict[int, Verdict] = {}
        self.unfit: dict[int, GitWorkerError] = {}
        self._verifier = verifier
        self._window = window
        self._slots = session.settings.merge_parallel
        self._running: set[int] = set()

    def step(self) -> list[dict[str, Any]]:
        """Learn one verdict, stop the runs that it makes useless, return all verdicts."""
        try:
            prefix, verdict = self._begin() or self._wait()
        except NoVerdict as error:
            prefix, verdict = self._no_verdict(error)
        if not verdict.passed:  # several prefixes may end at one commit: blame the shortest
            prefix = min(self._prefixes(self._commit(prefix)))
        self.span = self.span.learn(prefix, passed=verdict.passed)
        if not verdict.passed:
            self.failed[prefix] = verdict
        for useless in [one for one in self._running if not self.span.concerns(one)]:
            self._verifier.cancel(self._commit(useless))
            self._running.discard(useless)
        entry = {"prefix": prefix, "commit": self._commit(prefix), **verdict._asdict()}
        self.verdicts.append(entry)
        return self.verdicts

    def stop(self) -> None:
        """Stop all runs; the next step starts again."""
        for prefix in self._running:
            self._verifier.cancel(self._commit(prefix))
        self._running.clear()

    def _begin(self) -> tuple[int, Verdict] | None:
        """Start the next runs; return a verdict instead if one is already known."""
        for prefix in next_probes(self.span, self._slots, self._running):
            known = self._verifier.known(self._commit(prefix))
            if known is not None:
                return prefix, known
            self._verifier.start(self._commit(prefix), label=label_of(self._window, prefix))
            self._running.add(prefix)
        return None

    def _wait(self) -> tuple[int, Verdict]:
        ended = self._verifier.wait()
        assert ended is not None, "a run exists as long as the search is not settled"
        commit, verdict = ended
        same = self._prefixes(commit)
        self._running -= same
        return max(same), verdict

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
    return names[0] if len(names) == 1 else f"{names[-1]} and {len(names) - 1} below it"
