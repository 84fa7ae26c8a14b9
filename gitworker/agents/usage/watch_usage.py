"""Record the tokens of a running agent, so that budgets and screens count them at once."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.store.scheduling.starts import find_spent
from gitworker.store.scheduling.usage import RunOwner, Usage, record_usage

if TYPE_CHECKING:
    from gitworker.agents.adapters.transcript import Transcript
    from gitworker.agents.launch import AgentRun, LaunchContext


class UsageWatch:
    """Record each report of tokens of a run; `spent` is called by its supervisor's loop.

    A report wakes the loop by SIGCHLD, which is harmless without an ended child.
    """

    def __init__(
        self, post: LaunchContext, run: AgentRun, transcript: Transcript, *, agent: str
    ) -> None:
        self._store = post.store
        self._run = run
        self._owner = RunOwner(run.worker, run.task, agent)
        self._facts = transcript.facts
        self._recorded = Usage()
        transcript.on_usage = lambda: os.kill(os.getpid(), signal.SIGCHLD)

    def spent(self) -> str:
        """Record the tokens that are new; return that the task has used its budget, or ""."""
        usage = self._facts.usage
        if usage == self._recorded or usage.tokens < self._recorded.tokens:
            return ""
        run = self._run
        try:
            with self._store.write(durable=False) as writer:
                record_usage(writer, run.id, usage, self._owner, now=clock.now_ms())
                found = find_spent(writer, run.task)
        except GitWorkerError:  # a busy or missing database: the next look tries again
            return ""
        self._recorded = usage
        return "" if found is None else found.words
