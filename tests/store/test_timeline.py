"""The runs and the transitions of a span of time, and the cost of reading them."""

import json

from gitworker.model.tokens.token_times import QUARTER_MS
from gitworker.store.records.runs import begin_run, end_run
from gitworker.store.scheduling.timeline import moves_since, runs_since
from gitworker.store.scheduling.usage import RunOwner, Usage, record_usage
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.queries import query_text


def plan_of(store: Database, query: str) -> list[str]:
    """Return SQLite's plan of a query."""
    asked = "EXPLAIN QUERY PLAN " + query_text(query)
    values = {"since": 1, "before": -1, "limit": 5}
    return [row["detail"] for row in store.execute(asked, values)]


def add_run(store: Database, start: int, end: int | None, worker: str = "auth") -> int:
    """Record a run that began and ended at these times."""
    with store.write() as writer:
        made = begin_run(
            writer, worker, "login", command="agent", supervisor=(1, None), process=(2, None),
            origin=("host", "boot", "ns"), now=start,
        )  # fmt: skip
        if end is not None:
            end_run(writer, made.id, status=0, reason="", now=end)
    return made.id


def test_runs(store: Database) -> None:
    """Runs that are open or lasted into the time are found, the newest first."""
    forever = add_run(store, 1, None)
    add_run(store, 2, 500)
    add_run(store, 3, 50)
    late = add_run(store, 4, 101)
    inside = add_run(store, 150, 160)
    found = runs_since(store, 100, limit=9, before=2)
    assert [one.id for one in found] == [inside, late, forever]
    assert (found[0].project_id, found[0].agent, found[0].ended_at_ms) == (
        "default",
        "command",
        160,
    )
    assert [one.id for one in runs_since(store, 100, limit=1)] == [inside]


def test_the_tokens_of_a_run_have_times(store: Database) -> None:
    """Each report counts its new tokens in its quarter of an hour; one after the end does not."""
    run, owner = add_run(store, 1, None), RunOwner("auth", "login", "claude")
    with store.write() as writer:
        record_usage(writer, run, Usage(10, 5), owner, now=QUARTER_MS - 1)
        record_usage(writer, run, Usage(10, 7), owner, now=QUARTER_MS)
        end_run(writer, run, status=0, reason="", now=QUARTER_MS)
        record_usage(writer, run, Usage(10, 9), owner, now=QUARTER_MS)
    (found,) = runs_since(store, 1, limit=1)
    assert found.token_times == [(0, 15), (QUARTER_MS, 2)]


def test_the_runs_of_a_time_are_a_range(store: Database) -> None:
    """Runs are found by ranges of ids and an index; of others only those of the time are read."""
    plan = plan_of(store, "timeline.runs")
    assert "SEARCH runs USING INTEGER PRIMARY KEY (rowid>?)" in plan
    assert "SCAN runs USING INDEX idx_runs_open" in plan
    assert "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)" in plan
    # the inner query walks the ids from the newest on and stops at its first row
    assert plan.count("SCAN runs") == 1
    assert plan[plan.index("SCAN runs") - 1] == "SCALAR SUBQUERY 1"


def test_the_moves_of_a_time_are_an_index_range(store: Database) -> None:
    """Transitions of workers are found without reading those of tasks."""
    plan = plan_of(store, "timeline.moves")
    assert plan[0] == "SEARCH transitions USING INDEX idx_transitions_screen (seq>?)"
    assert all("idx_transitions_screen" in one or one == "SCALAR SUBQUERY 1" for one in plan)


def test_moves(store: Database) -> None:
    """The transitions of workers since a time are found, with their tasks."""
    insert = (
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor, metadata)"
        " VALUES (:at, 'worker', 'auth', :version, :old, :event, :new, 'hq', :data)"
    )
    steps = [("IDLE", "assign", "ASSIGNED"), ("ASSIGNED", "start", "WORKING")]
    data = json.dumps({"task_id": "login", "reason": "undo"})
    with store.write() as writer:
        writer.run("workers.insert", worker="auth", now=1)
        for number, (old, event, new) in enumerate(steps, 1):
            values = {"at": 100 * number, "version": number, "old": old, "event": event, "new": new}
            writer.execute(insert, {**values, "data": data})
    (found,) = moves_since(store, 150, limit=9)
    assert (found.worker_id, found.task_id, found.event) == ("auth", "login", "start")
    assert found.is_undo
    assert len(moves_since(store, 1, limit=9)) == 2
