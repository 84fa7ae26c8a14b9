"""The kind of an agent's failure, from its words and an HTTP status. Pure."""

import re
from typing import NamedTuple

RATE_LIMIT = "rate_limit"
USAGE_LIMIT = "usage_limit"
AUTHENTICATION = "authentication"
REFUSAL = "refusal"
ERROR = "error"
TEXT_MAX = 300
WORDS = {
    RATE_LIMIT: "the model's rate limit was reached",
    USAGE_LIMIT: "the usage limit was reached",
    AUTHENTICATION: "authentication failed",
    REFUSAL: "the model refused",
}
# In this order: a usage limit is often reported with the words of a rate limit, too.
PATTERNS = (
    (USAGE_LIMIT, re.compile(
        r"usage.?limit|hit your .{0,30}limit|quota|insufficient_quota|out of credits|"
        r"credit balance|billing", re.I)),
    (AUTHENTICATION, re.compile(
        r"authentication|unauthori[sz]ed|invalid (x-)?api.?key|incorrect api key|api key not valid|"
        r"not logged in|please run /login|\b401\b", re.I)),
    (RATE_LIMIT, re.compile(r"rate.?limit|too many requests|overloaded|\b429\b|\b529\b", re.I)),
    (REFUSAL, re.compile(r"\brefus(al|ed)\b|content.?(policy|filter)|safety (policy|stop)", re.I)),
)  # fmt: skip
STATUSES = {401: AUTHENTICATION, 403: AUTHENTICATION, 429: RATE_LIMIT, 529: RATE_LIMIT}
RESETS = re.compile(r"(?:resets?_?at\W{1,4}|limit reached\|)(\d{10})\b", re.I)  # seconds, UTC


class Failure(NamedTuple):
    """A failure that an agent reported: its kind, its words, and when a limit ends."""

    kind: str
    text: str
    resets_at_ms: int | None = None


def classify(text: str, *, status: int | None = None, kind: str = "") -> Failure:
    """Return the failure that some words, an HTTP status or the agent's own kind mean."""
    words = " ".join(text.split())
    found = kind if kind in WORDS else _kind_of(words, status)
    resets = RESETS.search(words)
    short = words if len(words) <= TEXT_MAX else words[: TEXT_MAX - 1] + "…"
    return Failure(found, short, int(resets.group(1)) * 1000 if resets else None)


def failure_text(failure: Failure, *, resets_at: str | None = None) -> str:
    """Return a failure in words; `resets_at` is the time of its end, for people."""
    known = WORDS.get(failure.kind)
    text = f"{known}: {failure.text}" if known and failure.text else known or failure.text
    return f"{text} (until {resets_at})" if resets_at else text


def find_failure(lines: list[str]) -> Failure | None:
    """Return the failure that the last lines of a plain output report, the last one first."""
    for line in reversed(lines):
        found = classify(line)
        if found.kind != ERROR and found.kind != REFUSAL:
            return found
    return None


def _kind_of(words: str, status: int | None) -> str:
    if PATTERNS[0][1].search(words):
        return USAGE_LIMIT
    if status in STATUSES:
        return STATUSES[status]
    return next((kind for kind, pattern in PATTERNS if pattern.search(words)), ERROR)
