"""The chores of a run beside its tasks: automations, and the final validations of workstreams.

In a fleet, also the verification of what other machines are about to land. Each runs in a process
of its own, so that agents start meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.automations.fire import fire_due, next_wake_ms
from gitworker.fleet.verify_offered import find_wanted
from gitworker.model.ids import ORCHESTRATOR, VERIFIER
from gitworker.orchestrator.jobs.output_job import CommandJob
from gitworker.progress import Notice
from gitworker.store.planning.workstreams import open_branches
from gitworker.workstreams.attend import attend

if TYPE_CHECKING:
    from gitworker.fleet.verify_offered import Prefix
    from gitworker.session import Session


class Chores:
    """The chores of one run; what must survive it is in the database."""

    __slots__ = (
        "_automations", "_lands", "_offered", "_offers", "_session", "_starts", "_tried",
        "_validations",
    )  # fmt: skip

    def __init__(self, session: Session, *, lands: bool) -> None:
        self._session = session
        self._starts = True
        self._lands = lands  # else the branches of workstreams wait for a person
        self._tried: set[str] = set()  # validations that could not be carried out in this run
        self._validations: dict[str, CommandJob] = {}
        self._automations: dict[str, CommandJob] = {}
        self._offered: set[Prefix] = set()  # prefixes of other machines' windows that were tried
        self._offers: dict[str, CommandJob] = {}

    @property
    def jobs(self) -> tuple[CommandJob, ...]:
        """Return the chores that run, for whose end the run waits."""
        every = (self._validations, self._automations, self._offers)
        return tuple(job for jobs in every for job in jobs.values())

    @property
    def wake_at_ms(self) -> int | None:
        """Return the time of the next automation; None without one, or if none may start."""
        return next_wake_ms(self._session) if self._starts else None

    def tick(self, *, starts: bool) -> None:
        """Take the results of ended chores and start those that are due."""
        self._starts = starts
        ends = (
            (self._validations, _validated), (self._automations, _automated),
            (self._offers, _verified),
        )  # fmt: skip
        for jobs, text in ends:
            for name, job in list(jobs.items()):
                if job.has_ended():
                    del jobs[name]
                    self._say(text(name, job.document()))
        due = attend(self._session)
        self._tried.intersection_update(due)  # again after a task that repairs a branch
        with self._session.store.read() as reader:
            held = () if self._lands else open_branches(reader).values()
        for name in due:
            if starts and name not in self._tried and name not in held:
                self._tried.add(name)
                self._validations[name] = CommandJob(
                    self._session.main_top, VERIFIER, "workstream", "validate", name
                )
                self._say(f"validating workstream {name}")
        for one in fire_due(self._session) if starts else ():
            words = ("automation", "run", one.automation, "--run", one.run)
            job = CommandJob(self._session.main_top, ORCHESTRATOR, *words)
            self._automations[one.automation] = job
            self._say(f"running automation {one.automation}")
        if starts and self._lands and not self._offers:
            self._verify_offered()

    def _verify_offered(self) -> None:
        """Verify what other machines of the fleet want verified; try each prefix once."""
        wanted = set(find_wanted(self._session)) - self._offered
        if wanted:
            self._offered |= wanted
            job = CommandJob(self._session.main_top, ORCHESTRATOR, "verify", "--fleet")
            self._offers["fleet"] = job
            self._say("verifying what other machines are about to land")

    def _say(self, text: str) -> None:
        self._session.report(Notice(text))


def _validated(name: str, found: dict[str, object]) -> str:
    """Return the outcome of a validation in one line."""
    if "state" not in found:
        return f"workstream {name} could not be validated: {_error(found)}"
    return f"workstream {name} is {found['state']}{_why(found.get('error'))}"


def _automated(name: str, found: dict[str, object]) -> str:
    """Return the outcome of an automation in one line."""
    if "status" not in found:
        return f"automation {name} could not run: {_error(found)}"
    return f"automation {name} {found['status']}{_why(found.get('skipped_reason'))}"


def _verified(_: str, found: dict[str, object]) -> str:
    """Return the verdicts on other machines' windows in one line."""
    verdicts = found.get("verified")
    if not isinstance(verdicts, list):
        return f"nothing could be verified for other machines: {_error(found)}"
    return f"verdicts for other machines: {len(verdicts)}"


def _error(found: dict[str, object]) -> str:
    error = found.get("error")
    return str(error.get("message")) if isinstance(error, dict) else "it was interrupted"


def _why(reason: object) -> str:
    return f": {reason}" if reason else ""
