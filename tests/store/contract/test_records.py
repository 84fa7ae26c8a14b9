"""Records are read as they were written: workers, reviews, landings, runs, claims, the journal."""

import pytest

from gitworker.model.ids import Oid, Ref, TaskId, WorkerId
from gitworker.model.worker import WorkerState
from gitworker.store.api import Store
from gitworker.store.claims import (
    evict_claim,
    find_granted_epoch,
    find_stored_claim,
    insert_claim,
    lost_claims,
    read_instant,
    release_claim,
)
from gitworker.store.heartbeats import (
    all_heartbeats,
    find_heartbeat,
    record_heartbeat,
    renew_heartbeat,
)
from gitworker.store.operations import (
    advance_operation,
    begin_operation,
    close_operation,
    find_operation,
    undoable_operations,
    unfinished_operations,
)
from gitworker.store.payloads.payload import RemovalData, Unreadable
from gitworker.store.records.landings import (
    Landing,
    all_landings,
    find_landing,
    landings_on,
    mark_undone,
    record_landing,
)
from gitworker.store.records.reviews import find_review, record_review
from gitworker.store.records.run_results import (
    RunReportRow,
    RunTally,
    count_runs,
    record_report,
)
from gitworker.store.records.runs import (
    begin_run,
    claim_orphan,
    end_run,
    find_latest_run,
    find_orphan,
    is_ordered_to_end,
    open_runs,
    pass_order,
    record_stop,
    set_paused,
)
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.windows import (
    Offer,
    close_window,
    newest_windows,
    offer_window,
    offers_of_others,
    open_window,
    own_offers,
    record_verdicts,
)
from gitworker.store.workers import (
    add_worker,
    all_workers,
    find_worker,
    find_worker_of_branch,
    find_worker_of_task,
    set_assignment,
    set_stale_from,
)

MAIN = Ref("refs/heads/main")
HERE = ("host", "boot", "ns")


def test_workers_are_found_by_branch_and_task(store: Store) -> None:
    """A worker is found by its id, its branch, and its task; the latest holder first."""
    with store.write() as writer:
        for now, name in enumerate(("auth", "docs")):
            added = add_worker(writer, name, now)
            assert (added.state, added.version, added.stale_from) == (WorkerState.IDLE, 0, None)
            set_assignment(
                writer, name, task="t1", branch=f"{name}/t1", base_oid="b", worktree="/w",
                admin_dir="/a", now=now,
            )  # fmt: skip
        set_stale_from(writer, "auth", WorkerState.WORKING)
    with store.read() as reader:
        assert [worker.worker_id for worker in all_workers(reader)] == ["auth", "docs"]
        found = find_worker_of_task(reader, "t1")
        assert found is not None
        assert found.worker_id == "docs"
        by_branch = find_worker_of_branch(reader, "auth/t1")
        assert by_branch == find_worker(reader, "auth")
        assert by_branch is not None
        assert by_branch.stale_from is WorkerState.WORKING
        assert find_worker(reader, "x") is None
        assert find_worker_of_task(reader, "x") is None
        assert find_worker_of_branch(reader, "x") is None


def test_the_journal_of_operations(store: Store) -> None:
    """An operation is open from its first row to its end, and undoable only after success."""
    moved = RemovalData(Ref("refs/heads/w/t"), Oid("a"), None, None, None, submodules=[])
    with store.write() as writer:
        ids = [
            begin_operation(
                writer, kind, worker="w", task="t", actor="hq", now=1, data=Unreadable("{}")
            )
            for kind in ("reset", "cancel", "spawn")
        ]
        advance_operation(writer, ids[0], step="moved", data=moved, now=2)
    with store.read() as reader:
        first = unfinished_operations(reader)[0]
        assert [operation.id for operation in unfinished_operations(reader)] == ids
    assert (first.step, first.data, first.updated_at_ms) == ("moved", moved, 2)
    with store.write() as writer:
        for operation, status in zip(ids, ("done", "rolled_back", "done"), strict=True):
            close_operation(writer, operation, status=status, step="end", data=moved, now=3)
        advance_operation(writer, ids[0], step="late", data=moved, now=4)
    with store.read() as reader:
        assert unfinished_operations(reader) == []
        assert [operation.id for operation in undoable_operations(reader)] == ids[:1]
        ended = find_operation(reader, ids[0])
        assert ended is not None
        assert (ended.step, ended.status, ended.updated_at_ms) == ("end", "done", 3)
        assert find_operation(reader, 99) is None


