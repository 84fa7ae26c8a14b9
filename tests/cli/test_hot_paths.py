"""The cost of commands: the modules that frequent ones import, the processes that each starts."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.agents.hooks.rules_session import BEAT_EVERY_MS
from gitworker.bus.following.notify_followers import STAMP
from gitworker.clock import now_ms
from gitworker.repo.plumbing.repository_lock import hold
from tests.cli.conftest import Scene
from tests.cli.kit import ok
from tests.conftest import git

# The modules that a frequent command may import beyond those of a bare interpreter.
SHARED = {
    "__future__", "apsw", "fcntl", "gc",
    "gitworker", "gitworker.__main__", "gitworker.bus",
    "gitworker.bus.caller", "gitworker.bus.caller.identity", "gitworker.cli", "gitworker.cli.hot",
    "gitworker.bus.limits.send_limits", "gitworker.cli.hot.place",
    "gitworker.clock", "gitworker.errors", "gitworker.model", "gitworker.bus.limits",
    "gitworker.model.ids", "gitworker.paths", "gitworker.store", "gitworker.store.backend",
    "gitworker.store.sqlite", "gitworker.store.sqlite.database",
    "gitworker.store.sqlite.write_gate", "gitworker.store.sqlite.migrate",
    "gitworker.store.sqlite.queries",
}  # fmt: skip
PRINT = {"gitworker.cli.output", "gitworker.rules_text"}
NOTIFY = {
    *PRINT, "gitworker.bus.files", "gitworker.bus.files.export", "gitworker.bus.files.json_line",
    "gitworker.bus.files.timed_lock", "gitworker.bus.following",
    "gitworker.bus.following.notify_followers", "gitworker.store.messages",
    "gitworker.store.messages.log_positions", "gitworker.store.messages.mailbox",
}  # fmt: skip
SIGN = {
    "gitworker.bus.files", "gitworker.bus.heartbeat_message",
    "gitworker.bus.files.state_file_heartbeat", "gitworker.bus.files.timed_lock",
    "gitworker.store.claims", "gitworker.store.heartbeats", "gitworker.store.messages",
    "gitworker.store.messages.mailbox", "gitworker.store.rules_leases",
}  # fmt: skip
BEAT = SIGN | PRINT | {"gitworker.cli.hot.heartbeat", "gitworker.cli.hot.words"}
SEND = NOTIFY | {
    "gitworker.bus.blobs", "gitworker.bus.message_ids", "gitworker.cli.hot.words",
    "gitworker.bus.limits.back_pressure", "gitworker.bus.rules_message",
    "gitworker.bus.limits.rules_pressure", "gitworker.bus.send", "gitworker.cli.hot.send",
    "gitworker.model.message", "gitworker.store.messages.pressure",
}  # fmt: skip
POLL = PRINT | {
    "gitworker.bus.blobs", "gitworker.bus.consume", "gitworker.bus.files",
    "gitworker.bus.files.json_line", "gitworker.bus.following",
    "gitworker.bus.following.notify_followers", "gitworker.cli.hot.poll",
    "gitworker.cli.hot.words", "gitworker.proc", "gitworker.processes",
    "gitworker.processes.jobs", "gitworker.store.messages", "gitworker.store.messages.mailbox",
    "select",
}  # fmt: skip
SILENT = {
    "gitworker.agents", "gitworker.agents.hooks",
    "gitworker.agents.hooks.hook_context",
    "gitworker.agents.hooks.respond", "gitworker.agents.hooks.rules_dialects",
    "gitworker.agents.hooks.rules_session", "gitworker.agents.hooks.unread_mail",
    "gitworker.cli.hot.hook", "gitworker.store.claims", "gitworker.store.records",
    "gitworker.store.records.agent_hooks", "gitworker.store.rules_leases", "select",
    "gitworker.model.message", "gitworker.store.messages", "gitworker.store.messages.inboxes",
}  # fmt: skip
HOOK = SILENT | SIGN
ANSWER = PRINT | {
    "gitworker.agents.hooks.texts", "gitworker.bus.files", "gitworker.bus.files.json_line",
    "gitworker.store.messages.mailbox", "gitworker.store.records.runs",
}  # fmt: skip
STOP = {
    "gitworker.agents.hooks.stop_gate", "gitworker.proc", "gitworker.repo", "gitworker.rules_text",
    "gitworker.repo.plumbing", "gitworker.repo.plumbing.git",
    "gitworker.repo.plumbing.git_environment", "gitworker.repo.status",
    "gitworker.repo.status.checkout_status", "gitworker.repo.status.special_files",
}  # fmt: skip
HOT: dict[tuple[str, ...], set[str]] = {
    ("heartbeat", "--status", "working", "--progress", "0.5"): BEAT,
    ("heartbeat", "auth"): BEAT,
    ("heartbeat", "--task", "t1"): BEAT,
    ("heartbeat", "--task", "other"): BEAT | {"gitworker.bus.limits.rules_secrets"},
    ("msg", "send", "status", '{"progress": 0.5}', "--to", "hq"): SEND,
    ("hook", "PostToolUse"): HOOK,
    ("hook", "UserPromptSubmit"): HOOK,
    ("hook", "Stop"): HOOK | STOP,
    ("hook", "Notification"): HOOK | NOTIFY | {"gitworker.bus.message_ids"},
    ("msg", "poll"): POLL,
    ("msg", "poll", "--no-ack", "--limit", "3", "--as", "auth"): POLL,
    ("msg", "poll", "--mine", "--type", "x-note", "--from=hq"): POLL,
}
# How many processes each command starts, in a repository with two workers.
PROCESSES: dict[tuple[str, ...], int] = {
    ("heartbeat", "auth"): 0,
    ("msg", "send", "x-note"): 0,
    ("msg", "ack", "1"): 2,
    ("list",): 2,
    ("agents",): 2,
    ("path", "auth"): 2,
    ("status",): 3,  # one counts how far all branches are ahead
}


def imported(cwd: Path, *words: str) -> set[str]:
    """Return the modules that a command imports beyond those of a bare interpreter."""
    program = shutil.which("git-worker")
    assert program is not None

    def names(*argv: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *argv], cwd=cwd, check=True, capture_output=True,
            text=True,
        )  # fmt: skip
        rows = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {row.rpartition("|")[2].strip() for row in rows[1:]}

    return names(program, *words) - names("-c", "pass")


@pytest.mark.parametrize("words", HOT, ids=" ".join)
def test_hot_verbs_import_little(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A frequent command of a worker at work imports only the modules on its list."""
    worktree = scene.working()
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(now_ms() + BEAT_EVERY_MS))
    assert imported(worktree, *words) - SHARED - HOT[words] == set()


