"""Rows that a foreign program writes into the shared tables, or deletes from them."""

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import ok
from tests.store.support import foreign

COMMANDS = (
    ("status",), ("list",), ("agents",), ("log",), ("show", "auth"), ("claim", "list"),
    ("task", "list"),
    ("heartbeat", "auth"), ("msg", "send", "status", "{}"), ("msg", "poll", "--no-ack"),
    ("msg", "poll"), ("msg", "stats"), ("fsck",), ("doctor",),
)  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM meta",
        "DELETE FROM meta WHERE key = 'gitworker_schema'",
        "DELETE FROM meta WHERE key = 'gitworker_target'",
        "INSERT INTO cursors VALUES (NULL, 3, 4)",
        "INSERT INTO cursors VALUES (x'00ff', 'many', 'late')",
        "INSERT INTO heartbeats VALUES (NULL, -1, 'working', NULL, 0.5)",
        "INSERT INTO heartbeats VALUES ('odd', 9e99, x'ff', x'00', 'half')",
        "INSERT INTO task_claims VALUES (NULL, 'odd', -5, 9223372036854775807)",
        "INSERT INTO task_claims VALUES (x'00', x'01', 'never', 'always')",
        "DELETE FROM export_state",
        "UPDATE export_state SET last_seq = -7",
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload)"
        " VALUES (x'00', 'late', x'01', x'02', x'ff')",
    ],
)
def test_rows_of_a_foreign_program(scene: Scene, damage: str) -> None:
    """No row that a foreign program writes or deletes makes a command end as a bug of ours."""
    ok(scene.root, "spawn", "auth", "login")
    foreign(scene.state / "bus.db", damage)
    for words in COMMANDS:
        answer = scene.run(*words)
        assert answer.status in (0, 1, 3, 4), (words, answer)
        assert "Traceback" not in answer.err, (words, answer)
    assert ok(scene.root, "spawn", "ui", "page")


def test_numbers_of_a_foreign_program(scene: Scene) -> None:
    """A number that JSON readers cannot hold is a text in the document of `msg poll --json`."""
    ok(scene.root, "init")
    many = "9" * 5000
    foreign(
        scene.state / "bus.db",
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload)"
        f" VALUES ('one', 1, 'odd', 'x-note', '[1e999, {many}, 1.5, 7]')",
    )
    (item,) = scene.run("msg", "poll", "--json").document["items"]
    assert item["payload"] == ["1e999", many, 1.5, 7]
