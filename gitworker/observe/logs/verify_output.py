"""The output of the verify commands on a commit, as far as its log still exists."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import NotFound
from gitworker.model.ids import Oid
from gitworker.observe.logs.rules_screen import rendered
from gitworker.observe.logs.tail import last_lines
from gitworker.observe.workers.verified import json_verified
from gitworker.store.commits.verify_runs import VerifiedCommit, read_verified_commits

if TYPE_CHECKING:
    from gitworker.session import Session

LINES_SHOWN = 200
CHARACTERS_SHOWN = 1 << 16


class VerifyOutput(NamedTuple):
    """The newest verdict on a commit, and the last lines of its log as a terminal shows them."""

    verified: VerifiedCommit
    lines: tuple[str, ...]


def read_verify_output(session: Session, commit: str) -> VerifyOutput:
    """Read the output by a whole commit id; raise NotFound for a commit without a verdict."""
    with session.store.read() as reader:
        found = read_verified_commits(reader, {Oid(commit)}).get(Oid(commit))
    if found is None:
        raise NotFound(f"no verdict on commit {commit[:10]} is recorded")
    lines: list[str] = []
    root = os.path.realpath(session.paths.root)
    path = os.path.realpath(found.log) if found.log else ""
    if path.startswith(f"{root}/"):  # the path is from the database, which other programs write
        lines, _ = last_lines(path, LINES_SHOWN)
    return VerifyOutput(found, tuple(rendered("\n".join(lines)[-CHARACTERS_SHOWN:])))


def json_verify_output(output: VerifyOutput) -> dict[str, Any]:
    """Return a verdict and its output as JSON data."""
    return {"verified": json_verified(output.verified), "lines": list(output.lines)}
