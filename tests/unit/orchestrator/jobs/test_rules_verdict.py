"""A verdict counts only with the command that was run."""

import pytest

from gitworker.orchestrator.jobs.rules_verdict import (
    DIFF_MAX,
    QaVerdict,
    evidence_text,
    parse_verdict,
    qa_prompt,
)

PASS = "It is right.\nCOMMAND: make test\nSTATUS: 0\nVERDICT: PASS\n"


def test_a_verdict_has_its_evidence() -> None:
    """The last three lines count, however an agent decorates them."""
    assert parse_verdict(PASS) == QaVerdict(True, "make test", 0, "It is right.")
    lines = (
        "VERDICT: FAIL", "**COMMAND:** x", "- COMMAND: `a: b`", "> STATUS: 2", "**VERDICT:** FAIL",
    )  # fmt: skip
    found = parse_verdict("\n".join((*lines, "bye")))
    assert found is not None
    assert (found.is_passed, found.command, found.status) == (False, "a: b", 2)
    assert evidence_text(found, agent="claude", tree="a" * 40) == (
        "verified by claude: failed; `a: b` ended with status 2 on tree aaaaaaaaaa"
    )


def test_the_evidence_has_no_secret() -> None:
    """A secret in the command of a verdict does not reach the bus."""
    found = QaVerdict(True, "API_KEY=abc123 make test", 0, "")
    assert "`API_KEY=[redacted] make test`" in evidence_text(found, agent="claude", tree="b")


@pytest.mark.parametrize(
    "output",
    [
        "", "VERDICT: PASS", "COMMAND: x\nVERDICT: PASS", "COMMAND:\nSTATUS: 0\nVERDICT: PASS",
        "COMMAND: x\nSTATUS: ok\nVERDICT: PASS", "COMMAND: x\nSTATUS: 1\nVERDICT: PASS",
        "COMMAND: x\nSTATUS: 0\nVERDICT: perhaps",
    ],
)  # fmt: skip
def test_a_verdict_without_evidence_does_not_count(output: str) -> None:
    """Neither does one that passes after a command that failed."""
    assert parse_verdict(output) is None


def test_the_prompt_has_the_task_and_the_change() -> None:
    """A long diff is cut."""
    prompt = qa_prompt("t1", "Do it\n", "+line\n")
    assert "Do it" in prompt
    assert prompt.endswith("+line\n")
    assert "… cut" in qa_prompt("t1", "", "x" * (DIFF_MAX + 1))
    assert evidence_text(QaVerdict(True, "x", 0, ""), agent="a", tree="b").startswith(
        "verified by a: passed"
    )
