"""Many processes contend for the same tasks, with pauses, jumping clocks and kills."""

import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.claims.scene import Scene
from tests.concurrency import contending
from tests.workers.world import wait_until

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
DEADLINE_S = 300 * max(1, SCALE)
PAUSE_S = 0.8  # several leases


class Contest:
    """The processes of a contest: dead ones are replaced, and stopped ones are resumed."""

    def __init__(self, scene: Scene, record: Path) -> None:
        self.scene = scene
        self.record = record
        self.running: list[subprocess.Popen[bytes]] = []
        self.started = 0
        self.killed = 0

    def start(self) -> None:
        """Start one more process."""
        name = f"w{self.started}"
        argv = [sys.executable, contending.__file__, self.scene.paths.root, name, name]
        self.running.append(subprocess.Popen([*argv, str(self.record)], stderr=subprocess.PIPE))
        self.started += 1

    def run(self, processes: int) -> None:
        """Let them go on until all of them have ended by themselves."""
        deadline = time.monotonic() + DEADLINE_S
        try:
            self.start()
            # The first is one that dies with its first task: it must find one to do so with.
            wait_until(lambda: bool(self.record.read_text()))
            for _ in range(processes - 1):
                self.start()
            while self.running:
                select.select((), (), (), PAUSE_S)
                assert time.monotonic() < deadline, "the contest does not end"
                for process in list(self.running):
                    self.look_after(process)
        finally:
            for process in self.running:
                process.kill()

    def look_after(self, process: "subprocess.Popen[bytes]") -> None:
        """Wake a process, or see how it ended."""
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            return
        self.running.remove(process)
        _, errors = process.communicate()
        if process.returncode == -signal.SIGKILL:
            self.killed += 1
            self.start()
        else:
            assert process.returncode == 0, errors.decode()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Return a bus on which any process may claim."""
    made = Scene.make(tmp_path / "worker-state")
    yield made
    made.store.close()


def contest(scene: Scene, folder: Path, *, processes: int, tasks: int) -> tuple[Contest, list[str]]:
    """Run a contest and return it with the lines of its record."""
    record = folder / "record"
    record.touch()
    scene.store.execute("CREATE TABLE grants (task TEXT, epoch INTEGER, name TEXT)")
    scene.store.execute("CREATE INDEX idx_grants ON grants (task)")
    with scene.store.write() as writer:
        for number in range(tasks):
            writer.run(
                "tasks.insert", task=f"t{number}", title="", requires_approval=0, max_retries=3,
                now=1,
            )  # fmt: skip
    run = Contest(scene, record)
    run.run(processes)
    return run, record.read_text().splitlines()


def require_one_holder_at_a_time(lines: list[str]) -> Counter[str]:
    """Fail if two claims on one task were valid at once; count the kinds of lines."""
    kinds: Counter[str] = Counter()
    holders: dict[tuple[str, int], str] = {}
    begins: dict[str, dict[int, int]] = defaultdict(dict)
    ends: dict[tuple[str, int], int] = {}
    for line in lines:
        kind, task, number, name, at, until = line.split(" ")
        kinds[kind] += 1
        claim = task, int(number)
        if kind in "TN":
            assert holders.setdefault(claim, name) == name, f"{claim} has two holders: {line}"
            begins[task].setdefault(int(number), int(at))
            ends[claim] = max(ends.get(claim, 0), int(until))
        if kind == "R":
            ends[claim] = min(ends[claim], int(at))  # from then on it may be free at any time
    for task, found in begins.items():
        epochs = sorted(found)
        for older, newer in zip(epochs, epochs[1:], strict=False):
            over = found[newer] - ends[task, older]
            assert over >= 0, f"{task}: epoch {newer} began {-over} ms before {older} was over"
    return kinds


def require_one_act_each(scene: Scene, tasks: int) -> None:
    """Fail the test unless every task was acted on once, and by whom the claims say."""
    rows = scene.store.execute("SELECT task, COUNT(*) AS times FROM grants GROUP BY task")
    assert len(rows) == tasks
    assert {row["times"] for row in rows} == {1}
    assert scene.store.execute("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_a_small_contest(scene: Scene, tmp_path: Path) -> None:
    """Four processes on forty tasks never share one, and each task is completed once."""
    run, lines = contest(scene, tmp_path, processes=4, tasks=40)
    kinds = require_one_holder_at_a_time(lines)
    require_one_act_each(scene, 40)
    assert kinds["T"] >= 40
    assert run.killed > 0, "no process was killed: the contest proves nothing"


@pytest.mark.slow
def test_a_contest(scene: Scene, tmp_path: Path) -> None:
    """32 processes on a thousand tasks never hold one at once, and late holders are refused."""
    tasks = int(1000 * SCALE)
    run, lines = contest(scene, tmp_path, processes=32, tasks=tasks)
    kinds = require_one_holder_at_a_time(lines)
    require_one_act_each(scene, tasks)
    assert kinds["L"] > 0, "no process came late: the contest proves nothing"
    assert run.killed > 0, "no process was killed: the contest proves nothing"


def test_the_record_is_judged() -> None:
    """The judge of the record finds two holders, and a claim that began too early."""
    with pytest.raises(AssertionError, match="two holders"):
        require_one_holder_at_a_time(["T t 1 a 0 250", "T t 1 b 300 550"])
    with pytest.raises(AssertionError, match="began 1 ms before"):
        require_one_holder_at_a_time(["T t 1 a 0 250", "T t 2 b 249 499"])
    with pytest.raises(AssertionError, match="began 50 ms before"):
        require_one_holder_at_a_time(["T t 1 a 0 250", "N t 1 a 50 300", "T t 2 b 250 500"])
    with pytest.raises(AssertionError, match="began 50 ms before"):
        require_one_holder_at_a_time(["T t 1 a 0 250", "T t 2 b 200 450", "R t 1 a 600 -"])
    require_one_holder_at_a_time(["T t 1 a 0 250", "R t 1 a 10 -", "T t 2 b 11 499"])
