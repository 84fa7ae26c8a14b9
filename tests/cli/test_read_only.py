"""A repository whose git directory is on a read-only mount, as in Codex' default sandbox."""

from pathlib import Path

import pytest

from tests.cli.kit import Answer, ok, run
from tests.liveness.boxes import inside, needs_boxes, read_only
from tests.store.support import foreign
from tests.workers.world import World

pytestmark = needs_boxes()
READS = (
    ("show", "auth"), ("status",), ("status", "--json"), ("list",), ("log",), ("log", "auth"),
    ("diff", "auth"), ("diff", "auth", "--stat"), ("conflicts",), ("conflicts", "auth", "--json"),
    ("fsck",), ("path", "auth"), ("agents",), ("claim", "list"), ("task", "list"), ("queue",),
    ("msg", "search", "assign"), ("msg", "stats"), ("msg", "show", "1"),
    ("msg", "poll", "--no-ack", "--as", "auth"), ("pool",), ("trust", "--list"), ("undo", "--list"),
    ("hooks", "status"), ("run", "--dry-run", "--", "true"), ("task", "ready"), ("task", "graph"),
    ("stats",), ("inbox",), ("questions",),
)  # fmt: skip
WRITES = (
    ("start", "auth"), ("heartbeat", "auth"), ("done", "auth"),
    ("done", "auth", "--commit", "-m", "x"), ("fail", "auth", "-m", "x"), ("cancel", "auth"),
    ("approve", "auth"), ("merge", "auth"), ("spawn", "new", "t9"), ("assign", "idle", "t9"),
    ("exec", "auth", "--", "true"), ("claim", "take", "x"), ("msg", "send", "log", "{}"),
    ("msg", "poll", "--as", "auth"), ("msg", "ack", "1"), ("undo",), ("gc",), ("recover",),
    ("init",), ("sync",), ("adopt", "main", "ben", "t9"),
)  # fmt: skip


@pytest.fixture
def world(quiet: World) -> World:
    """Two workers that conflict, with commits that no drain has published yet."""
    quiet.working("auth", "t1", {"README": "auth\n"})
    quiet.working("docs", "t2", {"README": "docs\n"})
    return quiet


def frozen(world: World, *words: str, cwd: Path | None = None) -> Answer:
    """Run a command for which the git directory is read-only."""
    return inside(*words, box=read_only(world.root / ".git"), cwd=cwd or world.root)


def without_index(world: World) -> None:
    """Leave the database as a copy of the repository has it: with its log, without its index."""
    (world.state_dir / "bus.db-shm").unlink()


def without_log(world: World) -> None:
    """Leave the database as a clean shutdown does: one file."""
    foreign(world.state_dir / "bus.db", "PRAGMA wal_checkpoint(TRUNCATE)")
    for name in ("bus.db-wal", "bus.db-shm"):
        (world.state_dir / name).unlink(missing_ok=True)


@pytest.mark.parametrize("prepare", [lambda _: None, without_index, without_log])
def test_reading_works(world: World, prepare: object) -> None:
    """Every reading command answers, whichever files of the database there are."""
    assert callable(prepare)
    ok(world.root, "project", "add", "shop")  # several projects share the agent time
    prepare(world)
    before = {name: (world.state_dir / name).read_bytes() for name in ("bus.db", "bus.jsonl")}
    for words in READS:
        answer = frozen(world, *words)
        assert (answer.status, answer.err) == (0, ""), (words, answer)
    assert frozen(world, "conflicts").out == "auth\tdocs\tREADME\n"
    assert "README" in frozen(world, "diff", "auth", "--stat").out
    after = {name: (world.state_dir / name).read_bytes() for name in before}
    assert after == before


def test_answers_are_fresh(world: World) -> None:
    """Commands in the sandbox see changes that other processes made outside."""
    for text in ("first", "second", "third"):
        ok(world.root, "msg", "send", "x-note", f'"{text}"', "--to", "auth")
        lines = frozen(world, "msg", "poll", "--no-ack", "--as", "auth").lines
        assert lines[-1]["payload"] == text
    ok(world.root, "fail", "auth", "-m", "No")
    assert "auth\tFAILED" in frozen(world, "list").out
    without_index(world)
    assert "auth\tFAILED" in frozen(world, "list").out


@pytest.mark.parametrize("place", ["main", "worktree"])
def test_writing_names_the_cause(world: World, place: str) -> None:
    """A command that must write fails with one line: the cause, and the directories to open."""
    cwd = world.root if place == "main" else world.path("auth")
    common = world.root / ".git"
    before = world.picture()
    for words in WRITES:
        answer = frozen(world, *words, cwd=cwd)
        assert (answer.status, answer.out) == (1, ""), (words, answer)
        error, hint = answer.err.splitlines()
        assert "Read-only file system" in error, (words, answer)
        assert str(common) in error, (words, answer)
        if place == "worktree":
            assert error.endswith(f"{common} and {common}/worktrees/t1"), (words, answer)
        assert hint.startswith("hint: git worker mcp"), (words, answer)
        assert "chmod" not in answer.err
    assert world.picture() == before


def test_poll_prints_nothing_twice(world: World) -> None:
    """A poll that cannot acknowledge prints nothing, not even while it waits."""
    for words in (
        ("--as", "auth"),
        ("--as", "auth", "--wait", "1"),
        ("--as", "hq", "--limit", "1"),
    ):
        answer = frozen(world, "msg", "poll", *words)
        assert (answer.status, answer.out) == (1, ""), answer
    assert len(run(world.root, "msg", "poll", "--as", "auth").lines) > 0


def test_before_the_first_command(tmp_path: Path) -> None:
    """Without a state directory the error says that it is not set up, or cannot be created."""
    world = World.make(tmp_path / "repo")
    read, spawned = frozen(world, "status"), frozen(world, "spawn", "auth", "t1")
    assert (read.status, "not set up" in read.err) == (1, True)
    error, hint = spawned.err.splitlines()
    assert (spawned.status, "Read-only" in error) == (1, True), spawned
    assert hint.startswith("hint: git worker mcp"), spawned


def test_ordinary_refusals_stay(world: World) -> None:
    """A command that is refused for another reason reports that reason."""
    assert frozen(world, "show", "unknown").status == 4
    assert frozen(world, "cancel").status == 2