def test_heartbeats_have_clock_readings(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat sets status and progress, a renewal keeps them, both with clock readings."""
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: 55)
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: 1000)
    with store.write(durable=False) as writer:
        assert record_heartbeat(writer, "w", status="blocked", task="t", progress=0.25) == 1000
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: 2000)
    with store.write(durable=False) as writer:
        assert renew_heartbeat(writer, "w", task="t") == 2000
        assert renew_heartbeat(writer, "v", task=None) == 2000
    with store.read() as reader:
        found = find_heartbeat(reader, "w")
        rows = {one.agent_id: one for one in all_heartbeats(reader)}
    assert found is not None
    assert (found.status, found.progress, found.ts_ms, found.mono_ms) == ("blocked", 0.25, 2000, 55)
    assert (rows["w"].ts_ms, rows["v"].status) == (2000, "working")
    assert find_heartbeat(store, "x") is None


def test_reviews_are_read_newest_first(store: Store) -> None:
    """The newest review of a task is found, also by its verdict."""
    with store.write() as writer:
        for verdict, commit in (("requested", "a"), ("approved", "b"), ("requested", "c")):
            record_review(
                writer, "w", "t", verdict=verdict, commit=commit, identity="hq", now=1,
                patches=["p1", "p2"],
            )  # fmt: skip
    newest, approved = find_review(store, "w", "t"), find_review(store, "w", "t", "approved")
    assert newest is not None
    assert approved is not None
    assert (newest.commit_oid, approved.commit_oid) == ("c", "b")
    assert approved.patches == ["p1", "p2"]
    assert find_review(store, "w", "other") is None


def test_an_undone_landing_does_not_count(store: Store) -> None:
    """A landing counts until it is undone."""
    landing = Landing(
        WorkerId("w"), TaskId("t"), MAIN, target_old=Oid("a"), target_new=Oid("b"),
        branch_old=Oid("c"), landed_at_ms=5,
    )  # fmt: skip
    with store.write() as writer:
        number = begin_operation(
            writer, "merge", worker="w", task="t", actor="hq", now=1, data=Unreadable("{}")
        )
        record_landing(writer, number, landing, branch="w/t")
    assert (find_landing(store, "w", "t"), all_landings(store)) == (landing, [landing])
    assert landings_on(store, MAIN) == [landing]
    assert landings_on(store, Ref("refs/heads/other")) == []
    with store.write() as writer:
        mark_undone(writer, number, worker="w", task="t", now=6)
    assert (find_landing(store, "w", "t"), all_landings(store)) == (None, [])
    assert landings_on(store, MAIN) == []


def test_a_run_ends_once(store: Store) -> None:
    """A run is open until its end, which counts once; an order is carried out once."""
    with store.write() as writer:
        add_worker(writer, "w", 1)
        run = begin_run(
            writer, "w", "t", command="true", supervisor=(2, "s2"), process=(3, "s3"), origin=HERE,
            now=1,
        )  # fmt: skip
        set_paused(writer, run.id, since_ms=4)
        assert claim_orphan(writer, run.id, after=7)
        assert not claim_orphan(writer, run.id, after=9)
        assert pass_order(writer, run.id, 8)
        assert not pass_order(writer, run.id, 8)
        assert record_stop(writer, run.id, why="enough", kill_at_mono_ms=10)
        assert not record_stop(writer, run.id, why="again", kill_at_mono_ms=11)
    (found,) = open_runs(store)
    orphan = find_orphan(store, run.id)
    assert orphan is not None
    assert (found.pid, found.pid_ns, found.paused_at_ms, found.why) == (3, "ns", 4, "enough")
    assert (orphan.after_seq, orphan.kill_at_mono_ms, orphan.why) == (8, 10, "enough")
    assert is_ordered_to_end(store, found)
    with store.write() as writer:
        assert end_run(writer, run.id, status=0, reason="", now=5)
        assert not end_run(writer, run.id, status=1, reason="", now=6)
    latest = find_latest_run(store, "w")
    assert latest is not None
    assert (open_runs(store), latest.ended_at_ms, find_orphan(store, run.id)) == ([], 5, None)


def test_the_runs_that_a_limit_has_ended(store: Store) -> None:
    """Limits count in a row, and a run that waited for an answer has met none."""
    outcomes = (
        ("waiting", "rate_limit"), ("handed_in", None), ("waiting", None), ("waiting", "rate_limit")
    )  # fmt: skip
    with store.write() as writer:
        add_worker(writer, "w", 1)
        for outcome, failure in outcomes:
            run = begin_run(
                writer, "w", "t", command="true", supervisor=(2, "s2"), process=(3, "s3"),
                origin=HERE, now=1,
            )  # fmt: skip
            record_report(writer, run.id, RunReportRow(outcome=outcome, failure=failure))
            end_run(writer, run.id, status=0, reason="", now=5)
    assert count_runs(store, "w", "t") == RunTally(rounds=1, limits=1)


def test_an_evicted_claim_is_lost(store: Store) -> None:
    """Each new holder of a name gets the next epoch; a holder that was evicted has lost it."""
    at, length = read_instant(), LeaseLength(60_000)
    with store.write() as writer:
        assert insert_claim(writer, "x:db", "auth", length=length, at=at) == 1
        evict_claim(writer, "x:db")
        assert find_stored_claim(writer, "x:db") is None
        assert insert_claim(writer, "x:db", "docs", length=length, at=at) == 3
    found = find_stored_claim(store, "x:db")
    assert found is not None
    assert (found.holder, found.epoch, found.left_ms(at)) == ("docs", 3, 60_000)
    assert (find_granted_epoch(store, "x:db", "auth"), lost_claims(store, "docs")) == (1, [])
    assert lost_claims(store, "auth") == [("x:db", "docs")]
    with store.write() as writer:
        assert not release_claim(writer, "x:db", "auth")
        assert release_claim(writer, "x:db", "docs")


def test_a_window_of_the_queue(store: Store) -> None:
    """A window keeps its workers and verdicts; the next one closes a window that was cut off."""
    workers = [{"worker": "w", "task": "t", "commit": "b"}]
    with store.write() as writer:
        kept = open_window(
            writer, base="a", workers=workers, size=1, actor="hq", machine="other", now=1
        )
        offer_window(writer, kept, Offer(Ref("refs/worker/window/1"), "key"))
        first = open_window(
            writer, base="a", workers=workers, size=1, actor="hq", machine=None, now=1
        )
        record_verdicts(writer, first, [{"prefix": 1, "passed": True}])
        second = open_window(
            writer, base="a", workers=workers, size=1, actor="hq", machine=None, now=2
        )
        close_window(writer, second, "landed", landed=1, verdicts=None, now=3)
    newest, older, elsewhere = newest_windows(store, 9)
    assert (elsewhere.outcome, elsewhere.machine) == (None, "other")
    assert [one.id for one in offers_of_others(store, "mine")] == [kept]
    assert offers_of_others(store, "other") == own_offers(store, "mine") == []
    assert own_offers(store, "other") == [elsewhere]
    assert (newest.outcome, newest.landed, newest.workers) == ("landed", 1, workers)
    assert (older.outcome, older.verdicts) == ("cut_off", [{"prefix": 1, "passed": True}])
