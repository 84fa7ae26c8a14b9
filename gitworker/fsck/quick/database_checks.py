"""Checks of the database, of the operations in its journal, and of the exported log."""

import os
from collections.abc import Iterator
from itertools import islice

from gitworker import clock
from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.observe.text import age_text, one_line
from gitworker.paths import open_regular
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.states.log.validate import iter_findings
from gitworker.store.operations import unfinished_operations
from gitworker.store.records.findings import find_damage, find_journal_mode, find_schema_version

SHOWN = 3
TRANSITIONS_LOG = "transitions.jsonl"


def check_database(session: Session) -> Iterator[Finding]:
    """Let SQLite search for damage, and report the schema and the journal mode."""
    with session.store.read() as reader:
        damage = find_damage(reader)
        version = find_schema_version(reader)
        journal = find_journal_mode(reader) or "unknown"
    if damage:
        yield fail(
            "database", f"{session.paths.database} is damaged: {one_line(damage[0])}",
            f"keep a copy of {session.paths.root}, then: sqlite3 bus.db .recover",
        )  # fmt: skip
    else:
        yield ok("database", f"sound, schema {version or 'unknown'}")
    if journal == "wal":
        yield ok("journal", "write-ahead log")
    else:
        yield fail("journal", f"the journal mode is {journal}, not wal", "git worker init")


def check_operations(session: Session) -> Iterator[Finding]:
    """Report interrupted operations."""
    with session.store.read() as reader:
        unfinished = unfinished_operations(reader)
    now = clock.now_ms()
    for one in unfinished:
        age = age_text(max(0, now - one.updated_at_ms))
        yield warn(
            "operations", f"{one.kind} of {one.worker_id} has been at step {one.step} for {age}",
            "git worker recover",
        )  # fmt: skip
    if not unfinished:
        yield ok("operations", "no interrupted operations")


def check_log(session: Session) -> Iterator[Finding]:
    """Validate the exported log; an incomplete last line is skipped."""
    path = f"{session.paths.root}/{TRANSITIONS_LOG}"
    if not os.path.exists(path):
        yield ok("log", f"no {TRANSITIONS_LOG} yet")
        return
    with open(path, encoding="utf-8", errors="replace", opener=open_regular) as file:
        complete = (line for line in file if line.endswith("\n"))
        broken = list(islice(iter_findings(complete), SHOWN))
    for one in broken:
        yield fail(
            "log",
            f"line {one.line_number} of {TRANSITIONS_LOG} violates {one.rule}: {one.message}",
            f"git worker validate {quoted(path)}",
        )  # fmt: skip
    if not broken:
        yield ok("log", f"{TRANSITIONS_LOG} follows every rule")
