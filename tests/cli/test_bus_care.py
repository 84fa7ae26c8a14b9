"""The output of `msg search`, `msg prune` and `msg export`, and the limits of `msg send`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.__main__ import main
from gitworker.bus.files.rules_retention import DAY_MS
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, plain
from tests.conftest import git
from tests.hints.following import note
from tests.workers.world import wait_until

LATER = {"GITWORKER_CLOCK_MS": str(1_900_000_000_000)}
BETWEEN = {"GITWORKER_CLOCK_MS": str(1_900_000_000_000 - 50 * DAY_MS)}


Run = Callable[..., Answer]


@pytest.fixture
def here(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Run a command in this process in the main checkout, and replace the volatile output."""

    def run_here(*words: str, env: dict[str, str] | None = None) -> Answer:
        with monkeypatch.context() as patch:
            patch.chdir(repository)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            capfd.readouterr()
            status = main(words)
            captured = capfd.readouterr()
        return Answer(status, plain(captured.out, repository), plain(captured.err, repository))

    return run_here


def test_search(scene: Scene) -> None:
    """Messages are found by their words, newest first, and cannot control a terminal."""
    ok(scene.root, "init")
    ok(scene.root, "msg", "send", "log", '{"message": "login \\u001b[H failed"}')
    ok(scene.root, "msg", "send", "status", '{"step": "login"}')
    answer = scene.run("msg", "search", "login")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == (
        "2  <time>  hq → all  status  step login\n"
        "1  <time>  hq → all  log  message login \\u001b[H failed\n"
    )
    (one,) = scene.run("msg", "search", "--json", "login", "failed").document["messages"]
    assert (one["seq"], one["type"], one["payload"]["message"]) == (1, "log", "login \x1b[H failed")
    nothing = scene.run("msg", "search", "log", "status")
    assert (nothing.status, nothing.out) == (0, "")
    assert nothing.err == "no message contains all of these words\n"
    assert scene.run("msg", "search", "*").status == 2
    assert scene.run("msg", "search").status == 2


def test_prune(scene: Scene, here: Run) -> None:
    """Old messages are archived, a dry run only reports them, and both name the rest's holders."""
    here("init", env=LATER)  # otherwise the daily job would be faster than this test
    here("msg", "send", "status", '{"n": 1}', env=BETWEEN)
    here("msg", "send", "status", '{"n": 2}', env=LATER)
    dry = here("msg", "prune", "--dry-run", env=LATER)
    assert (dry.status, dry.out) == (0, "would prune 1 message\n")
    done = here("msg", "prune", env=LATER)
    assert done.out == (
        "pruned 1 message\narchived in <root>/.git/worker-state/archive/bus-1-1.jsonl.gz\n"
    )
    again = here("msg", "prune", "--older-than", "0", "--no-archive", "--json", env=LATER)
    assert {name: again.document[name] for name in ("messages", "archive", "dry_run")} == {
        "messages": 0, "archive": None, "dry_run": False,
    }  # fmt: skip
    off = here("msg", "prune", env={"GITWORKER_RETENTION_DAYS": "0"})
    assert (off.status, "--older-than" in off.err) == (2, True)


def test_prune_after_a_jump_of_the_clock(scene: Scene, here: Run) -> None:
    """A clock that was set forward deletes nothing, not even in a dry run, and the hint helps."""
    here("init")
    here("spawn", "auth", "t1")
    here("heartbeat", "auth")
    here("msg", "send", "status", '{"n": 1}')
    for words in ((), ("--dry-run",), ("--json",)):
        answer = here("msg", "prune", *words, env=LATER)
        assert answer.status == 1
        assert "clock has moved" in answer.err + answer.out
    collect = ("gc", "--older-than", "30")
    assert "clock has moved" in here(*collect, env=LATER).err
    here("heartbeat", "auth", env=LATER)
    # A background job of the commands may prune at this moment, too.
    wait_until(lambda: here("msg", "prune", env=LATER).status != 3)
    assert here("msg", "prune", env=LATER).status == here(*collect, env=LATER).status == 0
    note("git worker heartbeat <worker>", answer.out)


def test_export(scene: Scene, here: Run) -> None:
    """The files are updated and named; with --git they are committed once."""
    here("init")
    here("msg", "send", "status", '{"n": 1}')
    (scene.state / "bus.jsonl").unlink()
    files = "<root>/.git/worker-state/bus.jsonl\n<root>/.git/worker-state/transitions.jsonl\n"
    assert here("msg", "export").out == files
    assert json.loads((scene.state / "bus.jsonl").read_text())["seq"] == 1
    assert here("msg", "export", "--git").out == (files + "refs/worker/log <short> (committed)\n")
    document = here("msg", "export", "--git", "--json").document
    assert (document["committed"], document["ref"]) == (False, "refs/worker/log")
    assert git(scene.root, "show", "refs/worker/log:bus.jsonl").startswith('{"seq":1,')
    assert git(scene.root, "log", "--format=%H").count("\n") == 0, "no branch has moved"


@pytest.mark.parametrize("through_click", [False, True])
def test_back_pressure(scene: Scene, here: Run, through_click: bool) -> None:
    """A sender over a limit gets status 3 and the time to wait, and can wait for it."""
    scene.spawn("auth", "t1")
    here("msg", "poll", "--as", "auth")
    limits = {"GITWORKER_MESSAGE_MAX_UNREAD": "2"}
    send = ("msg", "send", "x-a", "{}", "--to", "auth", *(["--json"] if through_click else []))
    for _ in range(2):
        assert here(*send, env=limits).status == 0
    refused = here(*send, env=limits)
    assert refused.status == 3
    said = refused.document["error"]["message"] if through_click else refused.err
    assert "auth has 2 unread messages; 2 are allowed (message.max_unread)" in said
    assert here(*send, "--wait", "1", env=limits).status == 3
    assert here("msg", "send", "x-a", "{}", env=limits).status == 0
    here("msg", "poll", "--as", "auth")
    assert here(*send, "--wait", "20", env=limits).status == 0


def test_limits_are_kept_for_hot_verbs(scene: Scene, here: Run) -> None:
    """A limit in git's configuration holds for `msg send` after any full command has seen it."""
    git(scene.root, "config", "worker.message.max-unread", "1")
    scene.spawn("auth", "t1")
    here("msg", "poll", "--as", "auth")
    send = ("msg", "send", "x-a", "--to", "auth")
    assert [here(*send).status for _ in range(2)] == [0, 3]
    git(scene.root, "config", "worker.message.max-unread", "0")
    here("list")
    assert here(*send).status == 0


def test_the_daily_job_starts_by_itself(scene: Scene, tmp_path: Path) -> None:
    """A day after the first command one command starts the daily job, and the next does not."""
    trace = tmp_path / "trace"
    trace.write_text("")
    ok(scene.root, "init")
    tomorrow = {**LATER, "GITWORKER_TRACE": str(trace)}
    for _ in range(2):
        ok(scene.root, "list", env=tomorrow)
    started = [line for line in trace.read_text().splitlines() if "hookentry upkeep" in line]
    assert len(started) == 1
