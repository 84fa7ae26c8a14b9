"""Every verb in every state of a worker and in every status of a task, against golden tables.

Each command runs in a process of its own, forked by a server that has imported the program
(tests/cli/forking.py). A seeded sample of the cells also runs by the installed program, with the
same answers.
"""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from gitworker.cli.command_list import COMMANDS, SUBCOMMANDS
from gitworker.service.service import open_repository
from tests.cli.kit import run
from tests.cli.stages import OF_TASKS, OF_WORKERS, Stage, idle, ready
from tests.cli.verb_table import PID, Table
from tests.workers.world import World, without_heartbeat_daemon

OF_WORKER: dict[str, tuple[str, ...]] = {
    "start": ("start", "{w}", "--pid", PID),
    "exec": ("exec", "{w}", "--", "true"),
    "resume": ("resume", "{w}", "--pid", PID),
    "heartbeat": ("heartbeat", "{w}"),
    "sync": ("sync", "{w}"),
    "done": ("done", "{w}"),
    "fail": ("fail", "{w}", "-m", "No"),
    "approve": ("approve", "{w}"),
    "reject": ("reject", "{w}", "-m", "No"),
    "merge": ("merge", "{w}"),
    "land": ("land", "{w}"),
    "cancel": ("cancel", "{w}"),
    "reset": ("reset", "{w}"),
    "recycle": ("recycle", "{w}"),
    "recover": ("recover", "{w}"),
    "own start": ("--as", "{w}", "start", "--pid", PID),
    "own exec": ("--as", "{w}", "exec", "--", "true"),
    "own resume": ("--as", "{w}", "resume", "--pid", PID),
    "own approve": ("--as", "{w}", "approve", "{w}"),
    "own merge": ("--as", "{w}", "merge", "{w}"),
    "own land": ("--as", "{w}", "land", "{w}"),
    "assign": ("assign", "{w}", "next{n}"),
    "spawn": ("spawn", "{w}", "next{n}"),
    "adopt": ("adopt", "{w}/{t}", "{w}", "{t}"),
    "verify": ("verify", "{w}"),
    "wait": ("wait", "{w}", "--timeout", "0"),
    "wait --for verdict": ("wait", "{w}", "--for", "verdict", "--timeout", "0"),
    "wait --for landed": ("wait", "{w}", "--for", "landed", "--timeout", "0"),
    "send": ("send", "{w}", "Hurry"),
    "stop": ("stop", "{w}"),
    "pause": ("pause", "{w}"),
    "continue": ("continue", "{w}"),
    "ask": ("--as", "{w}", "ask", "Which port?", "--timeout", "0"),
    "reply": ("reply", "{w}", "8080"),
    "claim take": ("--as", "ui", "claim", "take", "{t}"),
    "show": ("show", "{w}"),
    "attach": ("attach", "{w}"),
    "review": ("review", "{w}"),
    "diff": ("diff", "{w}"),
    "path": ("path", "{w}"),
    "switch": ("switch", "{w}"),
    "log": ("log", "{w}"),
    "inbox": ("--as", "{w}", "inbox"),
    "task text": ("--as", "{w}", "task", "text"),
}
OF_TASK: dict[str, tuple[str, ...]] = {
    "task add": ("task", "add", "{t}", "-m", "Again"),
    "task depend": ("task", "depend", "{t}", "--on", "base"),
    "task depend on": ("task", "add", "next{n}", "-m", "Later", "--needs", "{t}"),
    "task edit": ("task", "edit", "{t}", "-m", "Build it well"),
    "task hold": ("task", "hold", "{t}"),
    "task release": ("task", "release", "{t}"),
    "task restart": ("task", "restart", "{t}"),
    "task stop": ("task", "stop", "{t}"),
    "task skip": ("task", "skip", "{t}"),
    "task cancel": ("task", "cancel", "{t}"),
    "task text": ("task", "text", "{t}"),
    "task why": ("task", "why", "{t}"),
    "task show": ("task", "show", "{t}"),
    "spawn": ("spawn", "ui{n}", "{t}"),
    "assign": ("assign", "free", "{t}"),
    "reply": ("reply", "{t}", "8080"),
    "send": ("send", "{t}", "Hurry"),
    "claim take": ("--as", "ui", "claim", "take", "{t}"),
    "workstream add": ("workstream", "add", "group", "{t}"),
}
TWICE = {
    "start", "done", "fail", "approve", "reject", "cancel", "reset", "recycle", "recover",
    "task hold", "task release", "task restart", "task stop", "task skip", "task cancel",
}  # fmt: skip
KEEPS = {
    "heartbeat", "verify", "wait", "wait --for verdict", "wait --for landed", "send", "stop",
    "pause", "continue", "show", "attach", "review", "diff", "path", "switch", "log", "inbox",
    "task text", "task why", "task show",
}  # fmt: skip
# The output of these has tests of its own; here are their status and errors.
LOOKS = {"show", "diff", "log", "review", "task show", "inbox"}
# Commands that name no worker and no task, or whose answers depend on other states: those of tmux,
# plans, claims, workstreams and repairs. GROUPS are groups of such commands.
GROUPS = {"agent", "agents", "automation", "fleet", "hooks", "msg", "project", "review"}
OTHERS = {
    "claim list", "claim release", "claim renew", "completion", "config", "conflicts",
    "doctor", "fsck", "gc", "help", "hook", "init", "list", "mcp", "notify", "pool", "questions",
    "queue", "run", "shell-init", "stats", "status", "task graph", "task import", "task list",
    "task ready", "trust", "ui", "undo", "validate", "watch", "web", "workstream archive",
    "workstream cancel", "workstream create", "workstream list", "workstream show",
    "workstream validate",
}  # fmt: skip


