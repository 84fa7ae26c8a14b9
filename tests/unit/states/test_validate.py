"""The validator: one log for each broken rule, and valid logs."""

import json
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.states.log.log_rules import RULES
from gitworker.states.log.validate import iter_findings, validate_log
from tests.unit.states.logs import changed, findings, line, task_to


def test_an_ordinary_life_breaks_no_rule() -> None:
    """A task that is queued, runs, is validated and completes is valid."""
    assert findings(*task_to("t", "completed")) == []


def test_an_empty_log_is_valid() -> None:
    """An empty log has no finding."""
    assert validate_log([]) == []


def test_time_does_not_decrease() -> None:
    """No line is older than an earlier one; zones are respected and equal times allowed."""
    times = ["2026-01-10T14:00:00.000Z", "2026-01-10T15:00:00.000+01:00", "2026-01-10T13:59:59Z"]
    lines = [changed(entity_id=f"t{n}", timestamp=at) for n, at in enumerate([*times, times[0]])]
    assert findings(*lines) == ["3 timestamp-order"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # transitions
        (["task t pending>running worker_started"], "1 transition"),
        (["task t pending>lunch noon"], "1 transition"),
        (["task t pending>queued worker_started"], "1 trigger"),
        (["task t pending>cancelled user_cancelled"], ""),
        (["ws w planned>executing first_task_started"], "1 transition"),
        (["seat auth IDLE>WORKING start"], "1 transition"),
        (["agent a initializing>busy agent_started"], "1 transition"),
        (["agent a INITIALIZING>IDLE registration_complete"], "1 initial-state 1 transition"),
        # an agent may become busy from idle in one step
        (
            ["agent a initializing>idle registration_complete", "agent a idle>busy task_assigned"],
            "",
        ),
        # beginnings
        (["task t queued>running worker_started"], "1 initial-state"),
        (["ws w ready>executing first_task_started"], "1 initial-state"),
        # continuity
        (
            [
                "task t pending>queued scheduler_assigned",
                "task t running>retrying execution_failed",
            ],
            "2 single-active-state",
        ),
        # the same name may be a task, a worker and an agent
        (
            [
                "task t pending>queued scheduler_assigned",
                "seat t IDLE>ASSIGNED assign",
                "agent t initializing>idle registration_complete",
            ],
            "",
        ),
        # terminal states
        (
            [
                "task t pending>cancelled user_cancelled",
                "task t pending>queued scheduler_assigned",
            ],
            "2 monotonic-progress",
        ),
        (
            ["ws w planned>cancelled user_cancelled", "ws w planned>ready all_tasks_created"],
            "2 monotonic-progress",
        ),
        # incarnations
        (
            [
                "task t pending>cancelled user_cancelled",
                "task t#2 pending>queued scheduler_assigned",
            ],
            "",
        ),
        (["task t#2 pending>queued scheduler_assigned"], "1 incarnation-order"),
        (
            [
                "task t pending>queued scheduler_assigned",
                "task t#2 pending>queued scheduler_assigned",
            ],
            "2 incarnation-order",
        ),
        (
            [
                "task t pending>cancelled user_cancelled",
                "task t#2 queued>running worker_started",
            ],
            "2 initial-state",
        ),
        (
            [
                "task t pending>cancelled user_cancelled",
                "task t#2 pending>queued scheduler_assigned",
                "task t pending>queued scheduler_assigned",
                "task t#2 queued>running worker_started",
            ],
            "3 monotonic-progress",
        ),
        # any other suffix makes a separate name
        (["task t#1 pending>queued scheduler_assigned"], ""),
        (["task t#02 pending>queued scheduler_assigned"], ""),
        (["task #2 pending>queued scheduler_assigned"], ""),
        (["ws w#2 planned>ready all_tasks_created"], ""),
        # an agent may register again
        (
            [
                "agent a initializing>idle registration_complete",
                "agent a idle>shutdown shutdown_requested",
                "agent a initializing>idle registration_complete",
            ],
            "",
        ),
        (
            [
                "agent a initializing>idle registration_complete",
                "agent a idle>shutdown shutdown_requested",
                "agent a idle>starting task_assigned",
            ],
            "3 monotonic-progress",
        ),
    ],
)
def test_steps(lines: list[str], expected: str) -> None:
    """Each step is in its machine's table, starts at the last state, and ends for good."""
    assert " ".join(findings(*map(line, lines))) == expected


