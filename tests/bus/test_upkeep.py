"""Starting the daily upkeep: once a day, by one process, without delaying a command."""

import os
import threading

import pytest

from gitworker.bus.jobs.upkeep_job import DAY_MS, start_upkeep_job
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import open_database

NOW = 1_800_000_000_000


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The background commands that would have been started."""
    started: list[list[str]] = []

    def note(argv: list[str], **_: object) -> int:
        started.append(argv)
        return os.getpid()  # no child of ours

    monkeypatch.setattr("gitworker.proc.spawn_detached", note)
    return started


@pytest.mark.parametrize(
    ("elapsed_ms", "due"),
    [(0, False), (DAY_MS - 1, False), (DAY_MS, True), (-DAY_MS + 1, False), (-DAY_MS, True)],
)
def test_when_it_is_due(
    store: Database,
    started: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    elapsed_ms: int,
    due: bool,
) -> None:
    """The upkeep is due a day after the last one, or if the last one is a day in the future."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW))
    assert not start_upkeep_job(store, "/r/.git"), "a new repository has nothing old"
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW + elapsed_ms))
    assert start_upkeep_job(store, "/r/.git") is due
    assert not start_upkeep_job(store, "/r/.git"), "it was begun just now"
    assert [words[-2:] for words in started] == [["upkeep", "/r/.git"]] * due


def test_one_of_many_starts_it(
    state: StatePaths, store: Database, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several commands at the same time, one starts it."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW))
    start_upkeep_job(store, "/r/.git")
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW + DAY_MS))
    barrier = threading.Barrier(8)

    def command() -> None:
        mine = open_database(state.database)
        barrier.wait()
        start_upkeep_job(mine, "/r/.git")
        mine.close()

    threads = [threading.Thread(target=command) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 1
