"""Ended runs of the verify commands, and the commands that a person has trusted."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Row, Store, Writer


class VerifyRun(NamedTuple):
    """One run on a commit's tree; `verdict` is `passed` or `failed`. Times in milliseconds."""

    key: str
    tree_oid: str
    commit_oid: str
    verdict: str
    flaky: bool
    reason: str
    log: str
    duration_ms: int
    ts_ms: int


class VerifiedCommit(NamedTuple):
    """A verdict of the verify commands on a commit."""

    commit_oid: Oid
    verdict: str
    reason: str
    log: str
    ts_ms: int

    @property
    def has_failed(self) -> bool:
        """Return whether the commands failed."""
        return self.verdict == "failed"


class TrustedCommands(NamedTuple):
    """Trusted commands with their environment, by whom and since when."""

    hash: str
    kind: str
    commands: tuple[str, ...]
    env: tuple[str, ...]
    trusted_by: str
    ts_ms: int


def find_verify_run(reader: Reader, key: str, *, actors: Sequence[str]) -> VerifyRun | None:
    """Return the newest run with a key that one of these actors started, or None."""
    return _run(reader.row("verify.latest_of_key", key=key, actors=json.dumps(actors)))


def find_verify_run_of_commit(reader: Reader, commit: str) -> VerifyRun | None:
    """Return the newest run on a commit, or None."""
    return _run(reader.row("verify.latest_of_commit", commit_oid=commit))


def read_verified_commits(reader: Reader, commits: Iterable[Oid]) -> dict[Oid, VerifiedCommit]:
    """Return the newest run of the verify commands on each commit that has one."""
    rows = reader.rows("verify.of_commits", commits=json.dumps(sorted(commits)))
    return {Oid(row["commit_oid"]): VerifiedCommit(**row) for row in rows}


def find_failure_of_worker(reader: Reader, worker: str, *, since_ms: int) -> VerifiedCommit | None:
    """Return the newest failed run for which a worker's work was sent back, or None."""
    row = reader.row("verify.failure_of_worker", worker=worker, since=since_ms)
    return None if row is None else VerifiedCommit(**row)


def record_verify_run(writer: Writer, run: VerifyRun, *, actor: str) -> None:
    """Insert a run that has ended."""
    values = run._asdict()
    values["now"] = values.pop("ts_ms")
    values["flaky"] = int(run.flaky)
    writer.run("verify.record", actor=actor, **values)


def is_trusted(reader: Reader, hash: str) -> bool:
    """Return whether a person has trusted the commands with this hash."""
    return reader.row("verify.trusted", hash=hash) is not None


def all_trusted(reader: Reader) -> list[TrustedCommands]:
    """Return the trusted commands, newest first."""
    found = []
    for row in reader.rows("verify.all_trusted"):
        text = json.loads(row["commands"])
        values = dict(row, commands=tuple(text["commands"]), env=tuple(text["env"]))
        found.append(TrustedCommands(**values))
    return found


def add_trusted(writer: Writer, trusted: TrustedCommands) -> None:
    """Record that commands are trusted; a recorded trust stays."""
    writer.run(
        "verify.trust",
        hash=trusted.hash, kind=trusted.kind, by=trusted.trusted_by, now=trusted.ts_ms,
        commands=json.dumps({"commands": trusted.commands, "env": trusted.env}),
    )  # fmt: skip


def remove_trusted(store: Store, hash: str) -> None:
    """Delete the trust in commands."""
    store.write_one("verify.revoke", hash=hash)


def _run(row: Row | None) -> VerifyRun | None:
    if row is None:
        return None
    values = dict(row)
    values["flaky"] = bool(values["flaky"])
    return VerifyRun(**values)
