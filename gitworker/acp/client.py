"""Our side of the protocol: permission requests by policy, and the agent's updates as events."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from acp import RequestError
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from gitworker.acp.rules_permission import (
    ALLOW,
    ASK,
    Option,
    choose,
    decide,
    known_paths,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from acp.schema import PermissionOption, ToolCallUpdate

    from gitworker.acp.worker_side import Desk

    InThread = Callable[[Callable[[], Any]], Awaitable[Any]]

WORKING, BLOCKED = "working", "blocked"


class Stopped(Exception):
    """The run was stopped while a person was asked."""


class WorkerClient:
    """Answers an agent's requests; `emit` gets each event, `in_thread` runs what may wait.

    A denied request, or one that waits for a person, shows the worker as blocked, until the agent
    completes a tool call.
    """

    def __init__(
        self,
        desk: Desk,
        policy: Mapping[str, str],
        *,
        emit: Callable[[dict[str, Any]], None],
        in_thread: InThread,
    ) -> None:
        self.is_silent = False  # while the agent repeats an old session
        self._stop = threading.Event()
        self.desk = desk
        self._policy = policy
        self._emit = emit
        self._in_thread = in_thread
        self._root = os.path.realpath(os.getcwd())
        self._is_blocked = False

    def stop(self) -> None:
        """End the wait for a person."""
        self._stop.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Answer by the policy; ask `hq` if it says so."""
        call = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        title = title_of(call)
        inside = [self._is_inside(path) for path in known_paths(call)]
        decision = decide(call.get("kind"), inside, self._policy)
        if decision != ALLOW:
            self._emit({"type": "permission", "decision": decision, "title": title})
            await self._in_thread(lambda: self._show_blocked(decision, title))
        is_allowed = decision == ALLOW
        if decision == ASK:
            is_allowed = await self._in_thread(lambda: self._ask(title))
        offered = [Option(one.option_id, one.kind) for one in options]
        chosen = choose(offered, allowed=is_allowed)
        if chosen is None or self._stop.is_set():
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen)
        )

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Pass an update on, unless it repeats an old session."""
        found = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        if not self.is_silent:
            self._emit({"type": "update", "update": found})
        if self._is_blocked and found.get("status") == "completed":
            self._is_blocked = False
            await self._in_thread(lambda: self.desk.set_status(WORKING))

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse a method that is not in the protocol."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore a notification that is not in the protocol."""

    def _is_inside(self, path: str) -> bool:
        found = os.path.realpath(os.path.join(self._root, path))
        return found == self._root or found.startswith(f"{self._root}/")

    def _show_blocked(self, decision: str, title: str) -> None:
        self._is_blocked = True
        self.desk.set_status(BLOCKED)
        if decision != ASK:
            self.desk.warn(f"denied: {title}")

    def _ask(self, title: str) -> bool:
        def check() -> None:
            if self._stop.is_set():
                raise Stopped

        try:
            return self.desk.ask(f"may the agent do this: {title}", check)
        except Stopped:
            return False
