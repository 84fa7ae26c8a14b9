"""exec: the effect of an agent's end on its worker, and the reports of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.bus.transitions import move_task
from gitworker.lifecycle.moves import advance
from gitworker.liveness.processes import processes_in
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerEvent
from gitworker.store.tasks import require_stored_task
from gitworker.store.workers import find_worker
from tests.agents.supervised import COMMIT, SupervisedWorker, is_alive, read_until
from tests.cli.kit import DEADLINE_S, ok, run
from tests.workers.world import wait_until, without_heartbeat_daemon

FAILED, REVIEW, WORKING = "FAILED", "IN_REVIEW", "WORKING"
IN_WORDS = {FAILED: "has failed", REVIEW: "is in review", WORKING: "is still at work"}


@pytest.mark.parametrize(
    ("script", "status", "state"),
    [
        (COMMIT, 0, REVIEW),
        (":", 0, WORKING),
        (f"{COMMIT}; echo more > new.txt", 0, WORKING),
        (f"{COMMIT}; exit 7", 7, FAILED),
        ("kill -KILL $$", 137, FAILED),
        (f"{COMMIT}; git-worker done; exit 5", 5, REVIEW),
        ("git-worker fail -m 'No idea'; exit 0", 0, FAILED),
    ],
)
def test_the_effect_of_an_end(auth: SupervisedWorker, script: str, status: int, state: str) -> None:
    """Success submits committed work, failure fails the task, and an earlier report is kept."""
    answer = auth.exec(script)
    assert answer.status == status, answer
    assert auth.state() == state
    assert f"auth {IN_WORDS[state]}" in answer.err
    (found,) = auth.runs()
    assert found["ended_at_ms"]
    assert found["exit_status"] == status
    auth.world.require_sound()


@pytest.mark.parametrize("status", [0, 5])
def test_the_end_of_an_agent_whose_work_was_sent_back(auth: SupervisedWorker, status: int) -> None:
    """Work that was sent back while its agent still ran is neither submitted again nor failed."""
    reject = f"cd {auth.world.root} && git-worker reject auth --as hq -m more"
    answer = auth.exec(f"{COMMIT}; git-worker done && ({reject}); exit {status}")
    assert answer.status == status, answer
    assert auth.state() == WORKING
    assert auth.world.worker("auth").waits_for_author
    assert "auth waits for its author: its work was sent back" in answer.err


def test_an_agent_that_answers_no_verdict(auth: SupervisedWorker) -> None:
    """An agent that commits nothing after a rejection does not hand the same commits in again."""
    auth.exec(COMMIT)
    ok(auth.world.root, "reject", "auth", "-m", "more")
    answer = auth.exec(":")
    assert "auth is still at work: nothing was committed since its work was sent back" in answer.err
    assert auth.state() == WORKING
    auth.exec(COMMIT)
    assert auth.state() == REVIEW


def test_start_and_end_are_reported(auth: SupervisedWorker) -> None:
    """Start and end are reported with process, command, exit status, duration and reason."""
    auth.exec("exit 3")
    (started,) = auth.world.messages("agent_started")
    (stopped,) = auth.world.messages("agent_stopped")
    assert started == {"pid": started["pid"], "run": 1, "command": "sh -c 'exit 3'"}
    assert stopped.pop("duration_s") < 60
    assert stopped == {
        **started,
        "exit_status": 3,
        "reason": "it ended with status 3",
        "outcome": "failed",
    }
    assert auth.logs() == [
        ("info", "agent_start", "sh -c 'exit 3'"),
        ("error", "error", "it ended with status 3"),
    ]
    (failed,) = auth.world.messages("task_failed")
    assert failed["reason"] == "it ended with status 3"
    assert auth.world.worker("auth").last_error == "it ended with status 3"


def test_the_environment_of_an_agent(auth: SupervisedWorker) -> None:
    """An agent finds worker, task and bus in its environment, and none of git's variables."""
    env = {"GIT_DIR": str(auth.world.root / ".git"), "GIT_PREFIX": "x"}
    answer = auth.exec("pwd; env", env=env)
    found = dict(line.split("=", 1) for line in answer.out.splitlines()[1:])
    state = auth.world.state_dir
    assert answer.out.splitlines()[0] == str(auth.path)
    before = {name for name in os.environ if name.startswith("GITWORKER_")}
    ours = {name for name in found if name.startswith("GITWORKER_")} - before
    assert {name: found[name] for name in ours} == {
        "GITWORKER_ID": "auth",
        "GITWORKER_TASK": "t1",
        "GITWORKER_BRANCH": "auth/t1",
        "GITWORKER_WORKTREE": str(auth.path),
        "GITWORKER_STATE": str(state),
        "GITWORKER_BUS": str(state / "bus.db"),
    }
    assert not {"GIT_DIR", "GIT_PREFIX"} & found.keys()


