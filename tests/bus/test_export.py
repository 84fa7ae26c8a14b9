"""The log files: every line once, in order and complete, whatever happened to the file before."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.bus.files.export import BATCH, TAIL_BYTES, ExportLock, export_logs, trim_bus_log
from gitworker.bus.publish import Outgoing, publish
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from tests.store.support import ROOT, participant, send

EXPORT = """
import sys
from gitworker.bus.files.export import export_logs
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
paths = StatePaths(sys.argv[1])
store = open_database(paths.database)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    export_logs(store, paths)
"""


def say(store: Database, *names: str) -> None:
    """Publish messages with these ids."""
    with store.write() as writer:
        for name in names:
            publish(writer, Outgoing("x-note", id=name, payload={"n": name}), now=1)


def exported(state: StatePaths) -> list[str]:
    """Return the ids in bus.jsonl; fail if a line is torn."""
    return [json.loads(line)["id"] for line in Path(state.bus_log).read_text().splitlines()]


def test_a_line_is_the_row_as_json(state: StatePaths, store: Database) -> None:
    """A line is the message's row as one JSON object, and export_state follows."""
    say(store, "a")
    export_logs(store, state)
    (line,) = Path(state.bus_log).read_text().splitlines()
    assert json.loads(line) == {
        "seq": 1, "id": "a", "ts_ms": 1, "from_agent": "hq", "to_agent": None, "type": "x-note",
        "correlation_id": None, "in_reply_to": None, "payload": '{"n":"a"}', "payload_ref": None,
    }  # fmt: skip
    assert store.row("exports.bus_seq") == {"last_seq": 1}


def test_export_continues_from_its_position(state: StatePaths, store: Database) -> None:
    """Repeating an export adds only what is new, in any number of batches."""
    names = [f"m{number}" for number in range(BATCH * 2 + 3)]
    for chunk in (names[:1], names[1:], []):
        say(store, *chunk)
        export_logs(store, state)
    assert exported(state) == names
    assert Path(state.transition_log).read_bytes() == b""


def test_a_torn_last_line_is_repaired(state: StatePaths, store: Database) -> None:
    """Bytes that a killed exporter left behind the recorded size are cut off and written again."""
    say(store, "a")
    export_logs(store, state)
    with open(state.bus_log, "a", encoding="utf-8") as file:
        file.write('{"seq":2,"id":"b"')
    say(store, "b")
    export_logs(store, state)
    assert exported(state) == ["a", "b"]


def test_killed_between_file_and_position(state: StatePaths, store: Database) -> None:
    """Lines written before a kill that lost the position are in the file once."""
    say(store, "a")
    export_logs(store, state)
    before = store.row("exports.position", log="bus")
    assert before is not None
    say(store, "b", "c")
    export_logs(store, state)
    with store.write() as writer:
        writer.run("exports.set_position", log="bus", **before)
        writer.run("exports.set_bus_seq", last_seq=before["last_seq"])
    say(store, "d")
    export_logs(store, state)
    assert exported(state) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("keep", [None, 0, 10, 60])
def test_a_damaged_file_is_rewritten(state: StatePaths, store: Database, keep: int | None) -> None:
    """A removed, emptied or shortened file is complete again after the next export."""
    say(store, "a", "b")
    export_logs(store, state)
    log = Path(state.bus_log)
    if keep is None:
        log.unlink()
    else:
        log.write_bytes(log.read_bytes()[:keep])
    export_logs(store, state)
    assert exported(state) == ["a", "b"]


def test_the_logs_of_a_lost_database_are_kept(state: StatePaths, store: Database) -> None:
    """Logs of which the database knows nothing are moved to the archive, and new ones begin."""
    for path in (state.bus_log, state.transition_log):
        Path(path).write_text("of the lost database\n")
    say(store, "a")
    export_logs(store, state)
    assert exported(state) == ["a"]
    kept = sorted(Path(state.archive).iterdir())
    assert [path.name.rpartition("-")[0] for path in kept] == ["bus-lost", "transitions-lost"]
    assert {path.read_text() for path in kept} == {"of the lost database\n"}
    assert store.row("exports.position", log="transitions") is not None
    export_logs(store, state)
    assert len(list(Path(state.archive).iterdir())) == 2


def test_a_removed_file_after_a_foreign_export(state: StatePaths, store: Database) -> None:
    """A file removed after another program exported is still written from the start."""
    say(store, "a", "b")
    with store.write() as writer:
        writer.run("exports.set_bus_seq", last_seq=2)
    export_logs(store, state)
    assert exported(state) == ["a", "b"]


def test_exporters_may_race(state: StatePaths, store: Database) -> None:
    """Four exporters at once, while messages come in, write every line once and in order."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", EXPORT, state.root], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]  # fmt: skip
    for racer in racers:
        assert racer.stdin is not None
        assert racer.stdout is not None
        racer.stdout.readline()
        racer.stdin.write("\n")
        racer.stdin.flush()
    names = [f"m{number}" for number in range(100)]
    for name in names:
        say(store, name)
    for racer in racers:
        racer.communicate()
        assert racer.returncode == 0
    export_logs(store, state)
    assert exported(state) == names


def test_the_transition_log_holds_the_lines_of_transitions(
    state: StatePaths, store: Database
) -> None:
    """Each transition's lines follow each other in order; one without lines leaves no trace."""
    with store.write() as writer:
        writer.run("workers.insert", worker="w", now=1)
        steps = [("IDLE", "assign", "ASSIGNED"), ("ASSIGNED", "cancel", "IDLE")] * 2
        for number, (origin, event, target) in enumerate(steps):
            lines = [{"n": number, "part": part} for part in range(number)]
            writer.run(
                "transitions.insert",
                ts_ms=1, machine="worker", entity="w", version=number + 1, from_state=origin,
                event=event, to_state=target, actor="hq", metadata="{}", lines=json.dumps(lines),
            )  # fmt: skip
    export_logs(store, state)
    text = Path(state.transition_log).read_text()
    found = [json.loads(line) for line in text.splitlines()]
    assert [(line["n"], line["part"]) for line in found] == [
        (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2),
    ]  # fmt: skip
    export_logs(store, state)
    assert Path(state.transition_log).read_text() == text


