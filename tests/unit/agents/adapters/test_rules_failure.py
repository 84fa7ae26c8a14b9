"""The kind of an agent's failure."""

import pytest

from gitworker.agents.adapters.rules_failure import Failure, classify, failure_text, find_failure

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


def test_long_text() -> None:
    """Long words are cut, and blanks are joined."""
    assert classify("a\n  b").text == "a b"
    assert len(classify("x" * 1000).text) == 300


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
