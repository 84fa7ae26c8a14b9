"""Retention: which messages are archived, and that a kill at any point loses or doubles none."""

import fcntl
import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitworker.bus import open_bus
from gitworker.bus.blobs import save_blob
from gitworker.bus.files.collect_blobs import CollectedBlobs, collect_blobs
from gitworker.bus.files.export import export_logs
from gitworker.bus.files.retention import CHUNK, PrunePlan, PruneRequest, plan_prune, prune
from gitworker.bus.files.rules_retention import DAY_MS
from gitworker.bus.limits.send_limits import Limits
from gitworker.bus.search.search_messages import search
from gitworker.bus.send import MessageDraft
from gitworker.bus.send import send as send_checked
from gitworker.errors import Conflict, Unavailable
from gitworker.paths import StatePaths
from gitworker.store.messages.mailbox import begin_cursor
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database, open_database
from tests.bus.conftest import DIRECTORIES
from tests.store.disks import fill as fill_disk
from tests.store.disks import small_disk
from tests.store.support import SEED2, foreign, foreign_script, send

NOW = 1_800_000_000_000
OLD = NOW - 40 * DAY_MS
YOUNG = NOW - DAY_MS
KILLED = -9
PRUNE = """
import sys
from gitworker.bus.files.retention import PruneRequest, prune
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
paths = StatePaths(sys.argv[1])
request = PruneRequest(int(sys.argv[2]), frozenset(), 1 << 60, sys.argv[3] == "True")
prune(open_database(paths.database), paths, request)
"""
POINTS = (
    "prune.journal", "prune.content", "prune.written", "prune.renamed", "prune.chunk",
    "trim.replaced",
)  # fmt: skip
QUICK = {"prune.content", "prune.renamed", "trim.replaced"}  # `make test` kills at all of them


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pin the day, for child processes too."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW))


def request(*living: str, archiving: bool = True) -> PruneRequest:
    """Ask for messages older than 30 days; agents that only acknowledge lately hold none back."""
    return PruneRequest(NOW - 30 * DAY_MS, frozenset(living), since_ms=1 << 60, archiving=archiving)


def fill(store: Database, old: int, young: int = 2) -> None:
    """Publish old messages `o1…`, then young ones `y1…`."""
    with store.write() as writer:
        for name, ts_ms in [(f"o{n}", OLD) for n in range(1, old + 1)] + [
            (f"y{n}", YOUNG) for n in range(1, young + 1)
        ]:
            writer.run(
                "messages.publish",
                id=name, ts_ms=ts_ms, from_agent="hq", to_agent=None, type="x-note",
                correlation_id=None, in_reply_to=None, payload=None, payload_ref=None,
            )  # fmt: skip


def ids(store: Database) -> list[str]:
    """Return the ids of the messages in the table."""
    return [row["id"] for row in store.rows("messages.follow", after=0, limit=1 << 30)]


def exported(state: StatePaths) -> list[str]:
    """Return the ids in bus.jsonl; fail if a line is torn."""
    return [json.loads(line)["id"] for line in Path(state.bus_log).read_text().splitlines()]