REVIEW = ["IDLE>ASSIGNED assign", "ASSIGNED>WORKING start", "WORKING>IN_REVIEW submit"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([*REVIEW[:2], "WORKING>STALE heartbeat_timeout", "STALE>WORKING recover"], ""),
        ([*REVIEW[:2], "WORKING>STALE heartbeat_timeout", "STALE>APPROVED approve"], "4 guard"),
        ([*REVIEW[:2], "WORKING>STALE heartbeat_timeout", "STALE>FAILED stop"], ""),
        ([*REVIEW, "IN_REVIEW>STALE review_timeout", "STALE>IN_REVIEW resume_review"], ""),
        ([*REVIEW[:2], "WORKING>FAILED fail", "FAILED>WORKING resume"], ""),
        ([*REVIEW[:2], "FAILED>WORKING resume"], "3 single-active-state"),
        ([*REVIEW, "IN_REVIEW>STALE review_timeout", "STALE>FAILED expire"], "5 guard"),
        ([*REVIEW, "IN_REVIEW>STALE review_timeout", "STALE>FAILED rot"], "5 trigger"),
        (
            [*REVIEW[:2], "WORKING>STALE heartbeat_timeout", "IN_REVIEW>APPROVED approve"],
            "4 single-active-state",
        ),
    ],
)
def test_a_worker_leaves_stale_as_it_came(steps: list[str], expected: str) -> None:
    """The steps of a stale worker depend on the state in which it went stale."""
    assert " ".join(findings(*(line(f"seat auth {step}") for step in steps))) == expected


def test_a_required_severity_is_checked() -> None:
    """A failure with the severity information is a finding; a success with an error's is not."""
    quiet = json.loads(line("task t running>failed execution_failed"))
    quiet["severity"] = "info"
    lines = [*task_to("t", "running"), json.dumps(quiet)]
    assert findings(*lines) == ["3 severity"]
    assert findings(changed(severity="critical")) == []


def test_one_fault_is_reported_once() -> None:
    """The line that breaks a rule sets the state, so that later lines are valid again."""
    lines = [
        line("task t pending>running worker_started"),
        line("task t running>validating execution_completed"),
        line("task t validating>completed validation_passed"),
    ]
    assert findings(*lines) == ["1 transition"]


def test_messages_cannot_write_to_the_terminal() -> None:
    """A log's text is shown with its control characters escaped."""
    found = validate_log([changed(from_state="\x1b[2J\ud800")])
    text = "".join(finding.message for finding in found)
    assert text.isprintable()
    assert "\\x1b[2J\\ud800" in text


def test_findings_are_streamed() -> None:
    """The first finding is reported before the second line is read."""

    def lines() -> Iterator[str]:
        yield "{"
        raise AssertionError("read too far")

    assert next(iter_findings(lines())).rule == "json"


def test_memory_grows_with_entities_not_lines() -> None:
    """A long log about one worker is read in little memory."""
    cycle = ["IDLE>ASSIGNED assign", "ASSIGNED>WORKING start", "WORKING>IDLE cancel"]
    lines = [line(f"seat auth {step}") for step in cycle]
    tracemalloc.start()
    found = validate_log(text for _ in range(3_000) for text in lines)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == []
    assert peak_bytes < 100_000


def test_rules_have_short_names() -> None:
    """A rule's name is kebab-case, and its text a sentence."""
    for name, text in RULES.items():
        assert name == name.lower().replace("_", "-").replace(" ", "-")
        assert text.endswith(".")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
WORDS = st.sampled_from(
    ["pending", "queued", "running", "cancelled", "IDLE", "STALE", "busy", "shutdown", "planned"]
)
ANY_LINES = st.fixed_dictionaries(
    {
        "timestamp": st.sampled_from(["2026-01-10T14:00:00Z", "9999-12-31T23:59:59-23:59", "x"]),
        "event_type": st.sampled_from(
            [f"{kind}_state_transition" for kind in ("task", "workstream", "worker", "seat")]
        ),
        "severity": st.sampled_from(["info", "error"]),
        "entity_id": st.sampled_from(["t", "t#2", "#", "t#9999999999", "t#²"]),
        "from_state": WORDS,
        "to_state": WORDS,
        "trigger": st.sampled_from(["approve", "user_cancelled", "critical_task_failed", "?"]),
        "metadata": st.dictionaries(
            st.sampled_from(["worker_id", "workstream_id", "dependencies", "max_concurrent_tasks"]),
            VALUES,
        ),
    }
)


@given(st.lists(ANY_LINES.map(json.dumps) | VALUES.map(json.dumps) | st.text(), max_size=12))
def test_no_log_breaks_the_validator(lines: list[str]) -> None:
    """For any file content, the result is a list of findings with existing rules."""
    for finding in validate_log(lines):
        assert finding.rule in RULES
        assert 1 <= finding.line_number <= len(lines)
