"""workstream list and show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.ref_names import short_name
from gitworker.observe.text import NOTHING, age_text, field_lines, table
from gitworker.observe.workstreams import (
    WorkstreamLine,
    json_workstream,
    next_command,
    read_line,
    read_workstreams,
    render_workstreams,
)
from gitworker.store.planning.workstreams import members_of
from gitworker.tasks.queue.join import require_workstream
from gitworker.workstreams.files import archive_of, directory_of

if TYPE_CHECKING:
    from gitworker.model.workstream import Member
    from gitworker.session import Session
    from gitworker.store.planning.workstreams import Workstream

HEAD = ("TASK", "STATUS", "CRITICAL", "RETRIES", "WORKER", "NEWS")


class WorkstreamList(NamedTuple):
    """All workstreams, oldest first."""

    lines: tuple[WorkstreamLine, ...]


class WorkstreamView(NamedTuple):
    """One workstream with its tasks, and the place of its files."""

    line: WorkstreamLine
    members: tuple[Member, ...]
    files: str


def read_list(session: Session, *, every: bool = True) -> WorkstreamList:
    """Read the workstreams; without `every` those that are not archived."""
    with session.store.read() as reader:
        return WorkstreamList(read_workstreams(reader, clock.now_ms(), every=every))


def read_view(session: Session, name: str) -> WorkstreamView:
    """Read one workstream; raise NotFound for an unknown one."""
    with session.store.read() as reader:
        stored = require_workstream(reader, name)
        line = read_line(reader, stored, clock.now_ms())
        members = tuple(members_of(reader, name))
    is_archived = stored.archived_at_ms is not None
    files = archive_of(session, name) if is_archived else directory_of(session, name)
    return WorkstreamView(line, members, files)


def render_list(found: WorkstreamList, *, width: int | None, color: bool) -> str:
    """Return one row for each workstream."""
    return render_workstreams(found.lines, width=width, color=color)


def json_list(found: WorkstreamList) -> dict[str, Any]:
    """Return the workstreams as JSON data."""
    return {"workstreams": [json_workstream(line) for line in found.lines]}


def render_view(found: WorkstreamView, *, width: int | None, color: bool) -> str:
    """Return the facts of a workstream, then its tasks."""
    line, stored = found.line, found.line.stored
    done, kept = line.done_of
    facts = [
        ("workstream", f"{stored.id}  {stored.title}".rstrip()),
        ("state", stored.state.value),
        ("error", stored.last_error),
        ("done", f"{done} of {kept}"),
        ("time", NOTHING if line.running_ms is None else age_text(line.running_ms)),
        ("retries", str(line.retries)),
        ("tokens", str(line.tokens)),
        *(("validate", one) for one in stored.validation),
        ("branch", _branch(stored)),
        ("files", found.files),
        ("next", next_command(line) or ""),
    ]
    shown = field_lines(facts)
    if not found.members:
        return "\n".join(shown)
    rows = [
        (
            one.id, one.status.value, "yes" if one.critical else "no", str(one.retry_count),
            one.assigned_agent_id or NOTHING, one.last_error or one.title,
        )
        for one in found.members
    ]  # fmt: skip
    return "\n".join([*shown, "", *table(HEAD, rows, width=width, color=color)])


def _branch(stored: Workstream) -> str:
    """Return the branch on which the tasks land, and whether it has landed itself."""
    if stored.branch is None:
        return ""
    name = short_name(stored.branch)
    if stored.landed_oid is not None:
        return f"{name}, landed as {stored.landed_oid[:12]}"
    return f"{name}, lands as a whole after the final validation"


def json_view(found: WorkstreamView) -> dict[str, Any]:
    """Return a workstream with its tasks as JSON data."""
    return {
        **json_workstream(found.line), "files": found.files,
        "members": [
            {
                "task": one.id, "title": one.title, "status": one.status.value,
                "critical": one.critical, "retries": one.retry_count,
                "worker": one.assigned_agent_id, "error": one.last_error,
            }
            for one in found.members
        ],
    }  # fmt: skip