@pytest.mark.parametrize("is_supervised", [True, False])
def test_a_session_begins_with_little(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, is_supervised: bool
) -> None:
    """The introduction of an agent whose living process is recorded imports little."""
    worktree = scene.spawn("auth", "t1")
    ok(worktree, "start", "--pid", str(scene.agent_pid))
    if is_supervised:
        monkeypatch.setenv("GITWORKER_WORKTREE", str(worktree))
    more = set()
    if not is_supervised:
        more |= {"gitworker.liveness", "gitworker.liveness.process_origin"}
        more |= {"gitworker.processes", "gitworker.processes.table"}
    assert imported(worktree, "hook", "SessionStart") - SHARED - HOOK - ANSWER - more == set()


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PostToolUse"])
def test_work_begins_with_little(scene: Scene, event: str) -> None:
    """The first event of an agent whose work begins imports little: a job starts the work."""
    worktree = scene.spawn("auth", "t1")
    more = {
        "gitworker.agents.hooks.begin_work", "gitworker.liveness", "gitworker.liveness.processes",
        "gitworker.proc", "gitworker.processes", "gitworker.processes.jobs",
        "gitworker.processes.table",
    }  # fmt: skip
    if event == "SessionStart":
        more |= ANSWER
    assert imported(worktree, "hook", event) - SHARED - HOOK - more == set()


