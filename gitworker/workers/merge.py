"""merge: approved work reaches the target, several workers by one fast-forward."""

from gitworker.bus.drain import drain
from gitworker.errors import GitWorkerError, error_of
from gitworker.repo.lock import hold
from gitworker.repo.memory import Memory
from gitworker.session import Session
from gitworker.store.workers import Worker, all_workers
from gitworker.workers.find import require_worker
from gitworker.workers.recover import finish_interrupted, require_landed
from gitworker.workers.rules import is_approved, may_judge
from gitworker.workers.window import (
    DoesNotStack,
    Landed,
    NotLanded,
    Prepared,
    land,
    prepare,
)

__all__ = ["Landed", "NotLanded", "merge"]


def merge(
    session: Session, names: list[str], *, everything: bool = False, keep: bool = False
) -> list[Landed | NotLanded]:
    """Land workers in the order named, oldest approval first with `everything`.

    They are replayed one on top of another and land by one fast-forward. A worker that does not
    fit waits until those before it have landed, and is then judged against the target alone; one
    that cannot land is reported and does not stop the others.
    """
    with hold(session.landing_lock, what="landing"):
        finish_interrupted(session)
        require_landed(session)
        drain(session)
        chosen = _chosen(session, names, everything=everything)
        results = _Landing(session, keep=keep).run(chosen)
    return [results[worker.worker_id] for worker in chosen]


class _Landing:
    """One run of merge: the window being assembled, and what became of each worker."""

    def __init__(self, session: Session, *, keep: bool) -> None:
        self.session = session
        self.keep = keep
        self.window: list[Prepared] = []
        self.results: dict[str, Landed | NotLanded] = {}
        self.memory = Memory()

    def run(self, chosen: list[Worker]) -> dict[str, Landed | NotLanded]:
        """Take the workers one by one, landing whenever one does not fit on top."""
        for worker in chosen:
            try:
                self._add(worker)
            except DoesNotStack:
                self._land()
                self._try_alone(worker)
            except (GitWorkerError, OSError) as error:
                self.results[worker.worker_id] = NotLanded(worker.worker_id, error_of(error))
        self._land()
        return self.results

    def _add(self, worker: Worker) -> None:
        base = self.window[-1].rewrite.new if self.window else None
        self.window.append(prepare(self.session, worker, onto=base, memory=self.memory))

    def _land(self) -> None:
        """Land the window; where it is refused as a whole, each worker is tried alone."""
        window, self.window = self.window, []
        if not window:
            return
        try:
            self.results |= land(self.session, window, keep=self.keep)
        except GitWorkerError as error:
            if len(window) == 1:
                name = window[0].worker.worker_id
                self.results[name] = NotLanded(name, error)
                return
            for prepared in window:
                self._try_alone(prepared.worker)

    def _try_alone(self, worker: Worker) -> None:
        try:
            self._add(self._anew(worker))
        except (GitWorkerError, OSError) as error:
            self.results[worker.worker_id] = NotLanded(worker.worker_id, error_of(error))
        self._land()

    def _anew(self, seen: Worker) -> Worker:
        """Return the worker as it stands now: a failed landing may have changed it."""
        with self.session.store.read() as reader:
            return require_worker(reader, seen.worker_id, self.session)


def _chosen(session: Session, names: list[str], *, everything: bool) -> list[Worker]:
    with session.store.read() as reader:
        if everything:
            waiting = [w for w in all_workers(reader) if is_approved(w.state)]
            chosen = sorted(waiting, key=lambda w: (w.state_changed_at_ms, w.worker_id))
        else:
            named = [require_worker(reader, name, session) for name in names]
            chosen = list({worker.worker_id: worker for worker in named}.values())
    for worker in chosen:
        refusal = may_judge(
            session.actor, worker.worker_id, self_review=session.settings.review_self
        )
        if refusal is not None:
            raise refusal
    return chosen
