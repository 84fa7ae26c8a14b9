"""A random plan, scripted agents that crash, hang and fail, killed orchestrators, and an oracle.

The text of a task has the fate of each attempt and the tasks that it needs. Its agent records every
broken promise that it can see itself; the rest is checked from git and the database at the end.
"""

import json
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from gitworker.tasks.views.task_facts import read_why
from tests.workers.world import World

AGENTS = 16
MAX_RETRIES = 2
FATES = ("crash", "crash-late", "crash-all", "hang", "fail")
WEIGHTS = (4, 3, 3, 5, 5)  # of 100 attempts: 10 crash, 5 hang, 5 fail
OVER = frozenset({"COMPLETED", "BLOCKED", "DEFINED"})
# `flock` proves that no other attempt of the task is alive: its lock ends with the agent.
AGENT = """\
#!/bin/sh
seen="$GITWORKER_STATE/chaos"
exec 9>>"$seen/$GITWORKER_TASK"
flock -n 9 || echo "$GITWORKER_TASK runs twice" >>"$seen/broken"
echo "$GITWORKER_ID" >&9
attempt=$(wc -l <"$seen/$GITWORKER_TASK")
git cat-file -e "main:$GITWORKER_TASK.txt" 2>/dev/null &&
    echo "$GITWORKER_TASK runs again" >>"$seen/broken"
{ read -r fates; read -r needs; } <"$GITWORKER_PROMPT_FILE"
for need in $needs; do
    test -e "$need.txt" || echo "$GITWORKER_TASK runs before $need" >>"$seen/broken"
done
fate=$(echo "$fates" | cut -d' ' -f"$attempt")
case "$fate" in
crash) kill -9 $$ ;;
crash-all) kill -9 $PPID $$ ;;
hang) exec sleep 600 ;;
fail) echo "no idea" >&2; exit 1 ;;
esac
if ! test -e "$GITWORKER_TASK.txt"; then  # an attempt that crashed late has committed it
    echo "$attempt" >"$GITWORKER_TASK.txt"
    git add -A 9>&-
    git commit -q -m "$GITWORKER_TASK" 9>&-
fi
test "$fate" != crash-late || kill -9 $$
"""


def write_plan(path: Path, *, tasks: int, time_limit_s: int, dice: random.Random) -> None:
    """Write a plan of tasks in a random graph; half of them need one or two others."""
    lines = []
    for number in range(tasks):
        near = range(max(0, number - 50), number)
        needs = [
            f"t{one}" for one in dice.sample(near, min(len(near), dice.choice((0, 0, 0, 1, 1, 2))))
        ]
        fates = ["work" if dice.random() >= 0.2 else _fate(dice) for _ in range(8)]
        stacks = ":done" if len(needs) == 1 and dice.random() < 0.2 else ""
        task = {
            "id": f"t{number}", "title": f"Task {number}",
            "text": f"{' '.join(fates)}\n{' '.join(needs)}\n",
            "needs": [f"{need}{stacks}" for need in needs], "timeout": time_limit_s,
            "retries": MAX_RETRIES, "priority": dice.choice((10, 100)),
            "test": [f"test -s t{number}.txt"] if dice.random() < 0.1 else [],
        }  # fmt: skip
        lines.append(json.dumps(task))
    path.write_text("\n".join(lines))


def _fate(dice: random.Random) -> str:
    return dice.choices(FATES, WEIGHTS)[0]


def orchestrate(
    world: World, agent: Path, *, killed: bool, others: int, limit_s: float, dice: random.Random
) -> int:
    """Run orchestrators until nothing is left to do; return how often one was killed -9.

    `others` run beside the first one to their end; if `killed`, only the first one is killed, every
    few seconds, and started again.
    """
    deadline, kills = time.monotonic() + limit_s, 0
    beside = [_start(world, agent) for _ in range(others)]
    try:
        while True:
            beside.append(first := _start(world, agent))
            left_s = deadline - time.monotonic()
            try:
                status = first.wait(dice.uniform(1, 5) if killed else left_s)
                assert status in (0, 1), first.communicate()
                break
            except subprocess.TimeoutExpired:
                assert left_s > 0, "the run did not end in time"
                first.send_signal(signal.SIGKILL)
                first.wait()
                beside.remove(first)
                kills += 1
        for process in beside:
            assert process.wait(max(1, deadline - time.monotonic())) in (0, 1)
    finally:
        for process in beside:
            process.kill()
            process.wait()
    return kills


def _start(world: World, agent: Path) -> "subprocess.Popen[bytes]":
    words = ("git-worker", "run", "-j", str(AGENTS), "--land", "--", str(agent))
    with (world.state_dir / "chaos" / "output").open("ab") as output:
        return subprocess.Popen(words, cwd=world.root, stdout=output, stderr=output)


def broken_promises(world: World) -> list[str]:
    """Return everything that contradicts the promises of a run, after its end."""
    path = world.state_dir / "chaos" / "broken"
    broken = path.read_text().splitlines() if path.exists() else []
    tasks = dict(world.query("SELECT id, status FROM tasks"))
    errors = dict(world.query("SELECT id, last_error FROM tasks"))
    broken += [f"{task} is {status}" for task, status in tasks.items() if status not in OVER]
    broken += [
        f"{task} is BLOCKED without a reason"
        for task, status in tasks.items()
        if status == "BLOCKED" and not errors[task]
    ]
    session = world.session()
    for task in [task for task, status in tasks.items() if status == "DEFINED"]:
        reason = read_why(session, task).reason
        if "BLOCKED" not in reason:
            broken.append(f"{task} is DEFINED, but {reason}")
    landed = Counter(world.git("log", "--format=%s", "main").splitlines())
    for task, status in tasks.items():
        if landed[task] != (status == "COMPLETED"):
            broken.append(f"{task} is {status} and landed {landed[task]} times")
    broken += [
        f"{task} was retried {number} times"
        for task, number in world.query(
            "SELECT entity_id, COUNT(*) FROM transitions WHERE machine = 'task'"
            f" AND event = 'RETRY' GROUP BY entity_id HAVING COUNT(*) > {MAX_RETRIES}"
        )
    ]
    broken += [
        f"{task} was completed {number} times"
        for task, number in world.query(
            "SELECT entity_id, COUNT(*) FROM transitions WHERE machine = 'task'"
            " AND to_state = 'COMPLETED' GROUP BY entity_id HAVING COUNT(*) > 1"
        )
    ]
    return broken + [
        f"run {run} is open"
        for (run,) in world.query("SELECT id FROM runs WHERE ended_at_ms IS NULL")
    ]
