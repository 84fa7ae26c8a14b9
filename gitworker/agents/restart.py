"""The command that takes up the work of an ended agent: that of the last run of its task."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from gitworker.agents.rounds.return_prompt import find_return_prompt
from gitworker.agents.rules_run import command_text, may_restart
from gitworker.liveness.processes import find_calling_agent
from gitworker.liveness.readings import process_runs, this_moment
from gitworker.store.attention.questions import answers_of, unanswered_questions
from gitworker.store.records.rules_prompt import answers_text
from gitworker.store.records.run_results import find_run_request, find_run_result

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


CONTINUED = (
    "Continue your task. `git worker show` prints its state and `git worker inbox` its messages."
)


class Restart(NamedTuple):
    """The words of a command, whether it ran detached, and its time limit.

    The words are the options of a known `agent`, which continues its session if it `has_session`.
    `returned` is the prompt if its work was sent back and is unchanged; `round` counts the rounds
    with this one, without repetitions after a failure.
    """

    words: list[str]
    is_detached: bool
    time_limit_s: float | None
    agent: str | None = None
    has_session: bool = False
    returned: str | None = None
    auto_resume: bool | None = None
    round: int = 0
    answers: str | None = None

    @property
    def prompt(self) -> str | None:
        """Return the prompt for an agent that goes on; None for one that begins again."""
        words = f"{self.answers}\n\n{CONTINUED}" if self.answers else CONTINUED
        return self.returned or (words if self.has_session else None)

    @property
    def text(self) -> str:
        """Return the command line for a reader."""
        return command_text([*(["--agent", self.agent] if self.agent else []), *self.words])


def find_restart(session: Session, worker: Worker) -> Restart | None:
    """Return the last command of a worker's task, if another than the worker asks and it has ended.

    None also while a process works as the worker; the caller's own shell does not count as one.
    """
    if session.actor == worker.worker_id:
        return None
    if not may_restart(worker.state, stale_from=worker.stale_from):
        return None
    if process_runs(worker, this_moment(), session.paths) and not _is_ours(worker):
        return None
    with session.store.read() as reader:
        text = find_run_request(reader, worker.worker_id, worker.task_id)
        last = find_run_result(reader, worker.worker_id, worker.task_id)
    if text is None:
        return None
    fields = json.loads(text)
    agent = fields.get("agent")
    returned = find_return_prompt(session, worker) if agent else None
    return Restart(
        fields["words"], fields["detached"], fields["time_limit_s"], agent,
        has_session=last is not None and last.session is not None, returned=returned,
        auto_resume=fields.get("auto_resume"),
        round=fields.get("round", 0) + (returned is not None and worker.waits_for_author),
        answers=read_answers(session, worker),
    )  # fmt: skip


def read_answers(session: Session, worker: Worker) -> str | None:
    """Return the answers to the questions of a worker's task, for an agent that continues it.

    A question that has timed out is named, too. None if there is neither.
    """
    with session.store.read() as reader:
        answers = answers_of(reader, worker.task)
        late = unanswered_questions(reader, worker.task)
    parts = [answers_text(answers)] if answers else []
    parts += [f"No answer came in time, so decide yourself: {one.text}" for one in late]
    return "\n".join(parts) or None


def _is_ours(worker: Worker) -> bool:
    """Return whether the worker is bound to our caller, such as the shell of `hq`."""
    caller = find_calling_agent()
    return caller is not None and (caller.pid, caller.start) == (worker.pid, worker.pid_start)
