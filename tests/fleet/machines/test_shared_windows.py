"""Several machines verify the prefixes of one window; the one that lands it decides."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitworker.liveness.life_lock import LANDS, LifeLock
from gitworker.paths import StatePaths
from tests.cli.forking import PROGRAM
from tests.fleet.machines.machine import LIMIT_S, Machine, wait_for
from tests.fleet.machines.work import Work, running
from tests.hints.following import note

Fleet = Callable[..., list[Machine]]
WORKERS = ("ada", "bob", "cyd", "dan")
# Names the machine and the files; waits while the machine is held; a machine with `fails` says no.
CHECK = """\
#!/bin/sh
machine=$(hostname)
echo "$machine" $(ls *.txt) >>{seen}/checks
while test -e {seen}/holds/check-$machine; do sleep 0.1; done
test ! -e {seen}/fails-$machine && test ! -e bad.txt
"""


class Window:
    """Four approved workers on alpha, and verify commands that wait while their machine is held."""

    def __init__(self, machines: list[Machine], place: Path, *, bad: str) -> None:
        self.alpha, self.beta = machines
        self.work = Work(place)
        check = place / "check.sh"
        check.write_text(CHECK.format(seen=self.work.seen))
        check.chmod(0o755)
        for one in machines:
            one.git("config", "worker.verify.commands", str(check))
        for name in WORKERS:
            self.alpha.ok("spawn", name, f"task-{name}")
            self.alpha.commit(name, name, {"bad.txt" if name == bad else f"{name}.txt": "x\n"})
            self.alpha.ok("done", name)
        self.alpha.ok("approve", "--all")

    def hold(self, machine: Machine) -> None:
        """Let the verify commands of a machine wait."""
        self.work.hold(f"check-{machine.name}")

    def let_go(self, machine: Machine) -> None:
        """Let the verify commands of a machine go on."""
        (self.work.seen / "holds" / f"check-{machine.name}").unlink()

    def checks(self, machine: Machine) -> list[int]:
        """Return how many workers each run of a machine had, in their order."""
        path = self.work.seen / "checks"
        lines = path.read_text().splitlines() if path.exists() else []
        return [len(line.split()) - 1 for line in lines if line.split()[0] == machine.name]

    @contextmanager
    def a_run_on_beta(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Give a run on beta that lands, and works on a task of its own until the end."""
        self.work.hold("own")
        self.beta.ok("task", "add", "own", "--title", "own")
        with running(self.work, self.beta) as (run,):
            wait_for(lambda: self.work.starts() == [("beta", "own")])
            wait_for(lambda: self.alpha.query("SELECT 1 FROM machines WHERE lands = 1"))
            yield run

    @contextmanager
    def merging(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Give `merge --all` on alpha."""
        words = (str(PROGRAM), "merge", "--all", "--json")
        merge = self.alpha.popen(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            yield merge
        finally:
            merge.kill()
            merge.wait()
            print((self.work.seen / "checks").read_text())
            print(self.alpha.query("SELECT outcome, offer, verdicts FROM windows"))

    def landed(self, merge: "subprocess.Popen[bytes]") -> list[str]:
        """Return the workers that an ended merge has landed; fail if it has left anything."""
        out, err = merge.communicate(timeout=LIMIT_S)
        print(err.decode())
        results = json.loads(out)["results"]
        assert "worker/window" not in self.alpha.git("ls-remote", "origin")
        assert self.alpha.query("SELECT 1 FROM windows WHERE offer IS NOT NULL") == []
        assert "verify:" not in self.alpha.ok("claim", "list")
        return [one["worker"] for one in results if one["landed"]]


def test_another_machine_narrows_the_search(fleet: Fleet, tmp_path: Path) -> None:
    """A run elsewhere verifies prefixes meanwhile; the decisive failure is repeated here."""
    scene = Window(fleet("alpha", "beta"), tmp_path, bad="cyd")
    scene.hold(scene.alpha)
    scene.hold(scene.beta)
    with scene.a_run_on_beta() as run, scene.merging() as merge:
        wait_for(lambda: (scene.checks(scene.alpha), scene.checks(scene.beta)) == ([4], [2]))
        scene.let_go(scene.beta)
        wait_for(lambda: scene.checks(scene.beta) == [2, 3])
        wait_for(lambda: scene.checks(scene.alpha) == [4, 3])
        assert "window 1: being verified on alpha, 0 of 4 landed" in scene.beta.ok("queue")
        scene.let_go(scene.alpha)
        assert scene.landed(merge) == ["ada", "bob", "dan"]
        scene.work.release()
        assert run.wait(LIMIT_S) == 0
    assert scene.checks(scene.alpha)[:2] == [4, 3]
    failed = scene.alpha.json("show", "cyd")["last_error"]
    assert "ended with status 1" in failed
    (log,) = scene.alpha.query(
        "SELECT json_extract(metadata, '$.log') FROM transitions WHERE event = 'verify_failed'"
    )
    assert Path(log[0]).is_relative_to(scene.alpha.state)
    assert scene.alpha.complaints() == scene.beta.complaints() == []


def test_a_failure_of_another_machine_alone_sends_nothing_back(
    fleet: Fleet, tmp_path: Path
) -> None:
    """A machine on which everything fails costs repetitions, and all work lands."""
    scene = Window(fleet("alpha", "beta"), tmp_path, bad="")
    (scene.work.seen / "fails-beta").touch()
    scene.hold(scene.alpha)
    scene.hold(scene.beta)
    with scene.a_run_on_beta() as run, scene.merging() as merge:
        wait_for(lambda: (scene.checks(scene.alpha), scene.checks(scene.beta)) == ([4], [2]))
        scene.let_go(scene.beta)
        wait_for(lambda: scene.checks(scene.alpha) == [4, 1])
        scene.let_go(scene.alpha)
        assert scene.landed(merge) == list(WORKERS)
        (scene.work.seen / "fails-beta").unlink()
        scene.work.release()
        assert run.wait(LIMIT_S) == 0
    assert scene.alpha.query("SELECT 1 FROM transitions WHERE event = 'verify_failed'") == []


def test_a_machine_that_dies_during_its_run(fleet: Fleet, tmp_path: Path) -> None:
    """The machine that lands does not wait for a prefix that a dead machine has taken."""
    scene = Window(fleet("alpha", "beta"), tmp_path, bad="bob")
    scene.hold(scene.alpha)
    scene.hold(scene.beta)
    with scene.a_run_on_beta(), scene.merging() as merge:
        wait_for(lambda: (scene.checks(scene.alpha), scene.checks(scene.beta)) == ([4], [2]))
        scene.beta.crash()
        scene.let_go(scene.alpha)
        assert scene.landed(merge) == ["ada", "cyd", "dan"]
    scene.beta.boot()


def test_a_person_verifies_for_another_machine(fleet: Fleet, tmp_path: Path) -> None:
    """`verify --fleet` does nothing without an offer, and is refused to a worker."""
    scene = Window(fleet("alpha", "beta"), tmp_path, bad="")
    said = scene.beta.ok("verify", "--fleet")
    assert said == "no other machine wants a verdict now"
    place = Path(scene.alpha.ok("path", "ada"))
    answer = scene.alpha.run("verify", "--fleet", cwd=place)
    assert (answer.status, answer.err) == (
        1, "error: worker ada cannot verify for other machines\nhint: git worker verify\n",
    )  # fmt: skip
    assert scene.alpha.ok("verify", cwd=place).startswith("ada at ")
    note("git worker verify", answer.err)
    scene.hold(scene.alpha)
    mark = LifeLock(StatePaths(str(scene.beta.state)), LANDS)  # as of a run that verifies nothing
    mark.take()
    try:
        wait_for(lambda: scene.alpha.query("SELECT 1 FROM machines WHERE lands = 1"))
        with scene.merging() as merge:
            wait_for(lambda: scene.checks(scene.alpha) == [1, 4])
            said = scene.beta.ok("verify", "--fleet")
            assert said.splitlines() == [
                "window 1 of alpha, first 2: passed", "window 1 of alpha, first 3: passed",
            ]  # fmt: skip
            scene.let_go(scene.alpha)
            assert scene.landed(merge) == list(WORKERS)
    finally:
        mark.release()
