"""Prunes killed at random beside publishers and exporters: every message ends in one place."""

import gzip
import json
import os
import pickle
import random
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.app import DIRECTORIES
from gitworker.bus.files.export import export_logs
from gitworker.bus.files.retention import PruneRequest, prune
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import open_database
from tests.bus.test_power_cut import cuts
from tests.store.support import ROOT, SCALE, foreign, participant, writer_process

KILLS = 12
CUTS = 60
PRUNING = """
import sys
from gitworker.bus.files.retention import PruneRequest, prune
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
paths = StatePaths(sys.argv[1])
store = open_database(paths.database)
print("ready", flush=True)
while True:
    prune(store, paths, PruneRequest(1000, frozenset(), 1 << 60))
"""


def everywhere(state: StatePaths, store: Database) -> list[str]:
    """Return the ids in the archives and on the bus, each as often as it occurs."""
    found = [row["id"] for row in store.rows("messages.follow", after=0, limit=1 << 30)]
    for path in Path(state.archive).glob("*.jsonl.gz"):
        with gzip.open(path, "rt") as file:
            found += [json.loads(line)["id"] for line in file]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SCALE))
def test_killed_at_random(state: StatePaths, store: Database, seed: int) -> None:
    """No acknowledged message is lost and none archived twice, whichever process is killed."""
    rng = random.Random(seed)
    publishers = [writer_process(state.database, "publish", name, "endless") for name in "ab"]
    try:
        for _ in range(KILLS):
            pruner = subprocess.Popen(
                [sys.executable, "-c", PRUNING, state.root], stdout=subprocess.PIPE
            )
            assert pruner.stdout is not None
            pruner.stdout.readline()
            select.select([], [], [], rng.uniform(0.005, 0.3))
            if rng.random() < 0.3:
                participant(state.root, "export")
            pruner.send_signal(signal.SIGKILL)
            pruner.communicate()
            export_logs(store, state)
    finally:
        for publisher in publishers:
            publisher.kill()
    promised = [
        line.strip()
        for publisher in publishers
        for line in publisher.communicate()[0].splitlines(keepends=True)
        if line.endswith("\n")
    ]
    prune(store, state, PruneRequest(0, frozenset(), 1 << 60))
    found = everywhere(state, store)
    assert len(found) == len(set(found))
    assert set(promised) <= set(found)
    export_logs(store, state)
    table = [row["id"] for row in store.rows("messages.follow", after=0, limit=1 << 30)]
    lines = Path(state.bus_log).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == table
    assert foreign(state.database, "PRAGMA integrity_check") == [[["ok"]]]
    assert not [name for name in os.listdir(state.archive) if not name.endswith(".jsonl.gz")]


@pytest.mark.slow
def test_power_cuts(tmp_path: Path) -> None:
    """After a power cut during a prune, the next prune leaves each message in one place."""
    root, file = tmp_path / "worker-state", tmp_path / "events"
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True)
    script = [sys.executable, "-m", "tests.bus.recording_prune", str(root), str(file), "600"]
    subprocess.run(script, cwd=ROOT, check=True, timeout=120)
    events = pickle.loads(file.read_bytes())
    wanted = sorted(f"m{number}" for number in range(600))
    archives = set()
    for cut, (_, files) in enumerate(cuts(events, CUTS * SCALE, random.Random(7))):
        state = StatePaths(str(tmp_path / f"cut-{cut}"))
        for name in DIRECTORIES:
            Path(state.root, name).mkdir(parents=True)
        for path, content in files.items():
            Path(state.root, Path(path).relative_to(root)).write_bytes(content)
        archives.add(len(os.listdir(state.archive)))
        store = open_database(state.database)
        assert set(everywhere(state, store)) >= set(wanted), cut
        prune(store, state, PruneRequest(1000, frozenset(), 1 << 60))
        assert sorted(everywhere(state, store)) == wanted, cut
        assert Path(state.bus_log).read_bytes() == b"", cut
        store.close()
        shutil.rmtree(state.root)
    assert len(archives) > 1, "no cut fell into the prune"
