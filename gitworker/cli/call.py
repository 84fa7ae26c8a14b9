"""One call of the program: what its global options say, and the session that it works in.

Whatever a killed command left, and whatever became due by the passing of time, is settled here,
before any command looks or acts.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from gitworker.app import open_session
from gitworker.bus.drain import drain
from gitworker.bus.jobs.upkeep_job import ring_upkeep
from gitworker.bus.limits.send_limits import keep_limits
from gitworker.cli import output
from gitworker.errors import GitWorkerError, error_of
from gitworker.journal.settle import settle
from gitworker.journal.settled import Settled
from gitworker.lifecycle.find import require_worker
from gitworker.model.ids import Oid, Ref
from gitworker.repo.plumbing.opening import Opening, keep_target
from gitworker.session import Session
from gitworker.store.workers import Worker

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Renderer(Protocol[T_contra]):
    """Lays data out as text; a width of None cuts nothing."""

    def __call__(self, data: T_contra, /, *, width: int | None, color: bool) -> str:
        """Return the text without a final newline."""
        ...


class Call:
    """What the options say that every command takes: who asks, and in which form to answer.

    `opening` is what the entry has asked git already, for the first session.
    """

    __slots__ = ("as_json", "identity", "opening")

    def __init__(
        self,
        identity: str | None = None,
        *,
        as_json: bool = False,
        opening: Opening | None = None,
    ) -> None:
        self.identity = identity
        self.as_json = as_json
        self.opening = opening

    def open(self) -> Session:
        """Open the repository to act in it: set up if it is not, interrupted acts settled.

        Raises Unavailable if the state directory cannot be written.
        """
        session = self.settle(create=True)[0]
        session.store.require_writable()
        return session

    def open_to_read(self) -> Session:
        """Open the repository to look at it, with every commit told that nobody was told of."""
        return self.survey()[0]

    def survey(self) -> tuple[Session, dict[Ref, Oid]]:
        """Open the repository to look at it; return also the tips of the branches, just read."""
        session, _, workers = self._settle(create=False)
        return session, drain(session, workers, skipped=_tell_skipped)

    def open_quickly(self) -> Session:
        """Open the repository for one look or one row: nothing is settled first."""
        return self._session(create=False)

    def settle(self, *, create: bool) -> tuple[Session, Settled]:
        """Open the repository, settle what is open or due; return also the interrupted acts."""
        session, settled, _ = self._settle(create=create)
        return session, settled

    def _settle(self, *, create: bool) -> tuple[Session, Settled, list[Worker] | None]:
        session = self._session(create=create)
        session.git.version(cache=f"{session.paths.root}/git-version")
        if session.store.is_read_only:
            return session, Settled([], []), None
        keep_limits(session.paths, session.settings)
        keep_target(session.paths, session.target)
        settled, workers = settle(session)
        ring_upkeep(session.store, session.repository.common_dir)
        _tell_settled(settled)
        return session, settled, workers

    def _session(self, *, create: bool) -> Session:
        opening, self.opening = self.opening, None
        session = open_session(identity=self.identity, create=create, opening=opening)
        if session.note:
            output.narrate(session.note)
        return session

    def worker(self, session: Session, name: str | None) -> Worker:
        """Return the worker that a name means; without one, whoever asks."""
        with session.store.read() as reader:
            return require_worker(reader, name, session)

    def render(
        self,
        data: T,
        render: Renderer[T],
        fields: Callable[[T], Mapping[str, Any]],
        *,
        exact: bool = False,
    ) -> None:
        """Answer with what was read: laid out for the reader's screen, or as one JSON document.

        `exact`: the text is for programs too, as a diff is.
        """
        if self.as_json:
            output.document(fields(data))
        else:
            width, color = output.screen_width(), output.wants_color()
            output.answer_rendered(render(data, width=width, color=color), exact=exact)

    def show(self, text: str, **fields: object) -> None:
        """Answer with text, or with the fields as one JSON document."""
        output.show(text, fields, as_json=self.as_json)


def _tell_settled(settled: Settled) -> None:
    """Tell what was ended, and what is left open, with what is in its way."""
    for operation in settled.ended:
        output.narrate(f"settled an interrupted {operation.kind} of {operation.worker_id}")
    for operation, error in settled.left:
        _warn(f"an interrupted {operation.kind} of {operation.worker_id} is left open", error)
    if settled.untold is not None:
        _warn("views and logs are not up to date", settled.untold)


def _tell_skipped(ref: Ref, error: Exception) -> None:
    _warn(f"commits of {ref.removeprefix('refs/heads/')} are not told yet", error_of(error))


def _warn(what: str, error: GitWorkerError) -> None:
    output.narrate(f"warning: {what}: {error.message}")
    if error.detail:
        output.narrate("\n".join(f"  {line}" for line in error.detail.splitlines()))
    if error.hint:
        output.narrate(f"hint: {error.hint}")
