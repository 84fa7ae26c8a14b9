"""Retention: messages to agents that wait by design, and positions of other programs."""

import os

import pytest

from gitworker.bus.blobs import save_blob
from gitworker.bus.files.collect_blobs import collect_blobs
from gitworker.bus.files.retention import PruneRequest, prune
from gitworker.bus.files.rules_retention import DAY_MS
from gitworker.paths import StatePaths
from gitworker.store.messages.mailbox import begin_cursor
from gitworker.store.sqlite.database import Database
from tests.store.support import foreign, send

NOW = 1_800_000_000_000
OLD = NOW - 40 * DAY_MS


def assigned(store: Database, worker: str) -> None:
    """Add a worker with a task that has not landed."""
    with store.write() as writer:
        writer.run("tasks.insert", task="t", title="", requires_approval=0, max_retries=1, now=1)
        writer.run("workers.insert", worker=worker, now=1)
        writer.run(
            "workers.set_assignment", worker=worker, task="t", branch="b", base_oid=None,
            worktree=None, admin_dir=None, now=1,
        )  # fmt: skip
        begin_cursor(writer, worker)


def test_a_position_of_another_program(state: StatePaths, store: Database) -> None:
    """A message with an explicit, very high position stops no collection of blobs."""
    used, unused = (save_blob(state.blobs, text.encode() * 5000) for text in "ab")
    for name in (used, unused):
        os.utime(f"{state.blobs}/{name}", (0, 0))
    insert = (
        "INSERT INTO messages (seq, id, ts_ms, from_agent, type, payload_ref)"
        f" VALUES (1000000000000000, 'far', 1, 'nim', 'x-note', '{used}')"
    )
    assert foreign(state.database, insert) == [[]]
    send(store, "next")
    collect_blobs(store, state.blobs, now_ms=NOW)
    assert os.listdir(state.blobs) == [used]


@pytest.mark.parametrize("archiving", [True, False])
def test_work_that_waits_keeps_its_messages(
    state: StatePaths, store: Database, archiving: bool
) -> None:
    """Old messages to hq, or to a worker with a task, stay until read; others are pruned."""
    send(store, "before", to_agent="w", ts_ms=OLD)
    assigned(store, "w")
    for name, to in (("read", "w"), ("unread", "w"), ("asked", "hq"), ("all", None), ("x", "y")):
        send(store, name, to_agent=to, ts_ms=OLD)
    with store.write() as writer:
        writer.run("messages.ack", agent="w", seq=2, now=OLD)
    asked = PruneRequest(NOW - 30 * DAY_MS, frozenset(), since_ms=1 << 60, archiving=archiving)
    assert prune(store, state, asked).plan.messages == 4
    left = [row["id"] for row in store.rows("messages.follow", after=0, limit=99)]
    assert left == ["unread", "asked"]
    with store.write() as writer:
        for agent in ("w", "hq"):
            writer.run("messages.ack", agent=agent, seq=9, now=OLD)
    assert prune(store, state, asked).plan.messages == 2
