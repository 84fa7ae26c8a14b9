"""The end of an agent: submit the work, fail the task, or leave the worker to a person; publish."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gitworker import clock
from gitworker.agents.adapters.report import RunReport
from gitworker.agents.adapters.rules_failure import Failure
from gitworker.agents.adapters.tool_uses import ToolUses, publish_tool_uses
from gitworker.agents.launch import AgentRun
from gitworker.agents.rounds.rules_rounds import pause_s
from gitworker.agents.rules_run import clipped, is_stale, may_end, reason_of, shell_status
from gitworker.errors import BUSY, LOST, Conflict, GitWorkerError, Refused, Unavailable
from gitworker.lifecycle.fail import fail, pause, recover, stop
from gitworker.lifecycle.rules import is_unanswered, needs_no_heartbeat
from gitworker.lifecycle.runs import record_end
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.processes import find_calling_agent
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon
from gitworker.model.run_outcome import OF_STATE, Outcome, RunOutcome
from gitworker.observe.usage_limit import limit_text
from gitworker.repo.plumbing.refs import find_tip
from gitworker.session import Session
from gitworker.store.records.run_results import RunReportRow, count_runs, record_report
from gitworker.store.scheduling.starts import find_spent
from gitworker.store.scheduling.usage import RunOwner, record_usage
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker, set_process
from gitworker.workers.submit import EMPTY_BRANCH, Submission, submit

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
PASSING = frozenset({BUSY, LOST})  # the codes after which a step of the end is repeated
PAUSE_S = 0.2


class Ending:
    """How an agent ended: its code (negative: the signal), and the reason if it was stopped.

    `is_late`: the time limit stopped it; `pauses`: a budget did. `report`: the facts that a known
    agent has reported, `tools` its last tool calls.
    """

    __slots__ = ("code", "is_late", "pauses", "report", "tools", "why")

    def __init__(
        self, code: int, *, why: str = "", is_late: bool = False, pauses: bool = False
    ) -> None:
        self.code = code
        self.why = why
        self.is_late = is_late
        self.pauses = pauses
        self.report: RunReport | None = None
        self.tools: ToolUses | None = None

    @property
    def reason(self) -> str:
        """Return the failure in words, "" on success; that of a known agent if it reported one."""
        by_status = reason_of(self.code)
        reported = self.report.failure_text if by_status and self.report else ""
        return clipped(self.why or reported or by_status)


def finish(session: Session, run: AgentRun, ending: Ending, *, is_attended: bool) -> Outcome:
    """Record the end of a run and its consequences for the worker; return them.

    Status 0 submits the work if there are commits and no uncommitted changes, and others than those
    that were sent back; otherwise the worker remains WORKING, so that a person can look. Any other
    end fails the task, which is tried again; a limit of the model's vendor pauses it instead. A
    stop by an order or the time limit blocks the task until it is resumed or assigned, a stop by a
    budget pauses it. A worker
    whose state the agent or a person has changed meanwhile is left alone, and so is one whose task
    is paused or waits for an answer, or whose work was sent back to its author. If the caller has a
    terminal with a keyboard (`is_attended`), a worker that remains WORKING is bound to the caller's
    process, as after `start`. A step is repeated while the database is busy, and if the connection
    to a fleet was lost.
    """
    outcome = _repeated(lambda: _settle_worker(session, run, ending))
    _repeated(lambda: _record(session, run, ending, outcome))
    if is_attended:
        _repeated(lambda: _bind_to_caller(session, run))
    publish_views(session, run.worker)
    return outcome


def _repeated(step: Callable[[], T]) -> T:
    """Run a step until the database is free and the fleet answers."""
    while True:
        try:
            return step()
        except Conflict as error:
            if error.code not in PASSING:
                raise
        clock.sleep(PAUSE_S)


def _record(session: Session, run: AgentRun, ending: Ending, outcome: Outcome) -> None:
    duration_ms = max(0, clock.monotonic_ms() - run.started_mono_ms)
    with session.store.write() as writer:
        if ending.tools is not None:
            publish_tool_uses(writer, ending.tools, worker=run.worker, task=run.task, run=run.id)
        if ending.report is not None:
            owner = RunOwner(run.worker, run.task, ending.report.agent)
            record_usage(writer, run.id, ending.report.usage, owner, now=clock.now_ms())
        record_report(writer, run.id, _report(outcome, ending.report))
        record_end(
            writer, run.record, status=shell_status(ending.code), reason=ending.reason,
            duration_ms=duration_ms, outcome=outcome.kind,
        )  # fmt: skip


def _report(outcome: Outcome, report: RunReport | None) -> RunReportRow:
    """Return the outcome and the report of a run as they are stored."""
    if report is None:
        return RunReportRow(outcome=outcome.kind)
    failure = report.failure
    return RunReportRow(
        outcome=outcome.kind, agent=report.agent, session=report.session,
        **report.usage._asdict(), failure=failure.kind if failure else None,
        resets_at_ms=failure.resets_at_ms if failure else None,
    )  # fmt: skip


def _settle_worker(session: Session, run: AgentRun, ending: Ending) -> Outcome:
    reason = ending.reason
    as_worker = session._replace(actor=run.worker)
    try:
        worker = _read_worker(session, run)
        is_ours = worker.task_id == run.task and worker.pid == run.pid
        if not may_end(worker.state, is_ours=is_ours):
            kind = OF_STATE.get(worker.state, RunOutcome.TAKEN_AWAY)
            return Outcome(kind, worker.in_words)
        still = _still(worker)
        if ending.why and not ending.pauses:
            stopped = stop(as_worker, run.worker, reason=reason, is_late=ending.is_late)
            kind = RunOutcome.TIMED_OUT if ending.is_late else RunOutcome.STOPPED
            return Outcome(kind, f"{stopped.in_words}: {reason}")
        if worker.waits_for_author:
            return Outcome(RunOutcome.SENT_BACK, f"{still}: its work was sent back")
        if _waits(session, run):
            text = f"{still}: {run.task} is paused or waits for an answer"
            return Outcome(RunOutcome.WAITING, text)
        if is_stale(worker.state):
            recover(as_worker, run.worker)
        if ending.pauses:
            return _pause(as_worker, run, reason)
        if reason:
            return _fail(as_worker, run, ending, reason)
        tip = find_tip(session.git, session.repository.common_dir, worker.ref)
        if is_unanswered(worker.returned_by, worker.returned_tip, tip):
            text = f"{still}: nothing was committed since its work was sent back"
            return Outcome(RunOutcome.SENT_BACK, text)
        return _hand_in(as_worker, run, ending)
    except GitWorkerError as error:  # another operation is in progress
        if error.code in PASSING:
            raise
        hint = f"\nhint: {error.hint}" if error.hint else ""
        if error.code == EMPTY_BRANCH:
            hint = (
                f"\nhint: git worker resume {run.worker}   # or, if the task needs no change:"
                f" git worker cancel {run.worker}"
            )
        text = f"{_still(_read_worker(session, run))}: {error.message}{hint}"
        return Outcome(RunOutcome.NOTHING, text)
    except OSError as error:  # a view could not be written; the end of the run is still recorded
        worker = _read_worker(session, run)
        kind = OF_STATE.get(worker.state, RunOutcome.NOTHING)
        return Outcome(kind, f"{worker.in_words}: {error}")


def _still(worker: Worker) -> str:
    return worker.in_words.replace(" is ", " is still ", 1)


def _hand_in(session: Session, run: AgentRun, ending: Ending) -> Outcome:
    """Submit the work of an agent that ended well.

    Some agents end with 0 after an error: if there is nothing to submit, a reported failure counts.
    """
    try:
        done = submit(session, run.worker, Submission())
    except Refused:
        reported = clipped(ending.report.failure_text) if ending.report else ""
        if not reported:
            raise
        return _fail(session, run, ending, reported)
    return Outcome(RunOutcome.HANDED_IN, f"{done.worker.in_words} at {done.commit[:10]}")


def _fail(session: Session, run: AgentRun, ending: Ending, reason: str) -> Outcome:
    """Fail the worker; if its model's vendor has a limit, pause its task instead."""
    report = ending.report
    if report is not None and report.failure is not None and report.failure.is_limit:
        limit = report.failure
        worker = pause(session, run.worker, until_ms=_limit_end(session, run, limit))
        words = limit_text(limit.kind, report.agent, limit.resets_at_ms)
        text = f"{worker.in_words} and waits: {words}"
        return Outcome(RunOutcome.WAITING, f"{text}\nhint: git worker resume {run.worker}")
    if report is not None and report.failure is not None and report.failure.is_budget:
        return _pause(session, run, reason)
    has_no_access = report is not None and report.failure is not None and report.failure.is_access
    failed = fail(
        session, run.worker, reason=reason, agent_ending="ERROR" if has_no_access else None
    )
    return Outcome(RunOutcome.FAILED, f"{failed.in_words}: {reason}")


