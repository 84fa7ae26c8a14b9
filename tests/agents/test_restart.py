"""resume without a command: a person restarts the ended agent of a worker."""

import os
import subprocess
from pathlib import Path

import pytest

from gitworker.agents.restart import find_restart
from gitworker.agents.rules_run import REQUEST_MAX
from gitworker.workers.start import resume, start
from tests.agents.supervised import COMMIT, SupervisedWorker
from tests.cli.kit import run
from tests.workers.world import World, wait_until

ONCE = f"echo hi; test -e tried && {{ {COMMIT}; rm tried; exit; }}; touch tried; exit 3"


def test_detached(auth: SupervisedWorker) -> None:
    """The command of a detached run runs again detached, with its time limit."""
    auth.exec(ONCE, "-d", "--time-limit", "600")
    wait_until(lambda: auth.runs()[0]["ended_at_ms"])
    answer = run(auth.world.root, "resume", "auth")
    assert (answer.status, answer.out) == (0, "")
    assert answer.err.startswith("running the last command again: sh -c 'echo hi; test -e tried")
    assert "git worker log auth -f" in answer.err
    wait_until(lambda: auth.state() == "IN_REVIEW")
    first, second = auth.world.query("SELECT request FROM runs ORDER BY id")
    assert first == second


def test_in_the_foreground(auth: SupervisedWorker) -> None:
    """The command of a run in the foreground runs again in the foreground, or with -d detached."""
    assert auth.exec(ONCE).status == 3
    answer = run(auth.world.root, "resume", "auth")
    assert (answer.status, answer.out, auth.state()) == (0, "hi\n", "IN_REVIEW")


def test_on_request_detached(auth: SupervisedWorker) -> None:
    """-d restarts a command of the foreground in the background; --json prints the run."""
    auth.exec(ONCE)
    document = run(auth.world.root, "resume", "auth", "-d", "--json").document
    assert document["run"] == auth.runs()[-1]["id"]
    wait_until(lambda: auth.state() == "IN_REVIEW")


def test_without_a_known_command(auth: SupervisedWorker) -> None:
    """Only the state changes, the caller is not the worker's process, and the hint helps."""
    by_hand = subprocess.Popen(["sleep", "600"])
    start(auth.world.session(), "auth", pid=by_hand.pid)
    by_hand.kill()
    by_hand.wait()
    answer = run(auth.world.root, "resume", "auth")
    assert (answer.status, answer.out) == (0, "auth is at work\n")
    hint = "git worker resume auth -d -- <command>"
    by_person = 'cd "$(git worker path auth)"'
    report = f"no agent works as auth; work there yourself: {by_person}, or start one: {hint}\n"
    assert report in answer.err
    assert auth.world.worker("auth").pid is None
    assert run(auth.world.root, "resume", "auth", "-d").status == 2
    assert run(auth.world.root, *hint.split()[2:-1], "sh", "-c", COMMIT).status == 0
    wait_until(lambda: auth.state() == "IN_REVIEW")


def test_the_command_after_work_without_an_agent(auth: SupervisedWorker) -> None:
    """Views name `resume` alone, and a command after it only if an agent ran."""
    root = auth.world.root
    for number, words in enumerate(
        ("git worker resume auth", "git worker resume auth -- <command>")
    ):
        if number:
            auth.exec("exit 3; : --token=hunter2hunter2")  # a secret, so it is not recorded
        else:
            assert run(root, "fail", "auth", "-m", "No library").status == 0
        documents = {verb: run(root, verb, "--json").document for verb in ("status", "inbox")}
        (worker,), (item,) = documents["status"]["workers"], documents["inbox"]["items"]
        shown = run(root, "show", "auth", "--json").document["next"]
        (task,) = run(root, "task", "list", "--json").document["tasks"]
        assert {worker["next"], item["command"], shown, task["next"]} == {words}


def test_the_worker_itself(auth: SupervisedWorker) -> None:
    """A worker that takes its own work up does not start another agent."""
    auth.exec("exit 3")
    session = auth.world.session(auth.path)
    assert find_restart(session, auth.world.worker("auth")) is None
    assert find_restart(auth.world.session(), auth.world.worker("auth")) is not None
    resume(session, "auth", pid=os.getpid())
    assert find_restart(auth.world.session(), auth.world.worker("auth")) is None


def test_a_long_command(auth: SupervisedWorker) -> None:
    """A command that is too long to be recorded is not repeated."""
    auth.exec("exit 3; " + "x" * REQUEST_MAX)
    assert find_restart(auth.world.session(), auth.world.worker("auth")) is None


@pytest.mark.parametrize("stage", ["in_review", "approved"])
def test_work_that_is_judged(tmp_path: Path, stage: str) -> None:
    """No agent is restarted for work that waits for others."""
    world = World.make(tmp_path / "repo")
    getattr(world, stage)("auth", "login", {"a": "1\n"})
    assert find_restart(world.session(), world.worker("auth")) is None
