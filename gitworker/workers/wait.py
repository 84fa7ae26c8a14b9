"""Wait until a worker reaches a state, gets a verdict, or has landed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.following.listen import listen
from gitworker.bus.following.message_fields import message_fields
from gitworker.journal.settle import settle
from gitworker.lifecycle.moves import find_waiting
from gitworker.liveness.supervised_agent import has_run_to_its_end, may_be_resumed
from gitworker.model.message import MessageType
from gitworker.model.run_outcome import BUDGET
from gitworker.model.worker import WorkerState
from gitworker.observe.inbox.mail import message_item
from gitworker.observe.usage_limit import find_limit
from gitworker.observe.workers.rules_worker import is_taken
from gitworker.progress import Notice
from gitworker.states.worker_machine import state_words
from gitworker.store.attention.questions import find_question, unanswered_questions
from gitworker.store.messages.inboxes import newest_verdict, unanswered_messages
from gitworker.store.records.landings import find_landing
from gitworker.store.records.runs import find_latest_run
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, load_worker
from gitworker.workers.rules_wait import (
    ENDED,
    REST,
    Need,
    Question,
    WorkerFacts,
    is_at_work,
    is_reached,
    need_of,
    notice_of,
    parse_goal,
    timeout_error,
    wait_refusal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.runs import Run
    from gitworker.store.tasks import StoredTask

MESSAGES_READ = 200  # of the caller's unanswered ones
SETTLE_EVERY_S = 10.0  # overdue workers are recorded by commands only, and this one is running
LOOK_EVERY_S = 2.0  # the end of a supervisor is not published


class Waited(NamedTuple):
    """The worker at the end of a wait; `verdict` is the payload of the last verdict, if any.

    `agent_ended`: it is still at work, but its supervised agent has ended.
    """

    worker: str
    task: str | None
    state: WorkerState
    verdict: Mapping[str, Any] | None
    has_landed: bool
    agent_ended: bool = False
    stale_from: WorkerState | None = None
    waits_for_author: bool = False

    @property
    def in_words(self) -> str:
        """Return the worker with its state in words: "auth is in review"."""
        words = state_words(self.state, self.stale_from, waits_for_author=self.waits_for_author)
        return f"{self.worker} {words}"


def wait_for(
    session: Session,
    worker: Worker,
    goal: str | None,
    *,
    timeout_s: float | None = None,
    also: Mapping[int, int] | None = None,
) -> Waited:
    """Return as soon as the worker reaches the goal, which may be now.

    `goal` is a state, `verdict` (on the last hand-in) or `landed`; None waits until the worker is
    no longer at work. Raises Refused (`timeout`) after `timeout_s` seconds, and Refused if it
    cannot reach the goal: it failed, lost its task, or its agent ended (`agent_ended`) before it
    handed anything in. An agent that is paused or asks is reported. `also`: see `moments`.
    """
    chosen = REST if goal is None else parse_goal(goal)
    first: WorkerFacts | None = None
    noticed = ""
    for _ in moments(session, timeout_s, also=also, every_s=LOOK_EVERY_S):
        facts, waited = _read(session, worker)
        if is_reached(chosen, facts):
            return waited
        first = first or facts
        refusal = wait_refusal(chosen, first, facts)
        if refusal is not None:
            raise refusal
        if (notice := notice_of(facts)) and notice != noticed:
            session.report(Notice(notice))
        noticed = notice
    raise timeout_error(chosen, facts, timeout_s or 0)


def moments(
    session: Session,
    timeout_s: float | None,
    *,
    also: Mapping[int, int] | None = None,
    every_s: float = SETTLE_EVERY_S,
) -> Iterator[None]:
    """Yield now, after each change on the bus, and after `every_s` seconds without one.

    It ends when the time is over (None: never). Overdue workers are recorded meanwhile. `also` maps
    descriptors to poll(2) events; raises BrokenPipeError if one is ready, since it is the closed
    output.
    """
    until = math.inf if timeout_s is None else clock.monotonic_ms() + timeout_s * 1000
    settled_at = clock.monotonic_ms()
    with listen(session) as waker:
        while True:
            yield
            left_s = (until - clock.monotonic_ms()) / 1000
            if left_s <= 0:
                return
            pause_s = min(left_s, every_s)
            end = clock.monotonic_ms() + pause_s * 1000
            if not waker.wait(pause_s, also=also) and clock.monotonic_ms() < end:
                raise BrokenPipeError
            if clock.monotonic_ms() - settled_at >= SETTLE_EVERY_S * 1000:
                settle(session)
                settled_at = clock.monotonic_ms()


def _read(session: Session, worker: Worker) -> tuple[WorkerFacts, Waited]:
    with session.store.read() as reader:
        found = load_worker(reader, worker.worker_id)
        verdict = newest_verdict(reader, found.worker_id, found.task_id)
        has_landed = find_landing(reader, found.worker_id, found.task_id) is not None
        run = find_latest_run(reader, found.worker_id)
        task = None if found.task_id is None else find_task(reader, found.task_id)
        need = _find_need(session, reader, found, task=task, run=run)
        waiting = find_waiting(session, reader, found)
    facts = WorkerFacts(
        found.worker_id, found.state, found.task_id, found.last_error,
        waits_for_author=found.waits_for_author, has_verdict=verdict is not None,
        has_landed=has_landed, stale_from=found.stale_from,
        agent_ended=_has_ended(run, found), is_unchanged=_is_unchanged(run, found),
        need=need, waiting=waiting,
        is_taken=task is not None
        and (is_taken(found.worker_id, task.assigned_agent_id) or task.status in ENDED),
    )  # fmt: skip
    payload = message_fields(verdict, blobs=session.paths.blobs)["payload"] if verdict else None
    shown = payload if isinstance(payload, dict) else None
    return facts, Waited(
        found.worker_id,
        found.task_id,
        found.state,
        shown,
        has_landed,
        agent_ended=facts.is_left,
        stale_from=found.stale_from,
        waits_for_author=found.waits_for_author,
    )


def _find_need(
    session: Session, reader: Reader, worker: Worker, *, task: StoredTask | None, run: Run | None
) -> Need | None:
    """Return the thing for which the agent of a worker at work waits, or None."""
    if not is_at_work(worker.state, stale_from=worker.stale_from):
        return None
    status = task.status if task else None
    limit = find_limit(reader, worker, status)
    if limit is not None and limit.code == BUDGET:
        return Need(f"has no tokens left: {limit.words}", "continue it", limit.command)
    return need_of(
        worker.worker_id, status, limit=limit.words if limit else None,
        question=_find_question(session, reader, worker),
        is_paused=run is not None and run.paused_at_ms is not None,
    )  # fmt: skip


def _find_question(session: Session, reader: Reader, worker: Worker) -> Question | None:
    """Return the oldest question of a worker to the caller that is not answered yet."""
    for message in unanswered_messages(reader, session.actor, limit=MESSAGES_READ):
        is_own = (message.from_agent, message.correlation_id) == (worker.worker_id, worker.task_id)
        if is_own and message.type == MessageType.QUESTION:
            item = message_item(message, blobs=session.paths.blobs)
            asked = find_question(reader, message.id)
            command = item.command
            if asked is not None:
                command = f"git worker reply {worker.worker_id} <text>"
                if len(unanswered_questions(reader, worker.worker_id)) > 1:
                    command = f"git worker reply -q {asked.id} {worker.worker_id} <text>"
            return Question(item.text, str(command))
    return None


def _has_ended(run: Run | None, worker: Worker) -> bool:
    """Return whether the worker's supervised agent has ended, and no supervisor can resume it."""
    has_ended = has_run_to_its_end(run, task=worker.task_id, pid=worker.pid)
    return run is not None and has_ended and not may_be_resumed(run)


def _is_unchanged(run: Run | None, worker: Worker) -> bool:
    """Return whether a worker's state has not changed since the end of its agent."""
    ended_at_ms = run.ended_at_ms if run else None
    return ended_at_ms is not None and worker.state_changed_at_ms <= ended_at_ms