def archived(state: StatePaths) -> list[dict[str, Any]]:
    """Return the lines of all archives, in the order of their names."""
    found = []
    for path in sorted(Path(state.archive).glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            found += [json.loads(line) for line in file]
    return found


def test_old_messages_go_into_an_archive(state: StatePaths, store: Database) -> None:
    """Messages older than the limit are in an archive and nowhere else; younger ones stay."""
    fill(store, old=CHUNK * 2 + 7)
    export_logs(store, state)
    before = Path(state.bus_log).read_bytes().splitlines()
    done = prune(store, state, request())
    assert done.plan == PrunePlan(CHUNK * 2 + 7, 1, CHUNK * 2 + 7, 0, None)
    assert done.archive == f"{state.archive}/bus-1-{CHUNK * 2 + 7}.jsonl.gz"
    with gzip.open(done.archive, "rb") as file:
        assert file.read().splitlines() == before[:-2]
    assert ids(store) == exported(state) == ["y1", "y2"]
    assert store.row("exports.bus_seq") == {"last_seq": CHUNK * 2 + 9}
    assert prune(store, state, request()).archive is None
    send(store, "next")
    export_logs(store, state)
    assert exported(state) == ["y1", "y2", "next"]


def test_without_an_archive(state: StatePaths, store: Database) -> None:
    """Without archiving, nothing is kept."""
    fill(store, old=CHUNK + 3)
    done = prune(store, state, request(archiving=False))
    assert (done.archive, done.plan.messages) == (None, CHUNK + 3)
    assert ids(store) == exported(state) == ["y1", "y2"]
    assert archived(state) == []


def test_nothing_to_do(state: StatePaths, store: Database) -> None:
    """An empty bus, and one whose messages are all young, are left as they are."""
    assert prune(store, state, request()).plan == PrunePlan(0, 0, 0, 0, None)
    fill(store, old=0)
    export_logs(store, state)
    text = Path(state.bus_log).read_bytes()
    assert prune(store, state, request()).archive is None
    assert Path(state.bus_log).read_bytes() == text
    assert ids(store) == ["y1", "y2"]


@pytest.mark.parametrize(
    ("cursors", "living", "left", "held_by"),
    [
        ({}, ("a",), ["y1", "y2"], None),
        ({"a": 2}, ("a",), ["o3", "o4", "y1", "y2"], "a"),
        ({"a": 2}, (), ["y1", "y2"], None),
        ({"a": 3, "b": 1}, ("a", "b"), ["o2", "o3", "o4", "y1", "y2"], "b"),
        ({"a": 6}, ("a",), ["y1", "y2"], None),
        ({"a": 5}, ("a",), ["y1", "y2"], "a"),
    ],
)
def test_living_agents_keep_their_unread_messages(
    state: StatePaths,
    store: Database,
    cursors: dict[str, int],
    living: tuple[str, ...],
    left: list[str],
    held_by: str | None,
) -> None:
    """The lowest cursor of a living agent counts; dead agents and non-readers hold nothing back."""
    fill(store, old=4)
    for agent, seq in cursors.items():
        with store.write() as writer:
            writer.run("messages.ack", agent=agent, seq=seq, now=OLD)
    assert prune(store, state, request(*living)).plan.held_by == held_by
    assert ids(store) == left


def test_messages_to_others_do_not_hold_back_a_prune(state: StatePaths, store: Database) -> None:
    """A cursor without newer messages for its agent does not end the prune."""
    for number in range(3):
        send(store, f"b{number}", to_agent="b", ts_ms=OLD)
    with store.write() as writer:
        writer.run("messages.ack", agent="a", seq=0, now=OLD)
    assert plan_prune(store, request("a")).messages == 3


def test_a_living_agent_that_never_acknowledged(store: Database) -> None:
    """Messages sent to it alone stay; broadcasts do not wait for an agent that reads nothing."""
    fill(store, old=2, young=0)
    for number in range(2):
        send(store, f"a{number}", to_agent="a", ts_ms=OLD)
    assert plan_prune(store, request("a", "b"))[:5] == (2, 1, 2, 0, "a")
    assert plan_prune(store, request("b")).messages == 4


def test_an_agent_that_acknowledged_lately_lives(state: StatePaths, store: Database) -> None:
    """An agent that polls without any heartbeat keeps its unread messages."""
    fill(store, old=3)
    with store.write() as writer:
        writer.run("messages.ack", agent="nim", seq=1, now=NOW)
    asked = request()._replace(since_ms=NOW - 1000)
    assert plan_prune(store, asked)[:5] == (1, 1, 1, 0, "nim")


def test_odd_times_end_nothing(state: StatePaths, store: Database) -> None:
    """A message from the future stays; a text is read as far as it is a number."""
    fill(store, old=2, young=0)
    send(store, "future", ts_ms=NOW + DAY_MS)
    insert = (
        "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('odd', '2026-01-01', 'n', 't')"
    )
    assert foreign(state.database, insert) == [[]]
    for name in ("p1", "p2"):
        send(store, name, ts_ms=OLD)
    prune(store, state, request())
    assert ids(store) == ["future"]
    assert [entry["id"] for entry in archived(state)] == ["o1", "o2", "odd", "p1", "p2"]


def test_large_payloads_move_into_the_archive(state: StatePaths, store: Database) -> None:
    """A blob is deleted with its last message and archived with it; blobs still in use stay."""
    shared = save_blob(state.blobs, b'{"shared": 1}')
    alone = save_blob(state.blobs, '{"alone": "ü"}'.encode())
    raw = b"\xff\xfe"
    foreign_ref = f"sha256-{hashlib.sha256(raw).hexdigest()}"
    (Path(state.blobs) / foreign_ref).write_bytes(raw)
    kept = save_blob(state.blobs, b'"of a dead letter"')
    missing = "sha256-" + "0" * 64
    for number, ref in enumerate([shared, alone, foreign_ref, kept, missing, "../../etc/passwd"]):
        send(store, f"m{number}", ts_ms=OLD, payload_ref=ref)
    send(store, "new", ts_ms=YOUNG, payload_ref=shared)
    dead_letter(store, 4, ref=kept, dead_at_ms=YOUNG)
    age(state)
    done = prune(store, state, request())
    assert [(e.get("blob"), e.get("blob_base64")) for e in archived(state)] == [
        ('{"shared": 1}', None), ('{"alone": "ü"}', None), (None, "//4="),
        ('"of a dead letter"', None), (None, None), (None, None),
    ]  # fmt: skip
    assert set(os.listdir(state.blobs)) == {shared, kept}
    assert done.collected == CollectedBlobs(2, len('{"alone": "ü"}'.encode()) + 2)


def test_young_blobs_are_left_alone(state: StatePaths, store: Database) -> None:
    """A blob whose message may still come stays, and so does a file that is not our blob."""
    ref = save_blob(state.blobs, b'"on its way"')
    young(state, ref)
    assert collect_blobs(store, state.blobs, now_ms=NOW) == CollectedBlobs(0, 0)
    (Path(state.blobs) / "notes.txt").write_text("mine")
    (Path(state.blobs) / f".{ref}.123.tmp").write_text("half")
    age(state)
    assert collect_blobs(store, state.blobs, now_ms=NOW) == CollectedBlobs(1, len('"on its way"'))
    assert os.listdir(state.blobs) == ["notes.txt"]
    assert collect_blobs(store, f"{state.blobs}/none", now_ms=NOW) == CollectedBlobs(0, 0)


def test_old_dead_letters_are_archived(state: StatePaths, store: Database) -> None:
    """An old dead letter is archived with its error; alone, it has an archive of its own name."""
    dead_letter(store, 7, dead_at_ms=OLD)
    dead_letter(store, 8, dead_at_ms=YOUNG)
    done = prune(store, state, request())
    assert done.archive == f"{state.archive}/dead-letters-1-1.jsonl.gz"
    (entry,) = archived(state)
    assert (entry["dead_letter"], entry["seq"], entry["error"]) == (1, 7, "it broke")
    assert [row["id"] for row in store.execute("SELECT id FROM dead_letters")] == [2]
    dead_letter(store, 9, dead_at_ms=OLD)
    again = prune(store, state, request())
    assert again.archive == f"{state.archive}/dead-letters-1-1.2.jsonl.gz"
    dead_letter(store, 10, dead_at_ms=OLD)
    prune(store, state, request(archiving=False))
    assert [row["id"] for row in store.execute("SELECT id FROM dead_letters")] == [2]


def test_side_tables(state: StatePaths, store: Database) -> None:
    """Attempts at pruned messages and budgets of silent senders are deleted; transitions stay."""
    fill(store, old=1, young=1)
    for seq in (1, 2):
        store.execute(f"INSERT INTO deliveries VALUES ('a', {seq}, 1, '', 0)")
    store.execute(f"INSERT INTO send_budgets VALUES ('old', 1.0, {OLD}), ('new', 1.0, {NOW})")
    store.execute(
        f"INSERT INTO own_rewrites VALUES ('refs/heads/x', 'n', 'o', {OLD}),"
        f" ('refs/heads/x', 'm', 'o', {NOW})"
    )
    prune(store, state, request())
    assert [row["seq"] for row in store.execute("SELECT seq FROM deliveries")] == [2]
    assert [row["agent_id"] for row in store.execute("SELECT agent_id FROM send_budgets")] == [
        "new"
    ]
    assert [row["new_oid"] for row in store.execute("SELECT new_oid FROM own_rewrites")] == ["m"]


def test_the_file_shrinks(state: StatePaths, store: Database) -> None:
    """All free pages are returned to the file system."""
    for start in range(0, 3000, 500):
        with store.write(durable=False) as writer:
            for number in range(start, start + 500):
                writer.run(
                    "messages.publish",
                    id=str(number), ts_ms=OLD, from_agent="hq", to_agent=None, type="x-note",
                    correlation_id=None, in_reply_to=None, payload=json.dumps("x" * 900),
                    payload_ref=None,
                )  # fmt: skip
    checkpoint(store)
    before = os.path.getsize(state.database)
    done = prune(store, state, request())
    checkpoint(store)
    assert store.row("retention.free_pages") == {"freelist_count": 0}
    assert os.path.getsize(state.database) < before / 4
    assert done.freed_bytes > before / 2


def test_one_prune_at_a_time(state: StatePaths, store: Database) -> None:
    """A second prune is refused while one runs."""
    with open(f"{state.locks}/prune", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Conflict, match="another prune"):
            prune(store, state, request())


@pytest.mark.parametrize(
    "point",
    [pytest.param(p, marks=() if p in QUICK else pytest.mark.slow) for p in POINTS],
)
def test_killed_anywhere(tmp_path: Path, state: StatePaths, store: Database, point: str) -> None:
    """After a kill every message is in the table or in one archive, and the next run finishes."""
    fill(store, old=CHUNK + 20)
    dead_letter(store, 3, dead_at_ms=OLD)
    export_logs(store, state)
    done = killed(state, point)
    assert done.returncode == KILLED, done.stderr
    wanted = [f"o{n}" for n in range(1, CHUNK + 21)]
    anywhere = {entry["id"] for entry in archived(state)} | set(ids(store))
    assert anywhere >= {*wanted, "y1", "y2"}
    send(store, "later", ts_ms=YOUNG)
    export_logs(store, state)
    assert exported(state)[-3:] == ["y1", "y2", "later"]
    prune(store, state, request())
    assert [e["id"] for e in archived(state) if "dead_letter" not in e] == wanted
    assert [e["seq"] for e in archived(state) if "dead_letter" in e] == [3]
    assert ids(store) == exported(state) == ["y1", "y2", "later"]
    assert not list(Path(state.archive).glob(".*"))
    assert store.execute("SELECT COUNT(*) AS n FROM archives WHERE step <> 'done'") == [{"n": 0}]


def test_killed_without_an_archive(state: StatePaths, store: Database) -> None:
    """After a kill the next prune continues, and the log file follows even if nothing is left."""
    fill(store, old=CHUNK)
    export_logs(store, state)
    assert killed(state, "prune.chunk", archiving=False).returncode == KILLED
    assert ids(store) == ["y1", "y2"]
    assert len(exported(state)) == CHUNK + 2
    assert prune(store, state, request(archiving=False)).plan.messages == 0
    assert exported(state) == ["y1", "y2"]
    assert archived(state) == []


def test_a_damaged_archive_deletes_nothing(state: StatePaths, store: Database) -> None:
    """An unreadable archive of a killed prune is set aside and written again."""
    fill(store, old=CHUNK + 1)
    assert killed(state, "prune.renamed").returncode == KILLED
    (path,) = Path(state.archive).glob("*.gz")
    path.write_bytes(path.read_bytes()[:-20])
    prune(store, state, request())
    assert len(archived(state)) == CHUNK + 1
    assert ids(store) == ["y1", "y2"]
    assert Path(f"{path}.damaged").exists()


def test_a_removed_archive(state: StatePaths, store: Database) -> None:
    """If the file of a killed run is missing, its messages are archived again."""
    fill(store, old=3)
    assert killed(state, "prune.renamed").returncode == KILLED
    (path,) = Path(state.archive).glob("*.gz")
    path.unlink()
    prune(store, state, request())
    assert [entry["id"] for entry in archived(state)] == ["o1", "o2", "o3"]


def test_an_archive_that_cannot_be_written(state: StatePaths, store: Database) -> None:
    """If the archive cannot be written, nothing is deleted, and the next run succeeds."""
    fill(store, old=3)
    archive = Path(state.archive)
    archive.rmdir()
    with pytest.raises(Unavailable, match="archive"):
        prune(store, state, request())
    assert ids(store) == ["o1", "o2", "o3", "y1", "y2"]
    archive.mkdir()
    prune(store, state, request())
    assert ids(store) == ["y1", "y2"]


def test_an_adopted_database_is_pruned_too(tmp_path: Path) -> None:
    """A database of another program, without auto_vacuum, is pruned too."""
    paths = StatePaths(str(tmp_path / "adopted"))
    for name in DIRECTORIES:
        (tmp_path / "adopted" / name).mkdir(parents=True)
    foreign_script(paths.database, SEED2)
    store = open_database(paths.database)
    try:
        fill(store, old=CHUNK)
        assert prune(store, paths, request()).plan.messages >= CHUNK
        assert ids(store) == ["y1", "y2"]
    finally:
        store.close()


def killed(
    state: StatePaths, point: str, *, archiving: bool = True
) -> "subprocess.CompletedProcess[str]":
    """Prune in a separate process that dies at a point."""
    return subprocess.run(
        [sys.executable, "-c", PRUNE, state.root, str(NOW - 30 * DAY_MS), str(archiving)],
        env={**os.environ, "GITWORKER_CRASH_AT": point},
        check=False, capture_output=True, text=True,
    )  # fmt: skip


def dead_letter(store: Database, seq: int, *, dead_at_ms: int, ref: str | None = None) -> None:
    """Insert a dead letter of one message into its table."""
    store.execute(
        "INSERT INTO dead_letters (agent_id, seq, message_id, ts_ms, from_agent, type, payload_ref,"
        " attempts, error, dead_at_ms) VALUES ('a', :seq, 'm' || :seq, 1, 'hq', 'x-note', :ref, 3,"
        " 'it broke', :dead_at_ms)",
        {"seq": seq, "ref": ref, "dead_at_ms": dead_at_ms},
    )


def age(state: StatePaths) -> None:
    """Make every blob older than a day by the pinned clock."""
    for path in Path(state.blobs).iterdir():
        os.utime(path, (OLD / 1000, OLD / 1000))


def young(state: StatePaths, ref: str) -> None:
    """Make one blob as young as a message that is being published."""
    os.utime(f"{state.blobs}/{ref}", (NOW / 1000, NOW / 1000))


def checkpoint(store: Database) -> None:
    """Move the write-ahead log into the database file."""
    with store.gate():
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Collecting:
    """A store in which a prune collects every blob just before a message that refers to one."""

    def __init__(self, store: Database, blobs: str) -> None:
        self._store = store
        self._blobs = blobs

    def __getattr__(self, name: str) -> Any:
        """Return every other attribute of the store."""
        return getattr(self._store, name)

    def write_one(self, query: str, **values: Any) -> int:
        """Collect, then write."""
        for path in Path(self._blobs).iterdir():
            path.unlink()
        return self._store.write_one(query, **values)


def test_a_blob_collected_too_soon_is_saved_again(state: StatePaths, store: Database) -> None:
    """A blob collected between its write and its message exists when the publish returns."""
    collecting = Collecting(store, state.blobs)
    draft = MessageDraft("x-note", json.dumps("x" * 5000))
    send_checked(collecting, draft, sender="hq", task=None, blobs=state.blobs, limits=Limits())
    assert len(os.listdir(state.blobs)) == 1
    with open_bus(state.root, agent="hq") as bus:
        bus._own.store = collecting
        bus.publish("x-note", "y" * 5000)
        read = [message["payload"] for message in bus.poll()]
        bus._own.store = store
    assert read == [None, "y" * 5000], "the second message has its blob"
    assert len(os.listdir(state.blobs)) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    """On a full disk a prune and a search fail clearly, lose nothing, and succeed with space."""
    with small_disk(tmp_path / "disk", size_kib=4096) as disk:
        state = StatePaths(str(disk / "worker-state"))
        for name in DIRECTORIES:
            Path(state.root, name).mkdir(parents=True)
        store = create_database(state.database)
        fill(store, old=600)
        export_logs(store, state)
        filler = fill_disk(disk)
        with pytest.raises(Unavailable) as caught:
            prune(store, state, request())
        assert caught.value.code == "disk"
        with pytest.raises(Unavailable) as caught:
            search(store, state, ["note"])
        assert caught.value.code == "disk"
        assert len(ids(store)) == 602
        filler.unlink()
        prune(store, state, request())
        assert ids(store) == exported(state) == ["y1", "y2"]
        assert len(archived(state)) == 600
        assert len(search(store, state, ["note"])) == 2
        store.close()


def test_a_start_position_holds_back_nothing(store: Database, state: StatePaths) -> None:
    """A worker that has never read keeps messages to it, as an agent without a cursor does."""
    send(store, "broadcast", ts_ms=OLD)
    with store.write() as writer:
        begin_cursor(writer, "new")
    send(store, "later", ts_ms=OLD)
    assert plan_prune(store, request("new")).messages == 2
    send(store, "own", ts_ms=OLD, to_agent="new")
    plan = plan_prune(store, request("new"))
    assert (plan.messages, plan.held_by) == (2, "new")
