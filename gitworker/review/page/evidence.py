"""The evidence beside a diff: verify runs, conflicts, uncommitted files, overlapping claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.claims import rules_claim as claim_rules
from gitworker.claims.leases import path_claims_of_others
from gitworker.errors import GitWorkerError
from gitworker.observe.logs.tail import last_lines
from gitworker.radar.radar import survey
from gitworker.repo.status.checkout_status import read_status
from gitworker.repo.worktrees.ownership import is_present, owner_of
from gitworker.store.commits.verify_runs import VerifyRun, find_verify_run_of_commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.ids import Oid
    from gitworker.session import Session
    from gitworker.store.workers import Worker

TAIL_LINES = 12


class VerifyEvidence(NamedTuple):
    """One run of the verify commands; `tail` is the end of its log, empty if it passed."""

    run: VerifyRun
    tail: tuple[str, ...]


class Meeting(NamedTuple):
    """A conflict with the target or another worker's branch."""

    name: str
    files: tuple[str, ...]


class ClaimOverlap(NamedTuple):
    """A path of the change that another worker has claimed."""

    holder: str
    claim: str
    path: str


class Evidence(NamedTuple):
    """The facts beside a diff. `commands` are the verify commands of the target.

    `missing` explains evidence that could not be read.
    """

    commands: tuple[str, ...]
    runs: tuple[VerifyEvidence, ...]
    conflicts: tuple[Meeting, ...]
    uncommitted: tuple[str, ...]
    claims: tuple[ClaimOverlap, ...]
    missing: tuple[str, ...]

    def no_run(self, worker: str) -> str:
        """Return why there is no verify run, with the command that starts one."""
        if not self.commands:
            return "no verify commands are set"
        return f"no verify run on this commit: git worker verify {worker}"


def read_evidence(
    session: Session, worker: Worker, commits: Sequence[Oid], paths: Sequence[str]
) -> Evidence:
    """Return the evidence on a worker's change; `commits` are the tips that may be verified."""
    missing: list[str] = []
    with session.store.read() as reader:
        runs = [find_verify_run_of_commit(reader, oid) for oid in dict.fromkeys(commits)]
        claims = path_claims_of_others(reader, worker.worker_id)
    return Evidence(
        session.settings.verify_commands,
        tuple(_with_tail(one) for one in runs if one is not None),
        _conflicts(session, worker, missing),
        _uncommitted(session, worker, missing),
        tuple(
            ClaimOverlap(claim.holder, claim.name, path)
            for claim in claims
            for path in paths
            if claim_rules.conflict(claim.name, f"{claim_rules.PATH}{path}")
        ),
        tuple(missing),
    )


def _with_tail(run: VerifyRun) -> VerifyEvidence:
    lines = last_lines(run.log, TAIL_LINES)[0] if run.log and run.verdict != "passed" else []
    return VerifyEvidence(run, tuple(lines))


def _conflicts(session: Session, worker: Worker, missing: list[str]) -> tuple[Meeting, ...]:
    if worker.branch is None:
        return ()
    try:
        found = survey(session, chosen={worker.ref})
    except GitWorkerError as error:
        missing.append(f"conflicts are not known: {error.message}")
        return ()
    return tuple(
        Meeting((pair.other if pair.one.ref == worker.ref else pair.one).name, pair.files or ())
        for pair in found.conflicts
    )


def _uncommitted(session: Session, worker: Worker, missing: list[str]) -> tuple[str, ...]:
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not is_present(owner):
        return ()
    try:
        status = read_status(session.git.at(owner.place))
    except GitWorkerError as error:
        missing.append(f"uncommitted files are not known: {error.message}")
        return ()
    return (*status.paths, *status.untracked_paths)
