"""The files of a workstream: its graph and its plan while it is open, its archive after the end."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.files.state_file_heartbeat import replace_text
from gitworker.observe.workstreams import json_workstream, read_line
from gitworker.store.planning.workstreams import members_of, workstream_steps
from gitworker.store.records.task_needs import all_needs
from gitworker.tasks.queue.join import require_workstream
from gitworker.workstreams.rules_workstream import dag_document, execution_stages, plan_text

if TYPE_CHECKING:
    from gitworker.session import Session

DAG, PLAN = "dag.json", "plan.md"


def directory_of(session: Session, name: str) -> str:
    """Return the directory of a workstream's files."""
    return f"{session.paths.root}/workstreams/{name}"


def archive_of(session: Session, name: str) -> str:
    """Return the path of a workstream's archive."""
    return f"{session.paths.archive}/workstream-{name}.json"


def write_files(session: Session, name: str) -> None:
    """Write the graph of the tasks and the execution plan."""
    with session.store.read() as reader:
        stored = require_workstream(reader, name)
        members, needs = members_of(reader, name), all_needs(reader)
    place = directory_of(session, name)
    os.makedirs(place, mode=0o700, exist_ok=True)
    _write(f"{place}/{DAG}", dag_document(name, members, needs))
    stages = execution_stages(members, needs)
    replace_text(f"{place}/{PLAN}", plan_text(name, stored.title, stages, stored.validation))


def write_archive(session: Session, name: str) -> str:
    """Write the archive of an ended workstream; return its path."""
    with session.store.read() as reader:
        stored = require_workstream(reader, name)
        members, needs = members_of(reader, name), all_needs(reader)
        line = read_line(reader, stored, clock.now_ms())
        steps = workstream_steps(reader, name)
    document = {
        "schema": 1, **json_workstream(line), "dag": dag_document(name, members, needs),
        "members": [
            {
                "task": one.id, "title": one.title, "status": one.status.value,
                "critical": one.critical, "retries": one.retry_count, "error": one.last_error,
            }
            for one in members
        ],
        "transitions": [
            {**step._asdict(), "at": clock.iso_utc(step.ts_ms)} for step in steps
        ],
    }  # fmt: skip
    path = archive_of(session, name)
    os.makedirs(session.paths.archive, mode=0o700, exist_ok=True)
    _write(path, document)
    return path


def _write(path: str, document: object) -> None:
    replace_text(path, json.dumps(document, indent=2) + "\n")
