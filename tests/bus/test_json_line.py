"""Messages as lines of JSON, written without the standard module."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gitworker.bus.files.json_line import json_value, log_line, polled_line
from gitworker.store.messages.mailbox import StoredMessage

TEXTS = st.one_of(st.none(), st.text())


@given(st.one_of(st.none(), st.text(), st.integers()))
def test_values_are_written_as_the_standard_module_does(value: str | int | None) -> None:
    """Texts, numbers and null are written as by the json module, without ASCII escapes."""
    assert json_value(value) == json.dumps(value, ensure_ascii=False)


@given(TEXTS, TEXTS, st.one_of(st.none(), st.text(), st.binary()))
def test_a_log_line_has_every_column(
    to: str | None, task: str | None, payload: str | bytes | None
) -> None:
    """A line of bus.jsonl has the columns of the table in order; bytes are read as text."""
    row = {
        "seq": 7, "id": "id", "ts_ms": -5, "from_agent": "from", "to_agent": to, "type": "type",
        "correlation_id": task, "in_reply_to": None, "payload": payload, "payload_ref": None,
    }  # fmt: skip
    message = StoredMessage(row)
    line = log_line(message)
    expected = row | {"payload": message.text}
    assert line == json.dumps(expected, ensure_ascii=False, separators=(",", ":"))


def test_a_polled_line_holds_its_payload_as_json() -> None:
    """`msg poll` prints the payload as JSON, and the fault of one that cannot be read."""
    row = {
        "seq": 7, "id": 'i"d', "ts_ms": 1500, "from_agent": "from", "to_agent": None,
        "type": "type", "correlation_id": None, "in_reply_to": None, "payload": None,
        "payload_ref": None,
    }  # fmt: skip
    message = StoredMessage(row)
    found = json.loads(polled_line(message, '{"a":[1]}', None))
    assert (found["id"], found["ts"], found["payload"]) == (
        'i"d', "1970-01-01T00:00:01.500Z", {"a": [1]},
    )  # fmt: skip
    assert json.loads(polled_line(message, None, "decode_failed")) == found | {
        "payload": None,
        "payload_error": "decode_failed",
    }
