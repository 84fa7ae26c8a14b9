"""A scripted agent for runs on several machines, and what must be true after them."""

import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.forking import PROGRAM
from tests.fleet.machines.machine import Machine, wait_for

OVER = frozenset({"COMPLETED", "CANCELLED", "SKIPPED"})
# `flock` proves that no other attempt at the task is alive on any machine: the lock ends with the
# agent. An agent whose task has a file in `holds` waits until somebody removes it.
AGENT = """\
#!/bin/sh
seen={seen}
exec 9>>"$seen/$GITWORKER_TASK"
flock -n 9 || echo "$GITWORKER_TASK runs twice" >>"$seen/broken"
echo "$(hostname) $GITWORKER_ID" >&9
echo "$(hostname) $GITWORKER_TASK" >>"$seen/starts"
while test -e "$seen/holds/$GITWORKER_TASK"; do sleep 0.1; done
if ! test -e "$GITWORKER_TASK.txt"; then
    hostname >"$GITWORKER_TASK.txt"
    git add -A 9>&-
    git commit -q -m "$GITWORKER_TASK" 9>&-
fi
"""


class Work:
    """The scripted agent, and what it has seen."""

    def __init__(self, place: Path) -> None:
        self.seen = place / "seen"
        (self.seen / "holds").mkdir(parents=True)
        self.agent = place / "agent.sh"
        self.agent.write_text(AGENT.format(seen=self.seen))
        self.agent.chmod(0o755)

    def starts(self) -> list[tuple[str, str]]:
        """Return the machine and the task of each start, in their order."""
        path = self.seen / "starts"
        lines = path.read_text().splitlines() if path.exists() else []
        return [tuple(line.split(" ")) for line in lines]  # type: ignore[misc]

    def hold(self, *tasks: str) -> None:
        """Let the agents of tasks wait."""
        for task in tasks:
            (self.seen / "holds" / task).touch()

    def release(self) -> None:
        """Let all agents go on."""
        for path in (self.seen / "holds").iterdir():
            path.unlink()

    def broken(self) -> list[str]:
        """Return the broken promises that agents have seen."""
        path = self.seen / "broken"
        return path.read_text().splitlines() if path.exists() else []

    def words(self, *options: str, lands: bool = True) -> list[str]:
        """Return the words of `git worker run` for this agent."""
        land = ["--land"] if lands else []
        return ["run", *(options or ("-j", "2")), *land, "--", str(self.agent)]


def broken_promises(machines: Sequence[Machine], tasks: Sequence[str]) -> list[str]:
    """Return what contradicts the promises after all work has landed."""
    origin = machines[0]
    origin.git("fetch", "-q", "origin")
    landed = Counter(origin.git("log", "--format=%s", "origin/main").splitlines())
    broken = [f"{task} landed {landed[task]} times" for task in tasks if landed[task] != 1]
    if origin.git("log", "--merges", "--format=%h", "origin/main"):
        broken.append("the target is not linear")
    for one in machines:
        statuses = dict(one.query("SELECT id, status FROM tasks"))
        broken += [f"{one.name}: {task} is {statuses.get(task)}" for task in tasks
                   if statuses.get(task) != "COMPLETED"]  # fmt: skip
        broken += [
            f"{one.name}: {task} was completed {number} times"
            for task, number in one.query(
                "SELECT entity_id, COUNT(*) FROM transitions WHERE machine = 'task'"
                " AND to_state = 'COMPLETED' GROUP BY entity_id HAVING COUNT(*) > 1"
            )
        ]
        broken += [
            f"{one.name}: run {run} is open"
            for (run,) in one.query("SELECT id FROM runs WHERE ended_at_ms IS NULL")
        ]
    return broken


def add_tasks(machine: Machine, tasks: Sequence[str]) -> None:
    """Add tasks to the queue."""
    for task in tasks:
        machine.ok("task", "add", task, "--title", task)


@contextmanager
def running(
    work: Work, *machines: Machine, options: Sequence[str] = (), lands: bool = True
) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Give a run on each machine; print what they said afterwards."""
    outputs = [work.seen / f"{one.name}.out" for one in machines]
    runs = []
    for one, path in zip(machines, outputs, strict=True):
        with path.open("ab") as output:
            words = (str(PROGRAM), *work.words(*options, lands=lands))
            runs.append(one.popen(*words, stdout=output, stderr=output))
    try:
        yield runs
    finally:
        for one, path, run in zip(machines, outputs, runs, strict=True):
            run.kill()
            run.wait()
            print(f"{one.name}:", path.read_text(), *one.complaints(), sep="\n")


def require_same_end(machines: Sequence[Machine], tasks: Sequence[str]) -> None:
    """Fail unless all tasks have landed once, all machines have followed, and all are sound."""
    for one in machines:
        one.ok("status")  # brings the replica up to date
    assert broken_promises(machines, tasks) == []
    for one in machines:
        wait_for(lambda one=one: one.git("rev-parse", "main", "origin/main").split().count(
            machines[0].git("rev-parse", "origin/main")) == 2)  # fmt: skip
        assert one.ok("fsck")
