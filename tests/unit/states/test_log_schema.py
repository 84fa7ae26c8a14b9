"""The shape of a line: JSON, its fields, and their types."""

from typing import Any

import pytest

from gitworker.states.log.validate import validate_log
from tests.unit.states.logs import GOOD, changed, findings


@pytest.mark.parametrize(
    "text",
    ["", "\n", "{", "[]", "1", "null", '{"a": NaN}', '{"a": 1', "[" * 100_000, "1" * 5000],
)
def test_a_line_that_is_not_an_object_is_reported(text: str) -> None:
    """A line that is not one JSON object is a finding, and the lines after it are still read."""
    assert findings(text, GOOD, text) == ["1 json", "3 json"]


@pytest.mark.parametrize(
    "fields",
    [
        {"timestamp": None},
        {"metadata": None},
        {"trigger": None},
        {"timestamp": "yesterday"},
        {"timestamp": "2026-01-10T14:00:00"},
        {"timestamp": 1},
        {"event_type": "cat_state_transition"},
        {"severity": "loud"},
        {"severity": 3},
        {"entity_id": ""},
        {"entity_id": 7},
        {"from_state": []},
        {"metadata": []},
        {"metadata": {"retry_count": -1}},
        {"metadata": {"retry_count": True}},
        {"metadata": {"max_retries": 1.5}},
        {"metadata": {"worker_id": 4}},
        {"metadata": {"critical": "yes"}},
        {"metadata": {"dependencies": "a"}},
        {"metadata": {"dependencies": [1]}},
        {"metadata": {"waived": "everything"}},
        {"metadata": {"waived": []}},
        {"metadata": {"created_at": "now"}},
        {"metadata": {"duration_seconds": "1"}},
        {"metadata": {"duration_seconds": -1}},
        {"metadata": {"duration_seconds": True}},
    ],
)
def test_a_line_of_the_wrong_shape_is_reported(fields: dict[str, Any]) -> None:
    """A field that is missing, unknown or of another type is a finding."""
    assert findings(changed(**fields)) == ["1 schema"]


def test_every_fault_of_shape_is_reported() -> None:
    """One line can have several faults of shape."""
    found = validate_log([changed(severity="loud", metadata={"critical": 1, "waived": 2})])
    assert [finding.message for finding in found] == [
        "severity 'loud' is unknown",
        "metadata.critical is not true or false",
        "metadata.waived is not 'dependencies' or 'verification'",
    ]


def test_null_and_unknown_metadata_is_fine() -> None:
    """Null counts as absent, and unknown metadata is ignored."""
    metadata = {"retry_count": None, "duration_seconds": 1.5, "mood": [1]}
    assert findings(changed(metadata=metadata)) == []