def test_messages_come_with_little(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook that carries a message to the agent imports no parser, a silent one not even mail."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(now_ms()))  # the heartbeat stays new
    worktree = scene.working()
    ok(worktree, "heartbeat")
    ok(scene.root, "send", "auth", "Use port 8080")
    more = {
        "math", "gitworker.bus.blobs", "gitworker.bus.following",
        "gitworker.bus.following.message_fields", "gitworker.bus.rules_message",
        "gitworker.observe", "gitworker.observe.inbox", "gitworker.observe.inbox.read_messages",
        "gitworker.observe.inbox.rules_comments", "gitworker.observe.inbox.rules_messages",
        "_json",
    }  # fmt: skip
    assert imported(worktree, "hook", "PostToolUse") - SHARED - SILENT - ANSWER - more == set()
    assert imported(worktree, "hook", "PostToolUse") - SHARED - SILENT == set()


def test_waiting_imports_little(scene: Scene) -> None:
    """A poll imports the modules for waiting only if it waits."""
    waiting = {"gitworker.store.sqlite.inotify", "gitworker.store.sqlite.waking"}
    foreign = {"_ctypes", "_struct", "ctypes", "ctypes._endian", "struct", "types"}
    worktree = scene.spawn("auth", "t1")
    words = ("msg", "poll", "--wait", "1")
    assert imported(worktree, *words) - SHARED - POLL == set()
    found = imported(worktree, *words)
    assert waiting <= found
    assert found - SHARED - POLL - waiting - foreign == set()


@pytest.mark.parametrize("words", PROCESSES, ids=" ".join)
def test_processes_are_few(scene: Scene, tmp_path: Path, words: tuple[str, ...]) -> None:
    """A command starts no more processes than are pinned here."""
    scene.spawn("auth", "t1")
    scene.spawn("docs", "t2")
    started = traced(scene, tmp_path, *words)
    assert len(started) == PROCESSES[words], started


def test_the_way_starts_few_processes(scene: Scene, tmp_path: Path) -> None:
    """Acting commands start at most as many processes as are pinned here."""
    ok(scene.root, "init")
    way: list[tuple[int, tuple[str, ...]]] = [
        (9, ("spawn", "auth", "t1")),  # the first writes our shims and switches a setting on
        (6, ("spawn", "docs", "t2")),
        (2, ("start", "auth", "--pid", str(scene.agent_pid))),
        (10, ("done", "auth", "--commit", "-m", "Write it")),
        (4, ("reject", "auth", "-m", "Again")),
        (
            8,
            ("done", "auth", "-m", "So it is right"),
        ),  # two of them look for trees that git cannot check out
        (8, ("approve", "auth")),  # the same two
        (10, ("merge", "auth")),
        (10, ("cancel", "docs")),
        (6, ("undo",)),
        (2, ("fail", "docs", "-m", "No")),
        (9, ("reset", "docs")),
    ]
    for at_most, words in way:
        if words[0] == "start":
            (scene.root / "worktrees/t1/new").write_text("new\n")
        started = traced(scene, tmp_path, *words)
        background = ("hookentry", f"git -C {scene.root}/.git ")
        ours = [line for line in started if not any(mark in line for mark in background)]
        assert len(ours) <= at_most, (words, ours)


def test_land_starts_few_processes(scene: Scene, tmp_path: Path) -> None:
    """`land` of a branch that is behind the target replays it once and asks git nothing twice."""
    scene.submitted()
    scene.commit(scene.root, "other.txt")
    started = traced(scene, tmp_path, "land", "auth")
    ours = [line for line in started if "hookentry" not in line and "nice /bin/sh" not in line]
    assert len(ours) <= 20, ours


def test_land_imports_little(scene: Scene) -> None:
    """Without remote, pool and verify commands `land` loads none of the modules for these."""
    scene.submitted()
    rooms = ("radar.", "repo.hooks.", "repo.pool.", "repo.remote.", "verify.verify")
    slow = tuple(f"gitworker.{room}" for room in rooms)
    found = imported(scene.root, "land", "auth")
    assert found & {"click", "dataclasses", "filelock", "inspect", "uuid"} == set()
    assert [name for name in found if name.startswith(slow)] == []


def test_a_spawn_from_the_pool_imports_no_parser(scene: Scene) -> None:
    """`spawn WORKER TASK` does without click, filelock and the modules of dataclasses."""
    git(scene.root, "config", "worker.worktree.pool", "1")
    scene.spawn("auth", "t1")
    ok(scene.root, "pool", "--fill")
    slow = {"click", "dataclasses", "filelock", "inspect", "subprocess", "uuid"}
    assert imported(scene.root, "spawn", "docs", "t2") & slow == set()


def test_a_spawn_from_the_pool_starts_few_processes(scene: Scene, tmp_path: Path) -> None:
    """One look at the parked worktree, settings, target, and the branch: no other process."""
    # A busy machine may need more than the second for which that look counts: five tries.
    asked = ("status", "config", "cat-file", "update-ref")
    scene.spawn("auth", "t1")
    git(scene.root, "config", "worker.worktree.pool", "1")
    for number in range(5):
        ok(scene.root, "task", "add", f"docs-{number}", "--title", "Document")
        ok(scene.root, "pool", "--fill")
        with hold(f"{scene.state}/locks/pool", name="pool"):  # another process makes the next one
            started = traced(scene, tmp_path, "spawn", f"docs{number}", f"docs-{number}")
        background = ("hookentry", f"git -C {scene.root}/.git ")
        started = [line for line in started if not any(mark in line for mark in background)]
        ours = [line.partition(str(scene.root))[2] for line in started]
        if ours.count(ours[0]) == 1:
            break
    assert len(ours) == len(asked), ours
    assert all(word in line for word, line in zip(asked, ours, strict=True)), ours


def test_a_supervisor_asks_git_after_the_start(scene: Scene, tmp_path: Path) -> None:
    """The agent of a detached `exec` is the first process that its supervisor starts."""
    scene.spawn("auth", "t1")
    supervisor = ("exec", "auth", "--json", "--supervisor", "--no-auto-resume", "--", "true")
    first, *_ = traced(scene, tmp_path, *supervisor)
    assert first.endswith("true"), first


def test_poll_rings_few_drains(scene: Scene, tmp_path: Path) -> None:
    """Of many polls in a row, one starts a drain, and after two seconds another may."""
    scene.spawn("auth", "t1")
    (first,) = rung(scene, tmp_path)
    assert first.endswith(f"-m gitworker.hookentry drain {scene.root}/.git")
    rung_ms = (scene.state / STAMP).stat().st_mtime_ns // 1_000_000
    for later_ms, drains in ((0, 0), (1999, 0), (2000, 1)):
        env = {"GITWORKER_CLOCK_MS": str(rung_ms + later_ms)}
        assert len(rung(scene, tmp_path, env=env)) == drains, later_ms


def rung(scene: Scene, folder: Path, env: dict[str, str] | None = None) -> list[str]:
    """Return the drains that a poll starts, without those that they start in turn."""
    started = traced(scene, folder, "msg", "poll", env=env)
    return [line for line in started if "hookentry drain" in line]


def traced(scene: Scene, folder: Path, *words: str, env: dict[str, str] | None = None) -> list[str]:
    """Return the command lines of the processes that a command starts."""
    file = folder / "trace"
    file.write_text("")
    ok(scene.root, *words, env={"GITWORKER_TRACE": str(file), **(env or {})})
    return file.read_text().splitlines()
