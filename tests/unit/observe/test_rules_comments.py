"""The words of review comments for an author, also from hostile payloads."""

import pytest

from gitworker.observe.inbox.rules_comments import comment_lines, first_number, place_text
from gitworker.observe.inbox.rules_messages import TEXT_SHOWN, command_for, rest_command, summary_of


def test_lines_of_comments() -> None:
    """A comment has its number, place, quoted lines, words and the reply."""
    one = {
        "number": 3, "path": "a.py", "side": "old", "lines": [2, 4], "state": "reopened",
        "quoted": [f"q{n}\x1b" for n in range(14)], "text": "why\nnot", "reply": "again",
    }  # fmt: skip
    found = comment_lines({"comments": [one], "note": "why"})
    assert found[0] == "comment 3 again on a.py:2-4 (before the change)"
    assert found[1] == "    > q0\\x1b"
    assert found[12:] == [
        "    > q11\\x1b", "    > … 2 more lines", "    why", "    not", "    again",
    ]  # fmt: skip
    whole = {"number": 4, "path": None, "text": "why"}
    assert comment_lines({"comments": [whole], "note": "why"}) == []
    assert (
        comment_lines({"comments": [whole, whole], "note": "why"})
        == ["comment 4 on the change as a whole"] * 2
    )
    answered = {**whole, "reply": "again"}
    assert comment_lines({"comments": [answered], "note": "why"})[1:] == ["    again"]
    assert comment_lines({"comments": [whole]})[1:] == ["    why"]
    assert comment_lines({"comments": [whole], "note": "why not"})[1:] == ["    why"]


@pytest.mark.parametrize(
    "payload", [None, [], "x", {}, {"comments": None}, {"comments": "x"}, {"comments": [1, None]}]
)
def test_other_payloads_have_no_lines(payload: object) -> None:
    """A payload of another program is no error."""
    assert comment_lines(payload) == []


def test_a_comment_without_facts() -> None:
    """Missing facts are shown as unknown."""
    assert comment_lines({"comments": [{"path": "a", "quoted": 1}]}) == ["comment None on a:?"]
    assert place_text("a", "new", [3, 3]) == "a:3"


def test_the_command_of_comments() -> None:
    """Comments without a request are answered by number."""
    assert first_number({"comments": [{"number": 7}]}) == "7"
    assert first_number({"comments": ["x"]}) is None
    assert first_number({"comments": [{"number": "7; rm"}]}) is None
    assert first_number({}) is None
    payload = {"verdict": "commented", "comments": [{"number": 7}]}
    command = command_for("review_result", payload, sender="hq", seq=1)
    assert command == "git worker review handled 7 -m <text>   # without -m after a commit"
    assert command_for("review_result", {"verdict": "commented"}, sender="hq", seq=1) is None


def test_the_rest_of_a_message() -> None:
    """Only the summary of a message that is shortened has a command that shows the rest."""
    short = summary_of("x-note", {"text": "x" * TEXT_SHOWN})
    cut = summary_of("x-note", {"text": "x" * (TEXT_SHOWN + 1)})
    assert [rest_command(text, 7) for text in ("", short, cut)] == [
        None, None, "git worker msg show 7",
    ]  # fmt: skip
    assert rest_command(cut, None) is None
