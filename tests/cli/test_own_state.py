"""A project's own `.worker-state` with a bus: adopted once, with a copy, or refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.kit import ok, run
from tests.store.support import SEED2, foreign, foreign_script, participant
from tests.workers.world import World

BLOB = "sha256-" + "ab" * 32
COMMANDS = (("init",), ("spawn", "auth", "login"), ("msg", "send", "x-note"))
READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT COUNT(*) FROM messages").fetchone()[0], flush=True)
sys.stdin.read()
"""
ROWS = (
    "SELECT seq, id, type, payload, payload_ref FROM messages ORDER BY seq LIMIT 2",
    "SELECT agent_id, last_acked_seq FROM cursors WHERE agent_id = 'worker-auth'",
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return a repository with a bus of the project's own."""
    made = World.make(tmp_path / "repo")
    make_own(made)
    return made


def make_own(world: World) -> Path:
    """Make a bus with rows, a blob and a file of the project."""
    own = world.root / ".worker-state"
    (own / "blobs").mkdir(parents=True)
    foreign_script(own / "bus.db", SEED2)
    (own / "blobs" / BLOB).write_text("large")
    (own / "notes").write_text("the project's")
    return own


def tree(own: Path) -> dict[str, bytes]:
    """Return the files below a directory, without those that SQLite makes while it is open."""
    return {
        str(path.relative_to(own)): path.read_bytes()
        for path in own.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: str(words[0]))
def test_adopted(world: World, words: tuple[str, ...]) -> None:
    """The first command makes the bus ours, with rows and blobs, and keeps all of it as it was."""
    own = world.root / ".worker-state"
    before, rows = tree(own), foreign(own / "bus.db", *ROWS)
    answer = run(world.root, *words)
    assert (answer.status, "adopted the bus of" in answer.err) == (0, True)
    assert own.is_symlink()
    assert tree(world.state_dir / "adopted") == before
    assert foreign(own / "bus.db", *ROWS) == rows
    assert (own / "blobs" / BLOB).read_text() == "large"
    assert run(world.root, "spawn", "ui", "form").err == ""  # exports the messages
    lines = (own / "bus.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines][:2] == [1, 2]
    published = participant(own, "publish", "nim", '{"type": "x-note", "to": "hq"}')
    assert published in ok(world.root, "msg", "poll", "--as", "hq", "--json")
    assert world.git("status", "--porcelain") == ""


def test_continued(world: World) -> None:
    """An adoption that was killed after the move continues with the next command."""
    own = world.root / ".worker-state"
    world.state_dir.mkdir()
    own.rename(world.state_dir / "adopted")
    ok(world.root, "init")
    assert foreign(own / "bus.db", "SELECT COUNT(*) FROM workers") == [[[0]]]
    assert (own / "blobs" / BLOB).exists()


def test_in_use(world: World) -> None:
    """A bus that another program has open is refused and stays; afterwards it is adopted."""
    own = world.root / ".worker-state"
    user = subprocess.Popen(
        [sys.executable, "-c", READER, own / "bus.db"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert user.stdout is not None
    assert user.stdout.readline() == b"2\n"
    before = tree(own)
    answer = run(world.root, "init")
    assert (answer.status, "another program has" in answer.err) == (3, True)
    assert tree(own) == before
    user.communicate(b"")
    ok(world.root, "init")
    assert own.is_symlink()


@pytest.mark.parametrize("damage", ["protocol", "noise"])
def test_unusable(world: World, damage: str) -> None:
    """A bus of another protocol, and a damaged one, is refused and stays in its place."""
    own = world.root / ".worker-state"
    if damage == "protocol":
        foreign(own / "bus.db", "UPDATE meta SET value = '2' WHERE key = 'schema_version'")
    else:
        (own / "bus.db").write_bytes(b"no database\n" * 99)
    before = tree(own)
    for words in COMMANDS:
        answer = run(world.root, *words)
        assert answer.status == 1
        assert ".worker-state/bus.db" in answer.err
    assert tree(own) == before


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE Agents (name TEXT)", "CREATE VIEW runs AS SELECT 1 AS n"]
)
def test_a_table_named_like_ours(world: World, sql: str) -> None:
    """A bus with a table or a view that has the name of one of ours is refused and stays."""
    own = world.root / ".worker-state"
    foreign(own / "bus.db", sql)
    before = tree(own)
    answer = run(world.root, "init")
    assert (answer.status, "whose name gitworker needs" in answer.err) == (1, True)
    assert tree(own) == before
    assert not (world.state_dir / "adopted").exists()


def test_two_buses(tmp_path: Path) -> None:
    """A bus that is made beside ours is refused by one message; its hint helps."""
    world = World.make(tmp_path / "repo")
    ok(world.root, "init")
    (world.root / ".worker-state").unlink()
    before = tree(make_own(world))
    for words in (("msg", "send", "x-note", "{}"), ("msg", "poll"), ("status",)):
        answer = run(world.root, *words)
        assert (answer.status, "holds a bus of its own" in answer.err) == (1, True)
    hint = next(line for line in answer.err.splitlines() if line.startswith("hint: "))
    assert hint.startswith("hint: mv ")
    source, target = hint.removeprefix("hint: mv ").partition("   ")[0].split()
    Path(source).rename(target)
    ok(world.root, "status")
    assert tree(Path(target)) == before


def test_a_bus_in_a_linked_worktree(tmp_path: Path) -> None:
    """A bus in another checkout of the repository is refused there, before and after `init`."""
    world = World.make(tmp_path / "repo")
    world.git("worktree", "add", "-q", "../linked")
    linked = tmp_path / "linked"
    (linked / ".worker-state").mkdir()
    (linked / ".worker-state" / "bus.db").write_bytes(b"of another program")
    for words in (("init",), ("status",)):
        assert "holds a bus of its own" in run(linked, *words).err
    ok(world.root, "init")
    assert "holds a bus of its own" in run(linked, "msg", "poll").err


def test_a_bus_before_the_setup(world: World) -> None:
    """A screen that finds no state of ours names the bus of another program."""
    answer = run(world.root, "status")
    assert f"{world.root}/.worker-state holds a bus" in answer.err
    assert "hint: git worker init" in answer.err
