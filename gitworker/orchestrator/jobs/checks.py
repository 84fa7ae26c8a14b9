"""The checks of handed-in work in a run: the tests of a task, then an agent that verifies it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.bus.limits.rules_secrets import redacted
from gitworker.errors import GitWorkerError
from gitworker.model.ids import VERIFIER
from gitworker.orchestrator.carry_out import require_start, wished_agent
from gitworker.orchestrator.jobs.check_job import CheckJob
from gitworker.orchestrator.jobs.qa_job import QaJob
from gitworker.orchestrator.rules_next import PASSING, Action, Step
from gitworker.progress import Notice
from gitworker.review.comments.send import reject

if TYPE_CHECKING:
    from gitworker.orchestrator.carry_out import AgentCommand
    from gitworker.orchestrator.facts import Slot
    from gitworker.orchestrator.jobs.refusals import Refusals
    from gitworker.orchestrator.spending import Spending
    from gitworker.session import Session


class Checks:
    """The running checks by worker, and the results of those that have ended.

    `tested` are the workers whose tests passed, with the version of the row; `verified` those with
    a verdict of an agent (False: none that counts).
    """

    __slots__ = ("_command", "_refusals", "_session", "_spending", "running", "tested", "verified")

    def __init__(
        self, session: Session, command: AgentCommand, *, refusals: Refusals, spending: Spending
    ) -> None:
        self._session = session
        self._command = command
        self._refusals = refusals
        self._spending = spending
        self.running: dict[str, CheckJob | QaJob] = {}
        self.tested: dict[str, int] = {}
        self.verified: dict[str, tuple[int, bool]] = {}

    def begin(self, slot: Slot) -> bool:
        """Start the tests of a task, or after them the agent that is to verify it.

        Returns False if that agent cannot start now, but later, for example at a limit of agents.
        """
        if slot.facts.has_tests:
            self._begin_tests(slot)
            return True
        return self._begin_agent(slot)

    def take_ended(self) -> None:
        """Take the results of ended checks; a failure goes back to the author with its output."""
        for worker, job in list(self.running.items()):
            if not job.has_ended():
                continue
            del self.running[worker]
            failure = self._verdict(worker, job) if isinstance(job, QaJob) else job.failure
            if failure is not None:
                self._send_back(worker, failure)
            elif isinstance(job, CheckJob):
                self.tested[worker] = job.version

    def _begin_tests(self, slot: Slot) -> None:
        worker = slot.worker
        try:
            job = CheckJob(self._session, worker, slot.test_commands)
        except GitWorkerError as error:
            self._refusals.add(worker, error.message)
            self._say(f"{worker.task} could not be tested: {error.message}")
            return
        self.running[worker.worker_id] = job
        self._say(f"testing {worker.task} ({worker.worker_id})")

    def _begin_agent(self, slot: Slot) -> bool:
        worker, task = slot.worker, slot.worker.task
        try:
            command = wished_agent(self._session, self._command, task, worker=worker.worker_id)
            check = Action(Step.CHECK, worker.worker_id, task)
            require_start(self._session, command, check, slot)
            job = QaJob(self._session, worker, command.name, command.words)
        except GitWorkerError as error:
            if error.code in PASSING:
                return False
            self.verified[worker.worker_id] = (worker.version, False)
            self._say(f"{task} could not be verified: {error.message}")
            return True
        self.running[worker.worker_id] = job
        self._say(f"another agent verifies {task} ({worker.worker_id})")
        return True

    def _verdict(self, worker: str, job: QaJob) -> str | None:
        """Record the verdict of an agent; return the reason for which it rejected the work."""
        verdict = job.verdict()
        self._spending.add(job.agent, job.usage)
        self.verified[worker] = (job.version, verdict is not None)
        if verdict is None:
            self._say(f"{worker} has no valid verdict, so its work waits for a person: {job.flaw}")
        if verdict is None or verdict.is_passed:
            return None
        return verdict.note or "the agent that verified the work rejected it"

    def _send_back(self, worker: str, note: str) -> None:
        try:
            reject(self._session._replace(actor=VERIFIER), worker, note=redacted(note))
        except GitWorkerError as error:  # a person was faster, or the work has changed
            self._say(f"{worker} could not be sent back: {error.message}")

    def _say(self, text: str) -> None:
        self._session.report(Notice(text))
