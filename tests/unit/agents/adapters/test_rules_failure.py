"""The kind of an agent's failure."""

import pytest

from gitworker.agents.adapters.rules_failure import (
    Failure,
    classify,
    failure_text,
    find_failure,
    find_moment,
    find_wait_s,
)
from gitworker.agents.adapters.stream_facts import StreamFacts, with_end

AT = 1_900_000_000


@pytest.mark.parametrize(
    ("text", "status", "kind", "found"),
    [
        ("Invalid API key · Fix external API key", 401, "", "authentication"),
        ("litellm.AuthenticationError: Incorrect API key", None, "", "authentication"),
        ("anything", 403, "", "authentication"),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, "", "rate_limit"),
        ("Overloaded", 529, "", "rate_limit"),
        ("You've hit your usage limit. Try again in 3 days.", None, "", "usage_limit"),
        ("Request rejected (429) · usage limit", 429, "", "usage_limit"),
        ("Quota exceeded for metric", 429, "", "usage_limit"),
        ("The API provider has rate limited you. Or check your quotas.", None, "", "rate_limit"),
        ("blocked by the content policy", None, "", "refusal"),
        ("", None, "refusal", "refusal"),
        ("the disk is full", 500, "other", "error"),
    ],
)
def test_kinds(text: str, status: int | None, kind: str, found: str) -> None:
    """Words, status and the agent's own kind give one of five kinds."""
    assert classify(text, status=status, kind=kind).kind == found


def test_reset_time() -> None:
    """A time of Unix in the words is the end of the limit."""
    assert classify(f"Claude AI usage limit reached|{AT}").resets_at_ms == AT * 1000
    assert (
        classify(f'{{"type": "usage_limit_reached", "resets_at": {AT}}}').resets_at_ms == AT * 1000
    )
    assert classify("usage limit").resets_at_ms is None


@pytest.mark.parametrize(
    ("text", "wait_s", "moment"),
    [
        ("Rate limit reached. Please try again in 11.5s.", 11.5, None),
        ("Your quota will reset after 15h20m30s.", 55_230, None),
        ("try again in 3 days 2 hours 5 minutes", 266_700, None),
        ("retry in 250ms", None, None),
        ("or try again at 3:00 PM.", None, "3:00 PM"),
        ("try again at Mar 17th, 2030 5:46 PM.", None, "Mar 17th, 2030 5:46 PM"),
        ("You've hit your limit · resets 3pm (Europe/Berlin)", None, "3pm"),
        ("resets the counter", None, None),
    ],
)
def test_end_in_words(text: str, wait_s: float | None, moment: str | None) -> None:
    """Words have the end of a limit as a length of time or as a time of day."""
    assert (find_wait_s(text), find_moment(text)) == (wait_s, moment)


def test_end_of_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a limit gets an end from its words, and a time of the stream is better than words."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", "1000")
    assert with_end(Failure("rate_limit", "try again in 2s")).resets_at_ms == 3000
    assert with_end(Failure("usage_limit", "resets 1am")).resets_at_ms == 3_600_000
    assert with_end(Failure("usage_limit", "later")).resets_at_ms is None
    assert with_end(Failure("error", "try again in 2s")).resets_at_ms is None
    facts = StreamFacts()
    facts.fail("try again in 2s", kind="usage_limit", resets_at_ms=9000)
    assert facts.failure is not None
    assert facts.failure.resets_at_ms == 9000


def test_long_text() -> None:
    """Long words are cut, and blanks are joined."""
    assert classify("a\n  b").text == "a b"
    assert len(classify("x" * 1000).text) == 300


def test_secrets_in_a_failure() -> None:
    """A key in the vendor's words is redacted before they are cut: they reach the bus."""
    found = classify(f"Incorrect API key provided: sk-proj-{'a1' * 200}. Try another", status=401)
    assert found.text == "Incorrect API key provided: [redacted]. Try another"


def test_text() -> None:
    """The words name the kind, the agent's own words and the end of a limit."""
    assert failure_text(Failure("error", "no space")) == "no space"
    assert failure_text(Failure("refusal", "")) == "the model refused"
    limit = failure_text(Failure("usage_limit", "limit"), resets_at="5 pm")
    assert limit == "the usage limit was reached: limit (until 5 pm)"


def test_plain_output() -> None:
    """The last line that reports a failure counts; other words do not."""
    lines = ["litellm.RateLimitError: 429", "AuthenticationError: Invalid API key", "bye"]
    found = find_failure(lines)
    assert found is not None
    assert found.kind == "authentication"
    assert find_failure(["all done", "the refusal path"]) is None


def test_usage_limit_before_a_rate_limit() -> None:
    """A usage limit in an earlier line explains the rate limit that the agent reports last."""
    advice = "The API provider has rate limited you. Try again later or check your quotas."
    for first, kind in (("The usage limit has been reached", "usage_limit"), ("x", "rate_limit")):
        found = find_failure([first, "litellm.RateLimitError", advice])
        assert found is not None
        assert found.kind == kind
