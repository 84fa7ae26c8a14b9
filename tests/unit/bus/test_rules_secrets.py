"""Secrets in command lines and in output."""

import pytest

from gitworker.bus.limits.rules_secrets import (
    LETTERS,
    TABLE,
    redacted,
    redacted_bytes,
    redacted_words,
)

HIDDEN = "[redacted]"
LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"use sk-ant-{LETTERS_AND_DIGITS} now", f"use {HIDDEN} now"),
        (f"sk_live_{LETTERS_AND_DIGITS}", HIDDEN),
        (f"ghp_{LETTERS_AND_DIGITS}", HIDDEN),
        (f"github_pat_{LETTERS_AND_DIGITS}", HIDDEN),
        (f"glpat-{LETTERS_AND_DIGITS}", HIDDEN),
        ("xoxb-1234-5678-abcd", HIDDEN),
        (f"npm_{LETTERS_AND_DIGITS}", HIDDEN),
        ("AKIAIOSFODNN7EXAMPLE", HIDDEN),
        (f"AIza{LETTERS_AND_DIGITS}", HIDDEN),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", HIDDEN),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
         f"-----BEGIN RSA PRIVATE KEY-----{HIDDEN}-----END RSA PRIVATE KEY-----"),
        ("git clone https://me:p4ss@host/x", f"git clone https://me:{HIDDEN}@host/x"),
        ("redis://:p4ss@host", f"redis://:{HIDDEN}@host"),
        ("Authorization: Bearer abcdef123", f"Authorization: Bearer {HIDDEN}"),
        ("OPENAI_API_KEY=x codex", f"OPENAI_API_KEY={HIDDEN} codex"),
        ("KEY=abc", f"KEY={HIDDEN}"),
        ("DB_PASSWORD='a b' run", f"DB_PASSWORD={HIDDEN} run"),
        ("agent --api-key abc --fast", f"agent --api-key {HIDDEN} --fast"),
        ("agent --api-key=abc", f"agent --api-key={HIDDEN}"),
        ('{"api_key": "abcd1234ef"}', f'{{"api_key": "{HIDDEN}"}}'),
        (r'{"t": "{\"apiKey\": \"abcd1234ef\"}"}', rf'{{"t": "{{\"apiKey\": \"{HIDDEN}\"}}"}}'),
        ("x-api-key: abcd1234", f"x-api-key: {HIDDEN}"),
        ("password=hunter2 ü", f"password={HIDDEN} ü"),
        (f"KEY=abc and sk-{LETTERS_AND_DIGITS}", f"KEY={HIDDEN} and {HIDDEN}"),
        (f"API_KEY=sk-{LETTERS_AND_DIGITS}", f"API_KEY={HIDDEN}"),
    ],
)  # fmt: skip
def test_a_secret_is_removed(text: str, expected: str) -> None:
    """Keys, tokens and passwords are replaced; the words around them stay."""
    assert redacted(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "1234", "MONKEY=1 KEYBOARD=us", "--max-tokens 4096 --token-file f", "API_KEY=$KEY",
        '{"input_tokens": 1234567890}', "token = parse_token(x)", "password: Optional[str]",
        "export const tokenCount = 12345678", "a risk-averse-and-more-cautious-plan",
        "task-force-of-many-people", "primary key = 12345678", "https://host:8080/x@y",
        "the bearer authentication", "KEY={prompt}", "a token, or a secret",
    ],
)  # fmt: skip
def test_other_text_stays(text: str) -> None:
    """Code, prose and counters that only resemble secrets are kept, as the same object."""
    data = text.encode()
    assert redacted(text) == text
    assert redacted_bytes(data) is data


def test_the_words_of_a_command() -> None:
    """The value of an option may be a word of its own; placeholders and other words stay."""
    words = ["a", "--api-key", "X Y", "--token", "--fast", "PASSWORD=a b", "token=abc", "b=c"]
    expected = ["a", "--api-key", HIDDEN, "--token", "--fast", f"PASSWORD={HIDDEN}",
                f"token={HIDDEN}", "b=c"]  # fmt: skip
    assert redacted_words(words) == expected
    kept = ["--token", "{prompt}", "KEY={prompt}", "KEY=$KEY", "--token=", "--max-tokens", "5"]
    assert redacted_words(kept) == kept
    assert redacted_words(["--token=abc", "word", "-k", "v"])[1:] == ["word", "-k", "v"]


def test_every_mark_can_be_found() -> None:
    """Each mark of the table is in lower case and contains one of the letters searched first."""
    for name, marks, _ in TABLE:
        for mark in marks:
            assert mark == mark.lower(), name
            assert set(mark) & set(LETTERS), name