def _pause(session: Session, run: AgentRun, reason: str) -> Outcome:
    """Pause the task of a worker whose agent a budget has stopped; its work stays as it is.

    It may continue at any time: the budget decides.
    """
    worker = pause(session, run.worker, until_ms=clock.now_ms())
    with session.store.read() as reader:
        spent = find_spent(reader, run.task)
    command = spent.command if spent else f"git worker resume {run.worker}"
    text = f"{worker.in_words} and waits: {reason}\nhint: {command}"
    return Outcome(RunOutcome.OUT_OF_BUDGET, text)


def _limit_end(session: Session, run: AgentRun, limit: Failure) -> int:
    """Return the time at which a paused task may continue."""
    with session.store.read() as reader:
        tries = count_runs(reader, run.worker, run.task).limits + 1
    now = clock.now_ms()
    return now + int(pause_s(limit.kind, limit.resets_at_ms, tries=tries, now=now) * 1000)


def _bind_to_caller(session: Session, run: AgentRun) -> None:
    """Bind a worker that is still WORKING to the caller's process and keep its heartbeat alive."""
    worker = _read_worker(session, run)
    caller = find_calling_agent()
    if caller is None or not may_end(worker.state, is_ours=worker.pid == run.pid):
        return
    with session.store.write() as writer:
        set_process(writer, run.worker, pid=caller.pid, start=caller.start, origin=this_origin())
    ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)


def _waits(session: Session, run: AgentRun) -> bool:
    """Return True if the task is paused or waits for an answer: its agent may end meanwhile."""
    with session.store.read() as reader:
        task = find_task(reader, run.task)
    return task is not None and needs_no_heartbeat(task.status)


def _read_worker(session: Session, run: AgentRun) -> Worker:
    with session.store.read() as reader:
        worker = find_worker(reader, run.worker)
    if worker is None:  # the state directory was replaced by another
        raise Unavailable(f"worker {run.worker} is not known here any more")
    return worker
