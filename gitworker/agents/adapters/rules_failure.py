"""The kind of an agent's failure, from its words and an HTTP status. Pure."""

import re
from typing import NamedTuple

from gitworker.bus.limits.rules_secrets import redacted
from gitworker.model.run_outcome import BUDGET, LIMITS, RATE_LIMIT, USAGE_LIMIT

AUTHENTICATION = "authentication"
REFUSAL = "refusal"
ERROR = "error"
TEXT_MAX = 300
WORDS = {
    RATE_LIMIT: "the model's rate limit was reached",
    USAGE_LIMIT: "the usage limit was reached",
    AUTHENTICATION: "authentication failed",
    REFUSAL: "the model refused",
    BUDGET: "the agent has reached the budget of its run",
}
# In this order: a usage limit is often reported with the words of a rate limit, too.
PATTERNS = (
    (USAGE_LIMIT, re.compile(
        r"usage.?limit|hit your .{0,30}limit|quota(?!s)|insufficient_quota|out of credits|"
        r"credit balance|billing", re.I)),
    (AUTHENTICATION, re.compile(
        r"authentication|unauthori[sz]ed|invalid (x-)?api.?key|incorrect api key|api key not valid|"
        r"not logged in|please run /login|\b401\b", re.I)),
    (RATE_LIMIT, re.compile(r"rate.?limit|too many requests|overloaded|\b429\b|\b529\b", re.I)),
    (REFUSAL, re.compile(r"\brefus(al|ed)\b|content.?(policy|filter)|safety (policy|stop)", re.I)),
)  # fmt: skip
STATUSES = {401: AUTHENTICATION, 403: AUTHENTICATION, 429: RATE_LIMIT, 529: RATE_LIMIT}
RESETS = re.compile(r"(?:resets?_?at\W{1,4}|limit reached\|)(\d{10})\b", re.I)  # seconds, UTC
# "try again in 3 days 2 hours", "reset after 15h20m30s"
WAIT = re.compile(
    r"(?:try again|retry|resets?)(?: in| after) "
    r"((?:\d+(?:\.\d+)? ?(?:days?|d|hours?|h|minutes?|m|seconds?|s)(?![a-z])[ ,]*)+)",
    re.I,
)
PART = re.compile(r"(\d+(?:\.\d+)?) ?([dhms])", re.I)
UNITS_S = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
# "try again at Mar 17th, 2030 5:46 PM", "resets 3pm"
MOMENT = re.compile(
    r"(?:try again at|resets(?: at)?) ((?:[a-z]{3} \d{1,2}(?:st|nd|rd|th)?,? (?:\d{4},? )?)?"
    r"\d{1,2}(?::\d\d)? ?[ap]m)\b", re.I)  # fmt: skip


class Failure(NamedTuple):
    """A failure that an agent reported: its kind, its words, and when a limit ends."""

    kind: str
    text: str
    resets_at_ms: int | None = None

    @property
    def is_limit(self) -> bool:
        """Return whether it passes by time: a limit of the model's vendor."""
        return self.kind in LIMITS

    @property
    def is_budget(self) -> bool:
        """Return whether the agent has stopped itself at the budget that it was given."""
        return self.kind == BUDGET

    @property
    def is_access(self) -> bool:
        """Return whether the vendor refused the credentials, so that every task would fail."""
        return self.kind == AUTHENTICATION


def classify(text: str, *, status: int | None = None, kind: str = "") -> Failure:
    """Return the failure that some words, an HTTP status or the agent's own kind mean.

    Its text is published: secrets in it are `[redacted]`.
    """
    words = redacted(" ".join(text.split()))
    found = kind if kind in WORDS else _kind_of(words, status)
    resets = RESETS.search(words)
    short = words if len(words) <= TEXT_MAX else words[: TEXT_MAX - 1] + "…"
    return Failure(found, short, int(resets.group(1)) * 1000 if resets else None)


def find_wait_s(text: str) -> float | None:
    """Return for how long a limit lasts, if a text says so."""
    found = WAIT.search(text)
    parts = PART.findall(found.group(1)) if found else []
    return sum(float(number) * UNITS_S[unit.lower()] for number, unit in parts) if parts else None


def find_moment(text: str) -> str | None:
    """Return the local time at which a limit ends, as a text names it: `3:00 PM`."""
    found = MOMENT.search(text)
    return found.group(1) if found else None


def failure_text(failure: Failure, *, resets_at: str | None = None) -> str:
    """Return a failure in words; `resets_at` is the time of its end, for people."""
    known = WORDS.get(failure.kind)
    text = f"{known}: {failure.text}" if known and failure.text else known or failure.text
    return f"{text} (until {resets_at})" if resets_at else text


def find_failure(lines: list[str]) -> Failure | None:
    """Return the failure that the last lines of a plain output report, the last one first.

    A usage limit in an earlier line explains a rate limit.
    """
    last = None
    for line in reversed(lines):
        found = classify(line)
        if found.kind in (ERROR, REFUSAL):
            continue
        if last is None:
            last = found
        elif last.kind == RATE_LIMIT and found.kind == USAGE_LIMIT:
            return found
    return last


def _kind_of(words: str, status: int | None) -> str:
    if PATTERNS[0][1].search(words):
        return USAGE_LIMIT
    if status in STATUSES:
        return STATUSES[status]
    return next((kind for kind, pattern in PATTERNS if pattern.search(words)), ERROR)
