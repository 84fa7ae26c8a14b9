"""A verdict counts only with the command that was run."""

import pytest

from gitworker.orchestrator.jobs.rules_verdict import (
    DIFF_MAX,
    QaVerdict,
    evidence_text,
    flaw_of_verdict,
    no_verdict_text,
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


NO_VERDICT = "its answer ends without PASS or FAIL"
NO_COMMAND = "it names no command that it ran"
NO_STATUS = "it names no exit status of its command"


@pytest.mark.parametrize(
    ("output", "flaw"),
    [
        ("", NO_VERDICT),
        ("VERDICT: PASS", NO_COMMAND),
        ("COMMAND: x\nVERDICT: PASS", NO_STATUS),
        ("COMMAND:\nSTATUS: 0\nVERDICT: PASS", NO_COMMAND),
        ("COMMAND: none\nSTATUS: 0\nVERDICT: PASS", NO_COMMAND),
        ("COMMAND: `N/A`\nSTATUS: 0\nVERDICT: PASS", NO_COMMAND),
        ("COMMAND: (none)\nSTATUS: 0\nVERDICT: FAIL", NO_COMMAND),
        ("COMMAND: x\nSTATUS: ok\nVERDICT: PASS", NO_STATUS),
        ("COMMAND: x\nSTATUS: 1\nVERDICT: PASS",
         "it passed the work, although its command ended with status 1"),
        ("COMMAND: x\nSTATUS: 0\nVERDICT: perhaps", NO_VERDICT),
    ],
)  # fmt: skip
def test_a_verdict_without_evidence_does_not_count(output: str, flaw: str) -> None:
    """Neither does one that passes after a command that failed; the flaw is in words."""
    assert parse_verdict(output) is None
    assert flaw_of_verdict(output) == flaw
    assert flaw_of_verdict(PASS) == ""
    assert no_verdict_text(flaw, agent="claude") == f"no valid verdict by claude: {flaw}"


@pytest.mark.parametrize(
    ("ran", "is_known"),
    [
        (["make test"], True),
        (["ls", "cd src && make  test"], True),
        (["bash -lc 'make test'"], True),
        (["['bash', '-lc', 'make test']"], True),
        (["make"], False),
        ([], False),
    ],
)
def test_the_command_must_have_run(ran: list[str], is_known: bool) -> None:
    """An agent whose output shows its commands must name one of them."""
    flaw = "" if is_known else "it names a command that it did not run"
    assert flaw_of_verdict(PASS, ran) == flaw
    assert flaw_of_verdict("", ran) == NO_VERDICT


def test_the_prompt_has_the_task_and_the_change() -> None:
    """A long diff is cut."""
    prompt = qa_prompt("t1", "Do it\n", "+line\n")
    assert "Do it" in prompt
    assert prompt.endswith("+line\n")
    assert "… cut" in qa_prompt("t1", "", "x" * (DIFF_MAX + 1))
    assert evidence_text(QaVerdict(True, "x", 0, ""), agent="a", tree="b").startswith(
        "verified by a: passed"
    )
