"""The methods of the service for a board of workers and its details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from gitworker.observe.logs.running_verify import RunningVerify
    from gitworker.observe.logs.verify_output import VerifyOutput
    from gitworker.observe.queue.worker_facts import CardFacts
    from gitworker.observe.timeline.timeline import Timeline


class Reader(NamedTuple):
    """The caller: its identity, git's user.name, the repository's directory and the target."""

    identity: str
    person: str
    directory: str
    target: str


def json_reader(reader: Reader) -> dict[str, Any]:
    """Return the caller as JSON data."""
    return reader._asdict()


class BoardMethods(ServiceBase):
    """A board and its details; see `WorkMethods` for the imports."""

    def reader(self) -> Reader:
        """Return the caller, as which changes are recorded."""
        with self._quickly() as session:
            person = session.git_config.get("user.name", "")
            return Reader(session.actor, person, session.main_top, session.target_name)

    def worker_facts(self) -> dict[str, CardFacts]:
        """Return project, workstream, agent, tokens and cost of each worker that has a task."""
        from gitworker.observe.queue.worker_facts import read_worker_facts

        with self._quickly() as session:
            return read_worker_facts(session)

    def verify_output(self, commit: str) -> VerifyOutput:
        """Return the newest verdict on a commit, with the last lines of its log.

        Raises NotFound for a commit without a verdict.
        """
        from gitworker.observe.logs.verify_output import read_verify_output

        with self._quickly() as session:
            return read_verify_output(session, commit)

    def running_verifications(self, *, lines: int = 200) -> list[RunningVerify]:
        """Return the verify commands that run now, the newest first, with their last lines."""
        from gitworker.observe.logs.running_verify import read_running

        with self._quickly() as session:
            return read_running(session, lines=lines)

    def timeline(self, *, hours: int = 24, by: str = "agent") -> Timeline:
        """Return the runs, reviews and landings of the last hours, and the use of tokens.

        Tokens are counted by `agent` or `project`. Raises Invalid for another `by`, and for more
        hours than a month has.
        """
        from gitworker.observe.timeline.timeline import read_timeline

        with self._quickly() as session:
            return read_timeline(session, hours, by)
