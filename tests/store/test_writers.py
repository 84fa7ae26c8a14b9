"""Many writers at once, some of them killed: nothing lost, nothing doubled, nothing damaged."""

import random
import subprocess
from pathlib import Path

import pytest

from tests.store.support import SCALE, foreign, writer_process

WRITERS = 8
EACH = 200


@pytest.mark.slow
def test_nothing_is_lost_or_doubled(bus: Path) -> None:
    """Eight processes that publish at full speed lose no message and double none."""
    names = [f"w{number}" for number in range(WRITERS)]
    writers = [writer_process(bus, "publish", name, str(EACH * SCALE)) for name in names]
    printed = [identity for writer in writers for identity in writer.communicate()[0].split()]
    assert all(writer.returncode == 0 for writer in writers)
    assert sorted(printed) == sorted(f"{n}-{i}" for n in names for i in range(EACH * SCALE))
    (found,) = foreign(bus, "SELECT id, seq FROM messages ORDER BY seq")
    assert isinstance(found, list)
    assert sorted(row[0] for row in found) == sorted(printed)
    assert [row[1] for row in found] == list(range(1, len(printed) + 1))
    for name in names:
        order = [int(row[0].rpartition("-")[2]) for row in found if row[0].startswith(f"{name}-")]
        assert order == sorted(order)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SCALE))
def test_acknowledged_writes_survive_a_kill(bus: Path, seed: int) -> None:
    """Messages that killed writers acknowledged are there, and the database is sound."""
    rng = random.Random(seed)
    promised: list[str] = []
    for generation in range(3):
        names = [f"g{generation}w{number}" for number in range(4)]
        writers = [writer_process(bus, "publish", name, "endless") for name in names]
        for writer in writers:
            promised += _read(writer, rng.randint(1, 40))
            writer.kill()
        for writer in writers:
            rest = _rest(writer).splitlines(keepends=True)
            promised += [line.strip() for line in rest if line.endswith("\n")]
    (found,) = foreign(bus, "SELECT id FROM messages")
    assert isinstance(found, list)
    kept = [row[0] for row in found]
    assert set(promised) <= set(kept)
    assert len(kept) == len(set(kept))
    assert foreign(bus, "PRAGMA integrity_check") == [[["ok"]]]


def _read(writer: "subprocess.Popen[str]", count: int) -> list[str]:
    assert writer.stdout is not None
    return [writer.stdout.readline().strip() for _ in range(count)]


def _rest(writer: "subprocess.Popen[str]") -> str:
    """Return the output that is left; `communicate` would drop what `readline` has buffered."""
    assert writer.stdin is not None
    assert writer.stdout is not None
    with writer.stdin, writer.stdout:
        rest = writer.stdout.read()
    writer.wait()
    return rest