SEED, STAGES_SAMPLED, VERBS_SAMPLED = 11, 3, 6
BY_TIME = {"log", "show"}  # what a repository did in one millisecond has either order there


@pytest.mark.parametrize("stage", OF_WORKERS, ids=lambda stage: stage.__name__)
def test_verbs_of_workers(quiet: World, stage: Stage) -> None:
    """A verb in a worker's state has this status, output and hint, and names no event."""
    fill(Table(quiet, stage, run), OF_WORKER).check(stage.__name__)


@pytest.mark.parametrize("status", OF_TASKS)
def test_verbs_of_tasks(quiet: World, status: str) -> None:
    """A verb in a task's status has this status, output and hint, and names no event."""
    idle(quiet, "free", "other")
    ready(quiet, "", "base")
    open_repository(str(quiet.root)).create_workstream("group")
    table = Table(quiet, OF_TASKS[status], run)
    fill(table, OF_TASK).check(f"task_{status.lower()}")


@pytest.mark.parametrize(
    "stage", random.Random(SEED).sample(OF_WORKERS, STAGES_SAMPLED), ids=lambda one: one.__name__
)
def test_a_fork_is_the_program(quiet: World, stage: Stage, tmp_path: Path) -> None:
    """The forked program has the status and the bytes of output of the installed one."""
    alike = sorted(OF_WORKER.keys() - BY_TIME)
    verbs = random.Random(f"{SEED} {stage.__name__}").sample(alike, VERBS_SAMPLED)
    second = World.make(tmp_path / "second" / "repo")
    with without_heartbeat_daemon(second):
        forked, installed = (
            Table(world, stage, way) for world, way in ((quiet, run), (second, run))
        )
        for verb in verbs:
            forked.add(OF_WORKER[verb])
            installed.add(OF_WORKER[verb])
    assert forked.parts == installed.parts


def test_every_verb_is_in_a_table() -> None:
    """Each command of the help has a row, or acts on no worker and no task by its name."""
    names = {name for section in COMMANDS.values() for name in section} - set(SUBCOMMANDS)
    for group, sections in SUBCOMMANDS.items():
        if group not in GROUPS:
            names |= {f"{group} {name}" for section in sections.values() for name in section}
    verbs = [f"{verb} " for verb in (*OF_WORKER, *OF_TASK)]
    missing = {name for name in names if not any(verb.startswith(f"{name} ") for verb in verbs)}
    assert missing == OTHERS, "add new commands to a table, or to OTHERS"


def fill(table: Table, verbs: Mapping[str, tuple[str, ...]]) -> Table:
    """Run every verb of a table."""
    for verb, words in verbs.items():
        table.add(
            words, times=1 + (verb in TWICE), is_shown=verb not in LOOKS,
            changes=verb not in KEEPS,
        )  # fmt: skip
    return table
