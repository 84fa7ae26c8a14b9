"""The methods of the service for talking: the inbox, waiting, notes and orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.model.message import MessageType
from gitworker.progress import Notice
from gitworker.service.messages import MessageMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitworker.observe.inbox.inbox import Inbox
    from gitworker.workers.wait import Waited

NOTE = "x-note"
COUNTED = 1000  # items in the inbox


class Order(NamedTuple):
    """A `cmd` message to a worker's agent; `has_agent`: a supervisor will carry it out.

    Without `id` nothing was sent, because the agent has ended; `was_rebooted`: with an earlier boot
    of this machine. `next` is the command that shows the effect, or that helps.
    """

    id: str | None
    worker: str
    command: str
    has_agent: bool
    next: str
    was_rebooted: bool = False

    def text(self, verb: str) -> str:
        """Return the recipient, or why nothing was sent, and the next command."""
        result = f"sent {verb} to the agent of {self.worker}"
        if self.was_rebooted:
            ended = "was a process of an earlier boot of this machine"
            result = f"the agent of {self.worker} {ended}, so nothing was sent"
        elif self.id is None:
            result = f"no agent of {self.worker} is running, so nothing was sent"
        return f"{result}; next: {self.next}"


class TalkMethods(MessageMethods):
    """The inbox of the caller, and messages to one worker."""

    def inbox(
        self,
        *,
        wait_s: float = 0.0,
        limit: int | None = None,
        also: Mapping[int, int] | None = None,
    ) -> Inbox:
        """Return the things that need the caller, waiting up to `wait_s` seconds for the first.

        They are at most `limit`, or 50. `ack` with the position `upto` acknowledges a worker's
        messages; nothing is acknowledged here. `also` is for the command line: descriptors that end
        the wait.
        """
        from gitworker.observe.inbox.read_inbox import read_inbox

        with self._reading() as session:
            inbox = read_inbox(session, limit=limit)
            if inbox.has_news or wait_s <= 0:
                return inbox
            from gitworker.workers.wait import moments

            for _ in moments(session, wait_s, also=also):
                inbox = read_inbox(session, limit=limit)
                if inbox.has_news:
                    break
            return inbox

    def count_inbox(self) -> int:
        """Return the number of things in the caller's inbox, at most COUNTED; settle nothing."""
        from gitworker.observe.inbox.read_inbox import read_inbox

        with self._quickly() as session:
            return len(read_inbox(session, limit=COUNTED).items)

    def wait(
        self,
        worker: str | None = None,
        goal: str | None = None,
        *,
        timeout_s: float | None = None,
        also: Mapping[int, int] | None = None,
    ) -> Waited:
        """Return as soon as a worker has reached a state, has a `verdict`, or has `landed`.

        Without a goal, as soon as it is no longer at work. Raises Refused (`timeout`) after
        `timeout_s` seconds, and Refused if it can no longer reach the goal.
        """
        from gitworker.workers.wait import wait_for

        with self._reading() as session:
            found = self._worker(session, worker)
            return wait_for(session, found, goal, timeout_s=timeout_s, also=also)

    def send_note(self, to: str, text: str, *, reply_to: str | None = None) -> str:
        """Send a text to a worker, an agent or `hq`; return the message's id.

        `reply_to` is the id or the position of the message that it answers.
        """
        from gitworker.bus.publish import json_text

        if reply_to is not None:
            reply_to = self.message(reply_to)["id"]
        return self.send(
            NOTE, json_text({"text": self._without_secrets(text)}), to=to, reply_to=reply_to
        )

    def ask_agent(
        self, to: str, text: str, *, timeout_s: float, check: Callable[[], object]
    ) -> dict[str, Any]:
        """Ask a worker or another agent a question and return the reply, as `request` does."""
        from gitworker.bus.publish import json_text

        payload = json_text({"text": self._without_secrets(text)})
        return self.request(MessageType.QUESTION, payload, to=to, timeout_s=timeout_s, check=check)

    def send_status(self, phase: str, *, progress: float | None = None) -> str:
        """Publish the step that the caller is at, in a few words; return the message's id."""
        from gitworker.bus.publish import json_text

        payload: dict[str, Any] = {"phase": self._without_secrets(phase)}
        if progress is not None:
            payload["progress"] = progress
        return self.send(MessageType.STATUS, json_text(payload))

    def heartbeat(
        self, *, status: str | None = None, progress: float | None = None, pid: int | None = None
    ) -> str:
        """Send a heartbeat of the caller's worker and return its id; take interrupted work up.

        `status` is working, idle or blocked, `progress` a number from 0 to 1; None keeps the last
        value. With `pid` an ASSIGNED worker starts, by that process. Raises Conflict
        (`claim_lost`), after the heartbeat, if the worker lost a claim.
        """
        from gitworker.bus.heartbeat_message import (
            HeartbeatReport,
            require_claims_kept,
            send_heartbeat,
        )
        from gitworker.lifecycle.rules_take_up import has_not_started
        from gitworker.lifecycle.take_up import lease_of, take_up_by_heartbeat

        sign = HeartbeatReport(status, None, progress)
        with self._quickly() as session:
            worker = self._worker(session, None)
            name, paths = worker.worker_id, session.paths
            if send_heartbeat(
                session.store, paths, worker=name, sign=sign, lease_ms=lease_of(session)
            ):
                self._publish_files(session)
            take_up_by_heartbeat(session, worker)
            if pid is not None and has_not_started(worker.state):
                from gitworker.workers.start import start

                start(session, name, pid=pid)
            require_claims_kept(session.store, name)
            return name

    def order(self, worker: str, command: str, *, reason: str = "") -> Order:
        """Send a worker's agent the command stop, pause or resume."""
        from gitworker.agents.rules_run import next_after_order
        from gitworker.bus.publish import json_text
        from gitworker.bus.send import MessageDraft
        from gitworker.liveness.supervised_agent import (
            ended_by_reboot,
            has_run_to_its_end,
            may_be_resumed,
            presumed_for_ms,
        )
        from gitworker.model.message import STOP
        from gitworker.observe.workers.rules_worker import is_free
        from gitworker.store.records.runs import find_latest_run

        reason = self._without_secrets(reason)
        payload = {"command": command, **({"reason": reason} if reason else {})}
        with self._acting() as session:
            found = self._worker(session, worker)
            name = found.worker_id
            with session.store.read() as reader:
                run = find_latest_run(reader, name)
                presumed_ms = presumed_for_ms(reader, session.paths, run)
            has_agent = run is not None and run.ended_at_ms is None
            process = run if run is not None and has_agent else found
            was_rebooted = ended_by_reboot(session.paths, process)
            has_ended = was_rebooted or is_free(found.state)
            has_ended |= has_run_to_its_end(run, task=found.task_id, pid=found.pid)
            follow = next_after_order(
                name, command, found.state, stale_from=found.stale_from, has_ended=has_ended,
                presumed_for_ms=presumed_ms if has_agent and was_rebooted else 0,
            )  # fmt: skip
            waits = (  # its supervisor would start the agent again
                command == STOP and not was_rebooted and run is not None
                and run.task_id == found.task_id and may_be_resumed(run)
            )  # fmt: skip
            if has_ended and not waits:
                return Order(None, name, command, False, follow, was_rebooted)
            if not (has_agent or waits):
                text = f"no supervisor of {name} is running: its agent reads this in its inbox"
                session.report(Notice(text))
            draft = MessageDraft(MessageType.CMD, json_text(payload), to=name)
            return Order(self._send(session, draft), name, command, has_agent or waits, follow)