@pytest.mark.parametrize(
    "step", [pytest.param("13", id="some"), pytest.param("1", id="all", marks=pytest.mark.slow)]
)
def test_killed_at_every_size(state: StatePaths, store: Database, step: str) -> None:
    """Killed at any byte, beside a foreign exporter, no line is doubled, torn or missing."""
    script = [sys.executable, "-m", "tests.bus.dying", state.root, "0", "330", step]
    done = subprocess.run(script, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    export_logs(store, state)
    table = [row["id"] for row in store.rows("messages.follow", after=0, limit=10_000)]
    assert len(table) == 2 * len(range(0, 330, int(step)))
    assert exported(state) == table


@pytest.mark.parametrize("text", ["x" * 400 + "\n", "x" * 400, '{"seq":9,"id":"b"}\n' * 30])
def test_a_replaced_file_is_rewritten(state: StatePaths, store: Database, text: str) -> None:
    """A file with other content at the place of our last line is not continued but rewritten."""
    say(store, "a", "b")
    export_logs(store, state)
    Path(state.bus_log).write_text(text)
    say(store, "c")
    export_logs(store, state)
    assert exported(state) == ["a", "b", "c"]


def test_lines_longer_than_the_checked_tail(state: StatePaths, store: Database) -> None:
    """After a line that is longer than the checked tail, the export still continues."""
    send(store, "long", payload='"' + "x" * TAIL_BYTES * 2 + '"')
    export_logs(store, state)
    inode = Path(state.bus_log).read_bytes()
    send(store, "next")
    export_logs(store, state)
    assert exported(state) == ["long", "next"]
    assert Path(state.bus_log).read_bytes().startswith(inode)


@pytest.mark.parametrize(
    ("text", "recorded", "ids"),
    [
        ('{"seq": 1, "id": "A"}\n', 1, ["A", "b", "c"]),
        ('{"seq": 1, "id": "A"}\n{"seq": 2, "id": "B"}\n{"se', 1, ["A", "b", "c"]),
        ('{"seq": 1, "id": "A"}\nno json\n', 2, ["A", "b", "c"]),
        ('{"seq": 1, "id": "A"}\n[]\n', 2, ["A", "b", "c"]),
        ('{"seq": 1, "id": "A"}\n{"seq": 2, "id": "B"}', 2, ["A", "b", "c"]),
        ("", 2, ["a", "b", "c"]),
        ('{"seq": 1, "id": "A"}\n', 0, ["a", "b", "c"]),
    ],
)
def test_a_file_of_another_program(
    state: StatePaths, store: Database, text: str, recorded: int, ids: list[str]
) -> None:
    """Lines that another program wrote and recorded stay; unrecorded ones are rewritten."""
    say(store, "a", "b", "c")
    Path(state.bus_log).write_text(text)
    with store.write() as writer:
        writer.run("exports.set_bus_seq", last_seq=recorded)
    export_logs(store, state)
    export_logs(store, state)
    assert exported(state) == ids


def test_lines_of_messages_that_another_program_deleted(state: StatePaths, store: Database) -> None:
    """Lines that another program exported and then deleted from the bus stay in the file."""
    say(store, "a")
    export_logs(store, state)
    say(store, "b", "c", "d")
    participant(state.root, "export")
    with open(state.bus_log, "a", encoding="utf-8") as file:
        file.write('{"seq": 4, "id": "d"}\n{"se')
    store.execute("DELETE FROM messages WHERE seq < 4")
    say(store, "e")
    export_logs(store, state)
    export_logs(store, state)
    assert exported(state) == ["a", "b", "c", "d", "e"]


def test_trimming_keeps_the_messages_of_the_table(state: StatePaths, store: Database) -> None:
    """A trimmed file holds the table's messages, and later exports append to it."""
    say(store, *(f"m{number}" for number in range(BATCH + 5)))
    export_logs(store, state)
    store.execute("DELETE FROM messages WHERE seq <= 500")
    trim_bus_log(store, state)
    assert exported(state) == [f"m{number}" for number in range(500, BATCH + 5)]
    text = Path(state.bus_log).read_bytes()
    trim_bus_log(store, state)
    assert Path(state.bus_log).read_bytes() == text
    say(store, "next")
    export_logs(store, state)
    assert exported(state)[-2:] == [f"m{BATCH + 4}", "next"]
    store.execute("DELETE FROM messages")
    trim_bus_log(store, state)
    assert exported(state) == []
    say(store, "last")
    export_logs(store, state)
    assert exported(state) == ["last"]
    assert sorted(path.name for path in Path(state.root).glob("bus.jsonl*")) == ["bus.jsonl"]


def test_a_stopped_exporter_blocks_no_publisher(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher that cannot have the lock skips the export; the line is written later."""
    monkeypatch.setattr("gitworker.bus.files.export.WAIT_MS", 20)
    say(store, "a")
    with ExportLock(state):
        assert not export_logs(store, state)
        assert not Path(state.bus_log).exists()
    assert export_logs(store, state)
    assert exported(state) == ["a"]