def test_the_worker_is_at_work_before_its_agent_is(auth: SupervisedWorker) -> None:
    """An agent finds its worker WORKING with its own process and with a heartbeat."""
    answer = auth.exec(f"{sys.executable} -c 'import os; print(os.getpid())'; git-worker list")
    assert "auth\tWORKING\tt1" in answer.out
    script = "git-worker show auth --json"
    shown = auth.exec(f"echo $$; {script}").out.splitlines()
    assert f'"pid":{shown[0]}' in shown[1]
    assert auth.world.query("SELECT agent_id FROM heartbeats") == [("auth",)]
    assert '"last_heartbeat": "' in (auth.world.state_dir / "workers" / "auth.json").read_text()


@pytest.mark.parametrize(
    ("before", "reason"),
    [("done", "no work to start an agent for"), ("cancel", "task t1 was cancelled by hq")],
)
def test_no_agent_for_a_worker_without_work(
    auth: SupervisedWorker, before: str, reason: str
) -> None:
    """A worker in an unsuitable state refuses an agent, and no agent runs."""
    auth.exec(COMMIT if before == "done" else ":")
    if before == "cancel":
        ok(auth.world.root, "cancel", "auth")
    runs = auth.runs()
    answer = auth.exec("echo ran")
    assert (answer.status, answer.out) == (1, "")
    assert reason in answer.err
    assert auth.runs() == runs


@pytest.mark.parametrize("words", [("exec", "auth"), ("resume", "auth")])
def test_a_failed_worker_goes_on(auth: SupervisedWorker, words: tuple[str, ...]) -> None:
    """After an agent that failed, the next one continues with the files as they are."""
    assert auth.exec("echo half > half; exit 1").status == 1
    assert auth.state() == "FAILED"
    script = f"cat half; git add half; {COMMIT}"
    answer = run(auth.world.root, *words, "--", "sh", "-c", script)
    assert (answer.status, answer.out.splitlines()[0]) == (0, "half"), answer
    assert auth.state() == "IN_REVIEW"


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-file", "README"])
def test_a_program_that_is_not_there(auth: SupervisedWorker, program: str) -> None:
    """A program that cannot be run is reported before any change."""
    answer = run(auth.world.root, "exec", "auth", "--", program)
    assert answer.status == 4
    assert "the program does not exist" in answer.err
    assert (auth.state(), auth.runs()) == ("ASSIGNED", [])


def test_words_are_the_agents_own(auth: SupervisedWorker) -> None:
    """Everything after the first -- reaches the agent, options and further dashes too."""
    (auth.path / "args").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    os.chmod(auth.path / "args", 0o755)
    words = ("--json", "--", "-h", "a b", "", "$HOME")
    for options in ((), ("--time-limit", "60"), ("--as", "hq")):
        answer = run(auth.world.root, "exec", "auth", *options, "--", "./args", *words)
        assert answer.out == "--json|--|-h|a b||$HOME|", answer


def test_wrong_usage(auth: SupervisedWorker) -> None:
    """A missing command and an invalid limit are usage errors."""
    limits = [("--time-limit", text, "--", "true") for text in ("0", "nan", "inf", "1e306")]
    for words in (("auth",), ("auth", "--"), ("auth", "true"), *limits):
        answer = run(auth.world.root, "exec", *words)
        assert answer.status == 2, answer
    assert auth.runs() == []


def test_json(auth: SupervisedWorker) -> None:
    """With --json the result is one document and the output is in the log."""
    answer = run(auth.world.root, "exec", "auth", "--json", "--", "sh", "-c", "echo hello; exit 2")
    assert answer.status == 2
    document = answer.document
    assert (document["worker"], document["exit_status"], document["run"]) == ("auth", 2, 1)
    assert document["outcome"] == "failed"
    assert document["message"] == "auth has failed: it ended with status 2"
    assert auth.log.read_text() == "hello\n"
    ok(auth.world.root, "cancel", "auth")
    refused = run(auth.world.root, "exec", "auth", "--json", "--", "true")
    assert refused.document["error"]["code"] == "task_ended"


def test_spawn_with_a_command(auth: SupervisedWorker) -> None:
    """spawn runs a command in the new worktree; its output and exit status are the answer."""
    answer = run(auth.world.root, "spawn", "docs", "t2", "--", "sh", "-c", "pwd; exit 6")
    place = auth.world.root / "worktrees" / "t2"
    assert (answer.status, answer.out) == (6, f"{place}\n")
    assert "docs works in" in answer.err
    assert auth.world.states("docs", "t2") == ("FAILED", "FAILED")
    answer = run(auth.world.root, "spawn", "more", "t3", "--json", "--", "true")
    assert answer.document["path"].endswith("/t3")


