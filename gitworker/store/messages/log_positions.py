"""How far the log files are written, and the first and last positions on the bus.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms, `collections` for named tuples 3 ms
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Writer

    # The row that a line of a log comes from, and the line; None if the row has none.
    LogLine = tuple[int, bytes | None]

TRANSITIONS = "transitions"  # the log of state changes


class LogPosition:
    """The last row that a log file contains, its size, and the boot in which that was recorded."""

    __slots__ = ("boot_id", "last_seq", "size_bytes")

    def __init__(self, last_seq: int, size_bytes: int, boot_id: str | None) -> None:
        self.last_seq = last_seq
        self.size_bytes = size_bytes
        self.boot_id = boot_id


def find_log_position(reader: Reader, log: str) -> LogPosition | None:
    """Return how far a log file is written, or None."""
    row = reader.row("exports.position", log=log)
    return None if row is None else LogPosition(**row)


def record_log_position(writer: Writer, log: str, position: LogPosition) -> None:
    """Record how far a log file is written."""
    writer.run(
        "exports.set_position", log=log, last_seq=position.last_seq,
        size_bytes=position.size_bytes, boot_id=position.boot_id,
    )  # fmt: skip


def exported_seq(reader: Reader) -> int:
    """Return the export position of the bus protocol, which foreign exporters move too."""
    return _number(reader.row("exports.bus_seq"), "last_seq")


def record_exported_seq(writer: Writer, seq: int) -> None:
    """Move the export position of the bus protocol."""
    writer.run("exports.set_bus_seq", last_seq=seq)


def transition_lines(reader: Reader, after: int, *, limit: int) -> list[LogLine]:
    """Return the log lines of the transitions after a position, in order."""
    rows = reader.rows("exports.transition_lines", after=after, limit=limit)
    return [(row["seq"], line) for row in rows for line in _lines_of(row["lines"])]


def first_seq(reader: Reader) -> int | None:
    """Return the position of the oldest message; None if there are no messages."""
    row = reader.row("exports.first_seq")
    return None if row is None else row["seq"]


def ever_last_seq(reader: Reader) -> int:
    """Return the highest position that any message has had."""
    return _number(reader.row("exports.ever_last"), "seq")


def count_after(reader: Reader, after: int, *, until: int = (1 << 63) - 1) -> int:
    """Return the number of messages after one position, up to another."""
    return _number(reader.row("exports.count_between", after=after, until=until), "number")


def _number(row: Row | None, column: str) -> int:
    return 0 if row is None else int(row[column])


def _lines_of(text: str | None) -> list[bytes | None]:
    """Return the JSON lines of a transition; None for a value that is not an object.

    A transition without lines has one, too, so that the position moves past it.
    """
    import json  # 2 ms, only after a transition

    try:
        found = json.loads(text or "[]")
    except (ValueError, RecursionError):
        found = []
    lines = [
        json.dumps(one, separators=(",", ":")).encode() if isinstance(one, dict) else None
        for one in (found if isinstance(found, list) else [])
    ]
    return lines or [None]
