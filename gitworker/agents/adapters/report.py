"""The report of an ended run of a known agent: session, tokens, cost, failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.agents.adapters.rules_failure import Failure, failure_text

if TYPE_CHECKING:
    from gitworker.agents.adapters.agent_call import AgentCall
    from gitworker.agents.adapters.transcript import Transcript
    from gitworker.store.scheduling.usage import Usage

READ_S = 5.0  # for so long the rest of the output is read before the run counts as ended


class RunReport(NamedTuple):
    """The facts about a run; None means that the agent has not reported them."""

    agent: str
    session: str | None
    usage: Usage
    failure: Failure | None

    @property
    def failure_text(self) -> str:
        """Return the failure in words, "" without one."""
        if self.failure is None:
            return ""
        resets = self.failure.resets_at_ms
        return failure_text(self.failure, resets_at=clock.iso_utc(resets) if resets else None)


def report_of(transcript: Transcript, call: AgentCall) -> RunReport:
    """Return the report of an ended agent, once its output was read."""
    transcript.wait_end(READ_S)
    facts = transcript.facts
    return RunReport(
        call.adapter.name, facts.session or call.session, facts.usage, transcript.failure
    )