def test_a_spawn_that_fails_starts_nothing(auth: SupervisedWorker) -> None:
    """A refused spawn runs no command, and an unknown program spawns nothing."""
    mark = auth.world.root / "ran"
    answer = run(auth.world.root, "spawn", "auth", "t9", "--", "touch", str(mark))
    assert answer.status == 1
    assert not mark.exists()
    answer = run(auth.world.root, "spawn", "docs", "t2", "--", "no-such-program")
    assert answer.status == 4
    assert auth.world.query("SELECT worker_id FROM workers") == [("auth",)]


def test_one_agent_a_worker(auth: SupervisedWorker) -> None:
    """While a worker's agent lives a second one is refused, even after its supervisor's death."""
    with auth.running("sleep", "60") as process, without_heartbeat_daemon(auth.world):
        for _ in range(2):
            answer = auth.exec("true")
            assert answer.status == 3
            assert "worker auth already runs an agent" in answer.err
            assert "git worker stop" in answer.err
            process.kill()
            process.wait()


@pytest.mark.parametrize("point", ["cancel.journal", "cancel.trashed"])
def test_a_worker_that_is_being_taken_away(auth: SupervisedWorker, point: str) -> None:
    """If a killed command has begun to remove the worktree, it is removed and no agent begins."""
    root = auth.world.root
    assert run(root, "cancel", "auth", env={"GITWORKER_CRASH_AT": point}).status == -9
    answer = auth.exec("echo begun")
    assert (answer.status, answer.out) == (1, ""), answer
    assert "settled an interrupted cancel of auth" in answer.err
    assert "worker auth has no task" in answer.err
    assert auth.runs() == []


@pytest.mark.parametrize("verb", ["cancel", "reset"])
def test_a_worker_whose_agent_is_elsewhere(auth: SupervisedWorker, verb: str) -> None:
    """A worktree is kept while its agent lives, whatever the agent's directory is."""
    with auth.running("sh", "-c", "cd / && exec sleep 60") as process:
        wait_until(lambda: not processes_in(str(auth.path)))
        if verb == "reset":
            ok(auth.world.root, "fail", "auth", "-m", "enough")
        answer = run(auth.world.root, verb, "auth")
        assert answer.status == 1, answer
        assert "an agent works for auth (process" in answer.err
        assert auth.path.is_dir()
        assert process.poll() is None
        auth.order("stop")
        assert process.wait(DEADLINE_S) == 143


def test_the_agent_of_an_earlier_task(auth: SupervisedWorker) -> None:
    """An agent that lives on after its task has landed does not block a cancel of the next."""
    root = auth.world.root
    with auth.running(
        "sh", "-c", f"{COMMIT}; git-worker done; echo done; exec sleep 60"
    ) as process:
        assert process.stdout
        read_until(process.stdout.fileno(), b"done\n")
        ok(root, "approve", "auth")
        ok(root, "merge", "auth")
        ok(root, "assign", "auth", "t2")
        ok(root, "cancel", "auth")
        assert auth.path.is_dir()
        assert process.poll() is None


def test_a_killed_supervisor_loses_nothing(auth: SupervisedWorker) -> None:
    """The agent of a killed supervisor stays the worker's process, and its end is found later."""
    with auth.running("sleep", "60") as process, without_heartbeat_daemon(auth.world):
        process.kill()
        process.wait()
        (found,) = auth.runs()
        assert is_alive(found["pid"])
        ok(auth.world.root, "list")
        assert auth.runs() == [found], "the run continues with the agent"
        assert auth.world.worker("auth").pid == found["pid"]
        os.kill(found["pid"], 9)
        wait_until(lambda: not is_alive(found["pid"]))
        ok(auth.world.root, "list")
        (ended,) = auth.runs()
        assert ended["ended_at_ms"]
        assert ended["exit_status"] is None
        (stopped,) = auth.world.messages("agent_stopped")
        assert stopped["reason"] == "its supervisor was killed, so its exit status is unknown"
        (item,) = run(auth.world.root, "inbox", "--json").document["items"]
        assert (item["kind"], item["command"]) == ("idle", "git worker resume auth")
        (line,) = run(auth.world.root, "status", "--json").document["workers"]
        assert line["news"] == item["text"] == f"its agent ended: {stopped['reason']}"
        assert (line["liveness"], line["next"]) == ("-", "git worker resume auth")
        assert auth.exec(COMMIT).status == 0
        assert auth.state() == REVIEW


