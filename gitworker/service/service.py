"""The service: one method for each use case and each view.

A `Service` names a directory and an identity and holds nothing open. Each call opens the
repository, settles interrupted work, runs one use case, and closes the database, so that one
process can serve many requests from many threads. Results are frozen data; `to_json` turns each
into the JSON that the command line prints. Errors are those of `gitworker.errors`, with code and
hint. The working directory and the environment variables of gitworker are never read.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.lifecycle.find import require_worker
from gitworker.progress import FilesOutdated, Progress, ignore
from gitworker.service.request import Request, open_for_change, open_quickly, open_to_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitworker.bus.following.follow_messages import MessageFilter
    from gitworker.bus.search.search_messages import SearchResult
    from gitworker.claims.leases import Claim
    from gitworker.fsck.doctor import Doctor
    from gitworker.fsck.fsck import FsckReport, RepairReport
    from gitworker.journal.gc.gc import CollectedItems
    from gitworker.journal.undo.records import ListedRecord
    from gitworker.journal.undo.undo import Undone
    from gitworker.landing.landing_plan import Planned
    from gitworker.landing.queue_status import QueueStatus
    from gitworker.model.ids import Oid, Ref
    from gitworker.model.outcome import Landed, NotLanded
    from gitworker.observe.agents import AgentList
    from gitworker.observe.bus import BusStats
    from gitworker.observe.logs.log import Log
    from gitworker.observe.workers.diff import Diff
    from gitworker.observe.workers.list import WorkerList
    from gitworker.observe.workers.path import WorktreePath
    from gitworker.observe.workers.show import WorkerView
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.radar.radar import RadarResult
    from gitworker.session import Session
    from gitworker.store.workers import Worker
    from gitworker.verify.verify import Verdict
    from gitworker.workers.adopt import Adopted
    from gitworker.workers.approve import Approved, NotApproved
    from gitworker.workers.cancel import FreedWorker
    from gitworker.workers.spawn import SpawnedWorker
    from gitworker.workers.submit import Submitted


def open_repository(
    directory: str,
    *,
    identity: str = "hq",
    environment: Mapping[str, str] | None = None,
    progress: Progress = ignore,
) -> Service:
    """Return the service of the repository that a directory belongs to.

    `identity` is the caller, as for `--as`: a worker, or `hq` for a person. `environment` holds
    settings such as GITWORKER_TARGET and is empty by default. Raises Unavailable if the directory
    is not in a git repository.
    """
    from gitworker.paths import require_repository

    require_repository(directory, {})
    return Service(directory, identity=identity, environment=environment, progress=progress)


class Service:
    """The use cases and views of one repository for one identity; see the module."""

    def __init__(
        self,
        directory: str,
        *,
        identity: str = "hq",
        environment: Mapping[str, str] | None = None,
        progress: Progress = ignore,
    ) -> None:
        self._request = Request(directory, identity, environment or {}, progress)

    # ------------------------------------------------------------------ workers
    def spawn(
        self, worker: str, task: str, *, title: str = "", start: str | None = None
    ) -> SpawnedWorker:
        """Give a worker a task: a branch, a worktree with our hooks, state ASSIGNED.

        `start` is a revision, a remote branch, or another worker to build on.
        """
        from gitworker.model.ids import parse_task_id, parse_worker_id
        from gitworker.workers.spawn import SpawnRequest as SpawnRequest
        from gitworker.workers.spawn import refill_pool, spawn

        wanted = SpawnRequest(parse_worker_id(worker), parse_task_id(task), title, start)
        with self._acting() as session:
            spawned = spawn(session, wanted)
            refill_pool(session)
        return spawned

    def adopt(
        self, name: str, worker: str, task: str, *, title: str = "", rename: bool = False
    ) -> Adopted:
        """Make an existing branch, or a worktree by its absolute path, a worker's."""
        from gitworker.model.ids import parse_task_id, parse_worker_id
        from gitworker.workers.adopt import AdoptRequest, adopt

        wanted = AdoptRequest(
            name, parse_worker_id(worker), parse_task_id(task), title=title, rename=rename
        )
        with self._acting() as session:
            return adopt(session, wanted)

    def start(self, worker: str, *, pid: int | None = None) -> Worker:
        """Record that work has begun; with `pid`, by that process."""
        from gitworker.workers.start import start

        with self._acting() as session:
            return start(session, worker, pid=pid)

    def submit(
        self,
        worker: str,
        *,
        note: str = "",
        commit_message: str | None = None,
        pr_url: str | None = None,
    ) -> Submitted:
        """Submit a worker's branch for review; `commit_message` commits uncommitted changes."""
        from gitworker.workers.submit import Submission, submit

        with self._acting() as session:
            return submit(session, worker, Submission(note, commit_message, pr_url))

    def fail(self, worker: str, *, reason: str) -> Worker:
        """Record that a worker failed; branch and worktree stay until `reset`."""
        from gitworker.lifecycle.fail import fail

        with self._acting() as session:
            return fail(session, worker, reason=reason)

    def cancel(self, worker: str) -> FreedWorker:
        """Withdraw a worker's task; its work stays under a rescue ref."""
        from gitworker.workers.cancel import cancel

        with self._acting() as session:
            return cancel(session, worker)

    def reset(self, worker: str) -> FreedWorker:
        """Free a FAILED worker; its work stays under a rescue ref."""
        from gitworker.workers.cancel import reset

        with self._acting() as session:
            return reset(session, worker)

    # ------------------------------------------------------------------ review and landing
    def approve(self, workers: Sequence[str], *, note: str = "") -> list[Approved | NotApproved]:
        """Rebase workers' branches onto the target and approve them, each for itself."""
        from gitworker.workers.approve import approve_all

        with self._acting() as session:
            return approve_all(session, workers, note=note)

    def reject(self, worker: str, *, note: str) -> Worker:
        """Send a worker's branch back with a request."""
        from gitworker.workers.review import reject

        with self._acting() as session:
            return reject(session, worker, note=note)

    def merge(
        self, workers: Sequence[str] = (), *, everything: bool = False, keep: bool = False
    ) -> list[Landed | NotLanded]:
        """Land approved workers, or all of them; events report runs and results on the way."""
        from gitworker.landing.merge import merge

        with self._acting() as session:
            return merge(session, list(workers), everything=everything, keep=keep)

    def plan_merge(self, workers: Sequence[str] = (), *, everything: bool = False) -> list[Planned]:
        """Return the windows in which workers would land if all of them pass."""
        from gitworker.landing.landing_plan import plan

        with self._reading() as session:
            return plan(session, list(workers), everything=everything)

    def verify(self, worker: str, *, force: bool = False) -> Verdict:
        """Run the verify commands on a worker's branch, unless their verdict is known."""
        from gitworker.verify.verify_once import verify_once

        with self._acting() as session:
            found = self._worker(session, worker)
            commit = session.git.require_oid(found.ref, "branch")
            return verify_once(session, commit, label=found.worker_id, force=force)

    # ------------------------------------------------------------------ views
    def status(self) -> StatusScreen:
        """Return every worker on one screen."""
        from gitworker.observe.workers.status import read_status

        with self._reading_tips() as (session, tips):
            return read_status(session, tips, every_subject=True)

    def list_workers(self) -> WorkerList:
        """Return all workers by name."""
        from gitworker.observe.workers.list import read_list

        with self._reading() as session:
            return read_list(session)

    def show(self, worker: str) -> WorkerView:
        """Return everything about one worker, by its id, task or branch."""
        from gitworker.observe.workers.show import read_show

        with self._reading() as session:
            return read_show(session, self._worker(session, worker))

    def diff(self, worker: str, *, stat: bool = False) -> Diff:
        """Return the changes of a worker that would land, as git prints them."""
        from gitworker.observe.workers.diff import read_diff

        with self._reading() as session:
            found = self._worker(session, worker)
            return read_diff(session, found, stat=stat, color=False, width=None)

    def path(self, worker: str) -> WorktreePath:
        """Return the worktree of a worker."""
        from gitworker.observe.workers.path import read_path

        with self._reading() as session:
            return read_path(session, self._worker(session, worker))

    def log(self, worker: str | None = None, *, limit: int = 50) -> Log:
        """Return the last events, oldest first, of one worker or of all."""
        from gitworker.observe.logs.log import read_log

        with self._reading() as session:
            found = None if worker is None else self._worker(session, worker)
            return read_log(session, found, limit=limit)

    def agents(self, *, include_all: bool = False) -> AgentList:
        """Return the agents with their activity and progress."""
        from gitworker.observe.agents import read_agents

        with self._reading() as session:
            return read_agents(session, include_all=include_all)

    def queue(self) -> QueueStatus:
        """Return the landing queue: its order and the newest windows."""
        from gitworker import clock
        from gitworker.landing.queue_status import read_queue_status
        from gitworker.repo.plumbing.lock import is_held

        with self._reading() as session, session.store.read() as reader:
            return read_queue_status(reader, clock.now_ms(), is_running=is_held(session.queue_lock))

    def conflicts(self) -> RadarResult:
        """Return which active branches conflict with the target and with each other."""
        from gitworker.radar.radar import survey

        with self._reading() as session:
            return survey(session)

    def claims(self) -> list[Claim]:
        """Return all claims by name."""
        from gitworker.observe.claim_list import read_claims

        with self._reading() as session:
            return read_claims(session)

    def bus_stats(self) -> BusStats:
        """Return the size of the bus and the position of each reader."""
        from gitworker.observe.bus import read_stats

        with self._reading() as session:
            return read_stats(session)

    # ------------------------------------------------------------------ messages
    def send(
        self, type: str, payload: str | None = None, *, to: str | None = None, id: str | None = None
    ) -> str:
        """Send a message and return its id; `payload` is a JSON object as text."""
        from gitworker.bus.files.export import export_logs
        from gitworker.bus.following.bell import notify_followers
        from gitworker.bus.identity import find_worktree_task
        from gitworker.bus.limits.send_limits import load_limits
        from gitworker.bus.send import MessageDraft, send

        with self._acting() as session:
            limits = load_limits(session.paths, self._request.environment or {})
            sent = send(
                session.store, MessageDraft(type, payload, to=to, id=id), sender=session.actor,
                task=find_worktree_task(session.repository), blobs=session.paths.blobs,
                limits=limits,
            )  # fmt: skip
            try:
                export_logs(session.store, session.paths)
                notify_followers(session.paths.bell)
            except (OSError, GitWorkerError) as error:  # the message is durable already
                session.report(FilesOutdated(as_gitworker_error(error)))
        return sent

    def search(self, words: Sequence[str], *, limit: int = 20) -> list[SearchResult]:
        """Return the messages that hold all words, newest first."""
        from gitworker.bus.search.search_messages import search

        with self._quickly() as session:
            return search(session.store, session.paths, words, limit=limit)

    def follow(
        self, wanted: MessageFilter | None = None, *, since: int | None = None
    ) -> Iterator[dict[str, object]]:
        """Yield messages as they arrive, after position `since` or from now on."""
        from gitworker.bus.following.follow_messages import MessageFilter as Wanted
        from gitworker.bus.following.follow_messages import follow
        from gitworker.bus.following.listen import listen

        with self._reading() as session, listen(session) as waker:
            for message in follow(
                session.store, session.paths, wanted or Wanted(), since=since, waker=waker
            ):
                if message is not None:
                    yield message

    # ------------------------------------------------------------------ ways back and care
    def undo(self, number: int | None = None) -> Undone:
        """Undo the newest destructive operation, or the one with a number."""
        from gitworker.journal.undo.undo import undo

        with self._acting() as session:
            return undo(session, number)

    def undo_records(self, *, limit: int = 20) -> list[ListedRecord]:
        """Return the newest destructive operations, and whether each can be undone."""
        from gitworker.journal.undo.records import list_records

        with self._reading() as session:
            return list_records(session, limit=limit)

    def gc(self, *, days: int | None = None, dry_run: bool = False) -> CollectedItems:
        """Delete old rescue refs, removed worktrees and logs that nothing needs."""
        from gitworker.journal.gc.gc import gc, gc_request, preview_gc

        with self._acting() as session:
            wanted = gc_request(session, days=days)
            return preview_gc(session, wanted) if dry_run else gc(session, wanted)

    def doctor(self) -> Doctor:
        """Return every finding of the quick checks."""
        from gitworker.fsck.doctor import read_doctor

        with self._quickly() as session:
            return read_doctor(session)

    def fsck(self) -> FsckReport:
        """Return every finding of all checks; nothing is changed."""
        from gitworker.fsck.fsck import run_fsck

        with self._quickly() as session:
            return run_fsck(session)

    def repair(self) -> RepairReport:
        """Repair every finding that can be repaired without loss, then check again."""
        from gitworker.fsck.fsck import run_repair

        with self._quickly() as session:
            return run_repair(session)

    # ------------------------------------------------------------------ opening
    @contextmanager
    def _acting(self) -> Iterator[Session]:
        session = open_for_change(self._request)
        try:
            yield session
        finally:
            session.store.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._reading_tips() as (session, _):
            yield session

    @contextmanager
    def _reading_tips(self) -> Iterator[tuple[Session, dict[Ref, Oid]]]:
        session, tips = open_to_read(self._request)
        try:
            yield session, tips
        finally:
            session.store.close()

    @contextmanager
    def _quickly(self) -> Iterator[Session]:
        session = open_quickly(self._request)
        try:
            yield session
        finally:
            session.store.close()

    def _worker(self, session: Session, name: str) -> Worker:
        with session.store.read() as reader:
            return require_worker(reader, name, session)
