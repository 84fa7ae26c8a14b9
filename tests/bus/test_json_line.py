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
    message = StoredMessage(7, "id", -5, "from", to, "type", task, None, payload, None)
    line = log_line(message)
    expected = message._asdict() | {"payload": message.text}
    assert line == json.dumps(expected, ensure_ascii=False, separators=(",", ":"))


def test_a_polled_line_holds_its_payload_as_json() -> None:
    """`msg poll` prints the payload as JSON, and the fault of one that cannot be read."""
    message = StoredMessage(7, 'i"d', 1500, "from", None, "type", None, None, None, None)
    found = json.loads(polled_line(message, '{"a":[1]}', None))
    assert (found["id"], found["ts"], found["payload"]) == (
        'i"d', "1970-01-01T00:00:01.500Z", {"a": [1]},
    )  # fmt: skip
    assert json.loads(polled_line(message, None, "decode_failed")) == found | {
        "payload": None,
        "payload_error": "decode_failed",
    }
