"""Runs as stored: one row for each supervised agent, and a record of each one without supervisor.

On the hot path of `exec`: nothing heavy is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.model.ids import Origin
    from gitworker.store.api import Reader, Row, Writer


class Run:
    """One run; it is open until `ended_at_ms`. `why` is the recorded reason to end an orphan, and
    `pauses` whether its task is paused then.

    `log_start_bytes` is the size of the agent's log at its beginning, if that is known; `reason` is
    its failure in words. Only the newest run of a worker has these two.
    """

    __slots__ = (
        "boot_id", "command", "ended_at_ms", "host", "id", "log_start_bytes", "paused_at_ms",
        "pauses", "pid", "pid_ns", "pid_start", "reason", "started_at_ms", "supervisor_pid",
        "supervisor_start", "task_id", "why", "worker_id",
    )  # fmt: skip
    id: int
    worker_id: str
    task_id: str
    command: str
    supervisor_pid: int
    supervisor_start: str | None
    pid: int | None
    pid_start: str | None
    host: str | None
    boot_id: str | None
    pid_ns: str | None
    started_at_ms: int
    ended_at_ms: int | None
    paused_at_ms: int | None
    why: str | None
    pauses: int | None
    reason: str | None
    log_start_bytes: int | None

    def __init__(self, row: Row) -> None:
        for name in self.__slots__:
            setattr(self, name, row.get(name))


class Orphan:
    """The record of an agent without supervisor: the last order that was carried out, its end.

    `why` is the reason for which it is to end; empty if it is not.
    """

    __slots__ = ("after_seq", "kill_at_mono_ms", "why")

    def __init__(self, after_seq: int, kill_at_mono_ms: int | None, why: str) -> None:
        self.after_seq = after_seq
        self.kill_at_mono_ms = kill_at_mono_ms
        self.why = why


class StoredOrder:
    """A `cmd` message; if its payload is in a file, `payload_ref` names it."""

    __slots__ = ("from_agent", "id", "payload", "payload_ref", "seq")
    seq: int
    id: str
    from_agent: str
    payload: str | None
    payload_ref: str | None

    def __init__(self, row: Row) -> None:
        for name in self.__slots__:
            setattr(self, name, row[name])


def begin_run(
    writer: Writer,
    worker: str,
    task: str,
    *,
    command: str,
    supervisor: tuple[int, str | None],
    process: tuple[int, str | None],
    origin: Origin,
    now: int,
    request: str | None = None,
    log_start_bytes: int = 0,
) -> Run:
    """Record a new run with its two processes, each a pid and a start time; return it.

    `request` repeats the run, as JSON. `log_start_bytes` is the present size of the agent's log.
    """
    host, boot_id, pid_ns = origin
    row = writer.row(
        "runs.insert",
        worker=worker, task=task, command=command, supervisor_pid=supervisor[0],
        supervisor_start=supervisor[1], pid=process[0], pid_start=process[1], host=host,
        boot_id=boot_id, pid_ns=pid_ns, now=now, request=request, log_start_bytes=log_start_bytes,
    )  # fmt: skip
    assert row is not None
    return Run(row)


def end_run(writer: Writer, run: int, *, status: int | None, reason: str, now: int) -> bool:
    """Record the end of a run, and forget that it was an orphan; return False if it has ended."""
    if not writer.run("runs.end", run=run, now=now, exit_status=status, reason=reason):
        return False
    writer.run("orphans.forget", run=run)
    return True


def set_paused(writer: Writer, run: int, *, since_ms: int | None) -> None:
    """Record since when the agent is stopped; None if it is not."""
    writer.run("runs.set_paused", run=run, paused_at_ms=since_ms)


def open_runs(reader: Reader) -> list[Run]:
    """Return the runs that have not ended, oldest first."""
    return [Run(row) for row in reader.rows("runs.open")]


def find_latest_run(reader: Reader, worker: str) -> Run | None:
    """Return the newest run of a worker, or None."""
    row = reader.row("runs.latest", worker=worker)
    return None if row is None else Run(row)


def find_prompt(reader: Reader, task: str) -> str:
    """Return the words that a task gives its agent: the text, or else the title, then the rest.

    The answers to earlier questions are the end, so that another agent does not ask them again, and
    the files that the last attempt has not committed, for which it failed.
    """
    row = reader.row("tasks.text", task=task)
    if row is None:
        return ""
    lists = (
        row["acceptance_criteria"], row["test_commands"], row["attached_context"],
        row["answers"],
    )  # fmt: skip
    error = row["last_error"] or ""
    if lists == ("[]",) * 4 and not error:
        return str(row["description"] or row["title"])
    import json  # 5 ms with the next, only for a planned task

    from gitworker.store.records.rules_prompt import (
        answers_text,
        has_left_files,
        prompt_of,
        with_last_error,
    )

    criteria, tests, context, answers = map(json.loads, lists)
    prompt = prompt_of(
        row["title"], row["description"], criteria=criteria, tests=tests,
        context=[*context, *([answers_text(answers)] if answers else [])],
    )  # fmt: skip
    return with_last_error(prompt, error) if has_left_files(error) else prompt


def find_blocking_operation(reader: Reader, worker: str, task: str) -> str | None:
    """Return the kind of an open operation on a worker's task, except its setup, or None."""
    row = reader.row("runs.open_act", worker=worker, task=task)
    return None if row is None else str(row["kind"])


def orders_after(reader: Reader, worker: str, after: int, *, limit: int) -> list[StoredOrder]:
    """Return the orders to a worker's agent after a position, oldest first."""
    rows = reader.rows("runs.orders", worker=worker, after=after, limit=limit)
    return [StoredOrder(row) for row in rows]


def find_orphan(reader: Reader, run: int) -> Orphan | None:
    """Return the record of an agent without supervisor, or None."""
    row = reader.row("orphans.of_run", run=run)
    if row is None:
        return None
    return Orphan(row["after_seq"], row["kill_at_mono_ms"], row["why"])


def is_ordered_to_end(reader: Reader, run: Run) -> bool:
    """Return whether a run's agent was ordered to end: who gave the order records its end, too."""
    orphan = find_orphan(reader, run.id)
    return orphan is not None and orphan.why != ""


def claim_orphan(writer: Writer, run: int, *, after: int) -> bool:
    """Begin to attend to an orphan; return False if another process has begun."""
    return writer.run("orphans.claim", run=run, after=after) > 0


def find_start_message(reader: Reader, run: Run) -> int | None:
    """Return the position of the message that published the beginning of a run, or None."""
    row = reader.row(
        "orphans.began_at", worker=run.worker_id, started_at_ms=run.started_at_ms, run=run.id
    )
    return None if row is None else int(row["seq"])


def pass_order(writer: Writer, run: int, seq: int) -> bool:
    """Take an order for an orphan; return False if another process has carried it out."""
    return writer.run("orphans.pass_order", run=run, seq=seq) > 0


def record_stop(
    writer: Writer, run: int, *, why: str, kill_at_mono_ms: int | None, pauses: bool = False
) -> bool:
    """Record why an agent is to end and when it is killed; return False if it is to end already.

    `pauses`: its task is paused then, and not BLOCKED.
    """
    changed = writer.run(
        "orphans.stop", run=run, why=why, kill_at_mono_ms=kill_at_mono_ms, pauses=int(pauses)
    )
    return changed > 0


def put_off_kill(writer: Writer, run: int, *, now_mono_ms: int, again_mono_ms: int) -> bool:
    """Take a due kill and record when the next one is due; return False if none is due."""
    return writer.run("orphans.put_off_kill", run=run, now=now_mono_ms, again=again_mono_ms) > 0
