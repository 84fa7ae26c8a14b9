"""The worker's side of a run by ACP: its unread messages, its questions, its status."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gitworker.acp.rules_permission import is_yes
from gitworker.agents.rounds.rules_rounds import SENT_BACK
from gitworker.errors import GitWorkerError
from gitworker.model.message import MessageType
from gitworker.observe.inbox.rules_messages import rest_command
from gitworker.service.service import open_repository

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.observe.inbox.inbox import InboxItem

ASK_S = 7 * 24 * 3600.0
# The prompt has the task, and the supervisor carries out orders.
NOT_FOR_THE_AGENT = frozenset({MessageType.TASK_ASSIGN, MessageType.CMD})


class Desk:
    """The repository in the name of one worker; a busy bus never ends the run.

    `prompt` is that of the run: the messages that it repeats are no news.
    """

    def __init__(self, directory: str, worker: str, prompt: str) -> None:
        self._left_out = NOT_FOR_THE_AGENT
        if SENT_BACK in prompt:
            self._left_out |= {MessageType.REVIEW_RESULT}
        self._answers: set[int] = set()  # to our questions
        self._prompted = 0  # up to this message, also if it could not be acknowledged
        self._service = open_repository(directory, identity=worker, environment=os.environ)

    def mail(self) -> tuple[str, int | None]:
        """Return the unread messages as a prompt ("" without any), and the position to `ack`."""
        try:
            inbox = self._service.inbox()
        except (GitWorkerError, OSError):
            return "", None
        shown = [one for one in inbox.items if self._is_news(one)]
        self._prompted = inbox.upto or self._prompted
        return "\n".join(line for item in shown for line in _lines(item)), inbox.upto

    def ack(self, upto: int | None) -> None:
        """Acknowledge the messages up to a position."""
        if upto is not None:
            self._try(lambda: self._service.ack(upto))

    def set_status(self, status: str) -> None:
        """Report the status `working` or `blocked` with a heartbeat."""
        self._try(lambda: self._service.heartbeat(status=status))

    def warn(self, text: str) -> None:
        """Publish a warning about the agent."""
        payload = {"level": "warn", "event": "permission", "message": text}
        self._try(lambda: self._service.send(MessageType.LOG, json.dumps(payload)))

    def ask(self, text: str, check: Callable[[], object]) -> bool:
        """Ask `hq`, wait for the answer, and return whether it is yes.

        `check` is called every two seconds, and may raise to end the wait.
        """
        payload = json.dumps({"text": f"{text}? (yes or no)"})
        try:
            answer = self._service.request(
                MessageType.QUESTION, payload, to="hq", timeout_s=ASK_S, check=check
            )
        except (GitWorkerError, OSError):
            return False
        self._answers.add(answer["seq"])
        return is_yes(answer["payload"])

    def _is_news(self, item: InboxItem) -> bool:
        if item.seq is None or item.seq <= self._prompted:
            return False
        return item.kind not in self._left_out and item.seq not in self._answers

    @staticmethod
    def _try(call: Callable[[], object]) -> None:
        try:
            call()
        except (GitWorkerError, OSError):
            return


def _lines(item: InboxItem) -> list[str]:
    head = f"#{item.seq} {item.kind} from {item.source}"
    text = f"{head}: {item.text}" if item.text else head
    commands = (rest_command(item.text, item.seq), item.command)
    return [text, *(f"    {one}" for one in commands if one)]
