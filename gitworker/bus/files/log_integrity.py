"""Whether a log file has come through the end of a boot as it was recorded: no hole, nothing torn.

A file system may lose any part of what was not synced, and give back zeros in its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from gitworker.bus.files.export import BUS
from gitworker.store.api import Store

CHUNK = 1 << 20


def is_intact(store: Store, log: str, file: int, known: tuple[int, int]) -> bool:
    """Tell whether the first bytes of a file are the lines that a position stands for."""
    after, size = known
    if os.fstat(file).st_size < size:
        return False
    last = lines = 0
    for line in _lines(file, size):
        if not _is_line(line):
            return False
        lines += 1
        if log == BUS:
            seq = _seq_of(line)
            if seq <= last:
                return False
            last = seq
    with store.read() as reader:
        if log == BUS:
            row = reader.row("exports.count_between", after=0, until=after)
        else:
            row = reader.row("exports.count_transition_lines", until=after)
    wanted = row["number"] if row else 0
    if log == BUS:  # more, where a prune was killed before it wrote the file anew
        return last == after and lines >= wanted
    return bool(lines == wanted)


def _lines(file: int, size: int) -> Iterator[bytes]:
    """Yield the lines of the first bytes, the last one too where it is not ended."""
    rest, at = b"", 0
    while at < size:
        chunk = os.pread(file, min(CHUNK, size - at), at)
        at += len(chunk)
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest + b"\0"  # torn


def _is_line(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}") and b"\0" not in line


def _seq_of(line: bytes) -> int:
    """Return the sequence that a line of ours begins with; 0 for a line that does not."""
    head = line[: line.find(b",")].removeprefix(b'{"seq":').strip()
    return int(head) if head.isdigit() else 0
