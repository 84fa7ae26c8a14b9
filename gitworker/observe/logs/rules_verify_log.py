"""Our own lines in the log of a verification. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

HEAD = re.compile(r"commit {3}([0-9a-f]{40,64})(?:  \((.*)\))?\ntree {5}.*\nstarted {2}(\S+)\n")


class LogHead(NamedTuple):
    """The first lines of a log."""

    commit: str
    label: str
    started: str


def parse_head(text: str) -> LogHead | None:
    """Return the head of a log; None while it is not written, and for another file."""
    found = HEAD.match(text)
    return None if found is None else LogHead(found[1], found[2] or "", found[3])
