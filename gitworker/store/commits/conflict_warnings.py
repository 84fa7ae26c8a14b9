"""The refs that the radar has to check, and the conflict warnings that it has published."""

import json
from collections.abc import Iterable

from gitworker.model.ids import Ref
from gitworker.store.api import Reader, Store, Writer


def newest_due(reader: Reader, *, now: int) -> dict[Ref, int]:
    """Return the refs that moved since the last radar, each with its time, newest first."""
    return {Ref(row["ref"]): int(row["ts_ms"]) for row in reader.rows("radar.due", now=now)}


def put_off_radar(store: Store, *, until: int) -> None:
    """Record after a failure that no ref is due until a time."""
    store.write_one("radar.put_off", durable=False, until=until)


def end_due(writer: Writer, ref: Ref, *, ts_ms: int) -> None:
    """Record that the radar checked a ref, unless the ref has moved since."""
    writer.run("radar.looked_at", ref=ref, ts_ms=ts_ms)


def forget_other_due(writer: Writer, refs: Iterable[Ref]) -> None:
    """Forget that other refs than these are due."""
    writer.run("radar.forget_due", refs=json.dumps(list(refs)))


def add_warning(writer: Writer, one: Ref, other: Ref, *, now: int) -> bool:
    """Record that a warning is published for two refs; return False if one was published."""
    return writer.run("radar.warn", one=one, other=other, now=now) > 0


def forget_warning(writer: Writer, one: Ref, other: Ref) -> None:
    """Delete the warning for two refs, which merge cleanly again."""
    writer.run("radar.forget_warning", one=one, other=other)


def forget_other_warnings(writer: Writer, refs: Iterable[Ref]) -> None:
    """Delete the warnings for other refs than these."""
    writer.run("radar.forget_warnings", refs=json.dumps(list(refs)))