def test_an_unrecorded_agent_never_runs(auth: SupervisedWorker) -> None:
    """A process that waits to become the agent ends if its supervisor dies before that."""
    mark = auth.path / "ran"
    auth.world.session()
    script = (
        "import os, apsw, sys\n"
        "from gitworker import proc\n"
        f"pid, gate = proc.spawn_gated(['touch', {str(mark)!r}], cwd={str(auth.path)!r},"
        " env=dict(os.environ), fds=(0, 1, 2))\n"
        "print(pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    pid = int(done.stdout)
    wait_until(lambda: not is_alive(pid))
    assert not mark.exists()


def test_importing_exec_is_cheap() -> None:
    """The start of an agent loads neither click nor the most expensive modules."""
    modules = (
        "gitworker.cli.hot.exec, gitworker.store.sqlite.queries, gitworker.agents.process.terminal"
    )
    script = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True,
        env={k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")},
    )  # fmt: skip
    heavy = {"click", "typing", "dataclasses", "json", "re", "threading", "contextlib"}
    assert not heavy & set(done.stdout.split())


def test_the_log_of_earlier_agents_is_appended_to(auth: SupervisedWorker) -> None:
    """A second agent's output follows the first one's in the log."""
    auth.exec("echo one")
    auth.exec("echo two >&2")
    assert auth.log.read_text() == "one\ntwo\n"
    assert Path(auth.log).stat().st_mode & 0o77 == 0


def test_a_task_that_waits_keeps_its_worker(auth: SupervisedWorker) -> None:
    """An agent may end while its task is paused or has asked something; a stop blocks it still."""
    session = auth.world.session()

    def ask() -> None:
        with session.store.write() as writer:
            task = require_stored_task(writer, "t1")
            move_task(writer, task, (TaskEvent.AGENT_QUESTION,), actor="auth")

    with auth.running("sh", "-c", "read line; exit 3", stdin=-1) as process:
        assert process.stdin
        ask()
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 3
        assert process.stderr
        assert b"auth is still at work: t1 is paused or waits" in process.stderr.read()
    assert auth.world.states("auth", "t1") == ("WORKING", "WAITING_INPUT")
    with auth.running("sleep", "60") as process:
        auth.order("stop", "never mind")
        assert process.wait(DEADLINE_S) == 143
    assert auth.world.states("auth", "t1") == ("FAILED", "BLOCKED")
    auth.world.require_sound()


def test_a_worker_that_another_process_took_over(auth: SupervisedWorker) -> None:
    """If another process works for the worker by now, the end of our agent changes nothing."""
    with auth.running("sh", "-c", "read line; exit 3", stdin=-1) as process:
        with auth.world.session().store.write() as writer:
            writer.run(
                "workers.set_process",
                worker="auth", pid=os.getpid(), pid_start="1", host="h", boot_id="b",
                pid_ns="1",
            )  # fmt: skip
        assert process.stdin
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 3
    assert auth.state() == "WORKING"
    assert auth.runs()[0]["exit_status"] == 3


def test_a_stale_worker_is_recovered_first(auth: SupervisedWorker) -> None:
    """An agent whose worker became stale, as after a debugger, still submits its work."""
    with auth.running("sh", "-c", f"read line; {COMMIT}", stdin=-1) as process:
        session = auth.world.session()
        with session.store.write() as writer:
            worker = find_worker(writer, "auth")
            assert worker is not None
            writer.run("workers.set_stale_from", worker="auth", stale_from="WORKING")
            advance(writer, worker, WorkerEvent.HEARTBEAT_TIMEOUT, actor="hq")
        assert process.stdin
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 0
    assert auth.state() == REVIEW
    auth.world.require_sound()


def test_a_log_that_the_agent_deletes(auth: SupervisedWorker) -> None:
    """An agent that tidies up with `git clean -fdx` deletes no line of its log."""
    assert auth.exec(f"echo one; git clean -fdxq; echo two; {COMMIT}").status == 0
    assert auth.log.read_text() == "one\ntwo\n"


def test_one_process_before_the_agent(auth: SupervisedWorker, tmp_path: Path) -> None:
    """The agent is the first process that its supervisor starts."""
    trace = tmp_path / "trace"
    auth.exec("true", env={"GITWORKER_TRACE": str(trace)})
    assert trace.read_text().splitlines()[0].endswith(f"sh {auth.path} sh -c true")


def test_a_state_directory_that_is_removed(auth: SupervisedWorker) -> None:
    """An agent outlives its state directory, and as much of its end as possible is recorded."""
    moved = auth.world.state_dir.with_name("moved")
    with auth.running("sh", "-c", "echo ready; read line; exit 5", stdin=-1) as process:
        assert process.stdin
        assert process.stdout
        read_until(process.stdout.fileno(), b"ready\n")
        auth.order("resume", "is a supervisor there")
        wait_until(lambda: len(auth.logs()) == 2)
        auth.world.state_dir.rename(moved)
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 5
        shutil.rmtree(auth.world.state_dir, ignore_errors=True)
        moved.rename(auth.world.state_dir)
    assert auth.runs()[0]["exit_status"] == 5
    ok(auth.world.root, "list")
    auth.world.require_sound()
