"""The methods of the service for messages and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.progress import FilesOutdated, Notice
from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.bus.search.search_messages import SearchResult
    from gitworker.claims.leases import Claim
    from gitworker.observe.bus import BusStats
    from gitworker.session import Session

ANNOUNCE_FROM = 50_000  # this many messages take a second to index
COMMAND_TYPE = "cmd"


class MessageMethods(ServiceBase):
    """Messages and claims of the caller's identity; see `WorkMethods` for the imports."""

    def send(
        self,
        type: str,
        payload: str | None = None,
        *,
        to: str | None = None,
        id: str | None = None,
        subject: str | None = None,
        reply_to: str | None = None,
    ) -> str:
        """Send a message and return its id; `payload` is a JSON object as text.

        `subject` is by default the worktree's task, `reply_to` the id of another message. Raises
        Conflict (`back_pressure`) with `wait_ms` if a limit blocks the message.
        """
        from gitworker.bus.send import MessageDraft

        draft = MessageDraft(
            type, payload, to=to, id=id, correlation_id=subject, in_reply_to=reply_to
        )
        with self._acting() as session:
            return self._send(session, draft)

    def request(
        self,
        type: str,
        payload: str | None = None,
        *,
        to: str,
        timeout_s: float = 60.0,
        id: str | None = None,
        subject: str | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        """Send a message and return its reply; raise Conflict (`timeout`) without one in time.

        `check` is called every two seconds meanwhile, and may raise to end the wait.
        """
        from gitworker.bus.following.listen import listen
        from gitworker.bus.request import wait_reply
        from gitworker.bus.send import MessageDraft
        from gitworker.lifecycle.take_up import publish_commits

        draft = MessageDraft(type, payload, to=to, id=id, correlation_id=subject)
        with self._acting() as session, listen(session, publish_commits) as waker:
            asked = self._send(session, draft)
            return wait_reply(
                session.store, session.paths, waker, asked, agent=session.actor,
                timeout_s=timeout_s, check=check,
            )  # fmt: skip

    def poll(self, *, limit: int = 100) -> list[dict[str, Any]]:
        """Return the caller's unread messages, oldest first; `ack` acknowledges them."""
        import json

        from gitworker.bus.consume import full_line, unread

        with self._quickly() as session:
            rows = unread(session.store, session.actor, limit=limit)
            blobs = session.paths.blobs
            return [json.loads(full_line(session.store, row, blobs=blobs)) for row in rows]

    def ack(self, seq: int) -> str:
        """Acknowledge the caller's messages up to a position; return the caller's name."""
        from gitworker.bus.consume import acknowledge, require_position

        with self._quickly() as session:
            require_position(session.store, seq)
            acknowledge(session.store, session.actor, seq)
            return session.actor

    def message(self, name: str) -> dict[str, Any]:
        """Return a message by its position or id."""
        from gitworker.bus.search.lookup import require_message

        with self._quickly() as session:
            return require_message(session.store, name, blobs=session.paths.blobs)

    def search(self, words: Sequence[str], *, limit: int = 20) -> list[SearchResult]:
        """Return the messages that contain all words, newest first."""
        from gitworker.bus.search.search_messages import search

        def announce(number: int) -> None:
            if number >= ANNOUNCE_FROM:
                self._request.report(Notice(f"indexing {number} messages first…"))

        with self._quickly() as session:
            return search(session.store, session.paths, words, limit=limit, announce=announce)

    def bus_stats(self) -> BusStats:
        """Return the size of the bus and the position of each reader."""
        from gitworker.observe.bus import read_stats

        with self._quickly() as session:
            return read_stats(session)

    def claims(self) -> list[Claim]:
        """Return all claims by name."""
        from gitworker.observe.claim_list import read_claims

        with self._quickly() as session:
            return read_claims(session)

    def take_claim(self, name: str, *, ttl_s: float | None = None, wait_s: float = 0) -> Claim:
        """Take a claim for `ttl_s` seconds, waiting `wait_s` at most.

        `name` is a task, `path:PATTERN` or KIND:ANYTHING. Raises Conflict if it is taken.
        """
        from gitworker.claims.holder import claims_of

        with self._acting() as session:
            claim = claims_of(session).take(name, ttl_s=ttl_s, wait_s=wait_s)
            self._publish_files(session)
            return claim

    def renew_claim(
        self, name: str, *, epoch: int | None = None, ttl_s: float | None = None
    ) -> Claim:
        """Extend a claim; raise Conflict if it is lost. `hq` must name the epoch."""
        from gitworker.claims.holder import claims_of, require_epoch

        with self._quickly() as session:
            require_epoch(session, "renew", name, epoch)
            return claims_of(session).renew(name, epoch=epoch, ttl_s=ttl_s)

    def release_claim(self, name: str, *, epoch: int | None = None) -> str:
        """Release a claim and return its holder; raise Conflict if it is lost."""
        from gitworker.claims.holder import claims_of, require_epoch

        with self._quickly() as session:
            require_epoch(session, "release", name, epoch)
            claims_of(session).release(name, epoch=epoch)
            return session.actor

    def _send(self, session: Session, draft: Any) -> str:
        from gitworker.bus.caller.identity import find_worktree_task
        from gitworker.bus.limits.send_limits import limits_of
        from gitworker.bus.send import send
        from gitworker.liveness.start_daemon import ensure_orphans_attended

        message_id = send(
            session.store, draft, sender=session.actor, limits=limits_of(session.settings),
            task=find_worktree_task(session.repository), blobs=session.paths.blobs,
        )  # fmt: skip
        self._publish_files(session)
        if draft.type == COMMAND_TYPE:
            ensure_orphans_attended(session.store, session.paths)
        return message_id

    @staticmethod
    def _publish_files(session: Session) -> None:
        """Update the log files and wake the followers; the database is durable already."""
        from gitworker.bus.files.export import export_logs
        from gitworker.bus.following.notify_followers import notify_followers

        try:
            export_logs(session.store, session.paths)
            notify_followers(session.paths.bell)
        except (OSError, GitWorkerError) as error:
            session.report(FilesOutdated(as_gitworker_error(error)))
