"""The guards of reviews inside the database: a foreign program breaks neither state nor record."""

from pathlib import Path

from tests.store.support import foreign

ROUND = (
    "INTO review_rounds (id, worker_id, task_id, number, base_oid, tip_oid, commits, created_at_ms)"
    " VALUES (1, 'auth', 'login', 1, 'b', 't', '[]', 1)"
)
COMMENT = (
    "INTO review_comments (id, worker_id, task_id, round, identity, reviewer, text, created_at_ms,"
    " state_changed_at_ms{column}) VALUES (1, 'auth', 'login', 1, 'hq', 'ada', 'why', 1, 1{value})"
)
DRAFT = COMMENT.format(column="", value="")


def test_no_statement_bypasses_a_comment(bus: Path) -> None:
    """Every write to state, version, id, place or sent words except by a transition is refused."""
    assert foreign(bus, f"INSERT {DRAFT}") == [[]]
    refused = [
        "UPDATE review_comments SET state = 'sent'",
        "UPDATE review_comments SET state = 'sent', version = 1",
        "UPDATE OR IGNORE review_comments SET version = 1",
        "UPDATE review_comments SET id = 2",
        "UPDATE review_comments SET round = 2",
        "UPDATE review_comments SET identity = 'qa'",
        f"INSERT OR REPLACE {DRAFT}",
        f"REPLACE {DRAFT}",
        "INSERT " + COMMENT.format(column=", state", value=", 'sent'").replace("(1,", "(7,"),
        "INSERT " + COMMENT.format(column=", version", value=", 3").replace("(1,", "(7,"),
        f"INSERT {DRAFT} ON CONFLICT DO UPDATE SET state = 'sent'",
    ]
    answers = foreign(bus, *refused)
    assert all("gitworker: " in str(answer) for answer in answers), answers
    shown = "SELECT id, state, version FROM review_comments"
    assert foreign(bus, shown) == [[[1, "draft", 0]]]


def test_rounds_do_not_change(bus: Path) -> None:
    """A round is inserted once, and neither changed nor deleted."""
    assert foreign(bus, f"INSERT {ROUND}") == [[]]
    refused = [
        f"INSERT OR REPLACE {ROUND}", f"INSERT {ROUND.replace('(1,', '(2,')}",
        "UPDATE review_rounds SET tip_oid = 'x'", "DELETE FROM review_rounds",
    ]  # fmt: skip
    assert all("gitworker: " in str(answer) for answer in foreign(bus, *refused))
