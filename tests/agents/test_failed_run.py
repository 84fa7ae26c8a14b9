"""A failed run is visible afterwards: in `show` and in the inbox, with its last lines."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gitworker.agents.finish import Ending, finish
from gitworker.agents.launch import AgentRun
from gitworker.agents.record_start import record_start
from gitworker.store.sqlite.write_gate import WriteGate
from tests.agents.supervised import COMMIT, SupervisedWorker
from tests.cli.kit import run
from tests.workers.world import wait_until

FAILING = (
    "for n in 1 2 3 4 5 6 7; do echo line $n; done; printf '\\033[31mAPI outage\\n\\n'; exit 3"
)


def test_detached_failure(auth: SupervisedWorker) -> None:
    """A detached run that failed is in the inbox of hq with its reason and its last line."""
    auth.exec(FAILING, "-d")
    wait_until(lambda: auth.runs()[0]["ended_at_ms"])
    inbox = run(auth.world.root, "inbox", root=auth.world.root)
    assert inbox.out.splitlines()[0] == ("failed auth <age>: it ended with status 3: API outage")
    shown = run(auth.world.root, "show", "auth", root=auth.world.root).out
    assert "\nagent     sh -c 'for n in 1 2" in shown
    assert "exit 3'  failed <age> ago\n" in shown
    assert "\nlast output\n  line 5\n  line 6\n  line 7\n  API outage\n" in shown


def test_the_output_of_an_earlier_run(auth: SupervisedWorker) -> None:
    """A run that printed nothing is not explained by the lines of the one before."""
    auth.exec("echo before")
    auth.exec("exit 5", "-d")
    wait_until(lambda: auth.runs()[-1]["ended_at_ms"])
    inbox = run(auth.world.root, "inbox", root=auth.world.root)
    assert inbox.out.splitlines()[0] == "failed auth <age>: it ended with status 5"
    assert "last output" not in run(auth.world.root, "show", "auth").out


def test_json(auth: SupervisedWorker) -> None:
    """The run is a field of the worker's document: none before, then open, then ended."""

    def shown() -> dict[str, object]:
        found = run(auth.world.root, "show", "auth", "--json").document["run"]
        assert found is None or isinstance(found, dict)
        return found or {}

    assert shown() == {}
    with auth.running("sleep", "600"):
        open_run = shown()
        assert (open_run["command"], open_run["ended_at"]) == ("sleep 600", None)
    wait_until(lambda: auth.runs()[0]["ended_at_ms"])
    ended = shown()
    assert (ended["exit_status"], ended["reason"]) == (137, "it was ended by SIGKILL")
    assert ended["lines"] == []


def test_success(auth: SupervisedWorker) -> None:
    """A run that handed work in is not reported, and shows no output."""
    auth.exec(f"echo fine; {COMMIT}")
    shown = run(auth.world.root, "show", "auth").out
    assert "last output" not in shown
    assert "\nagent " not in shown
    assert run(auth.world.root, "inbox", "--json").document["items"][0]["kind"] == "review"


def test_nothing_handed_in(auth: SupervisedWorker) -> None:
    """An agent that ended well without a commit is in the inbox until the worker goes on."""
    auth.exec("echo permission denied", "-d")
    wait_until(lambda: auth.runs()[0]["ended_at_ms"])
    root = auth.world.root
    assert run(root, "inbox", root=root).out == (
        "idle auth <age>: its agent ended and handed nothing in: permission denied\n"
        "    git worker resume auth\n"
    )
    shown = run(root, "show", "auth", root=root).out
    assert (
        "\nagent     sh -c 'echo permission denied'  ended <age> ago and handed nothing in" in shown
    )
    assert "\nlast output\n  permission denied\n" in shown
    assert run(root, "show", "auth", "--json").document["run"]["idle"] is True
    status = run(root, "status", root=root).out
    assert "its agent ended and handed nothing in\n" in status
    assert "→ git worker resume auth\n" in status
    with auth.running("sleep", "600"):
        assert run(root, "inbox", "--json").document["items"] == []


def test_a_busy_database_at_the_end(auth: SupervisedWorker) -> None:
    """An agent that ended well while the database was busy has handed its work in."""
    session = auth.world.session()
    with session.store.write() as writer:
        record, after = record_start(
            writer, session.paths, auth.world.worker("auth"), actor="hq", lease_ms=60_000,
            pid=2**22 - 3, command="x",
        )  # fmt: skip
    agent = AgentRun(record, auth.world.worker("auth"), pid=2**22 - 3, after=after)
    auth.world.commit("auth", {"a": "1\n"})
    session.store.wait_at_most(10)
    with ThreadPoolExecutor(1) as pool:
        with WriteGate(f"{session.paths.database}-gate"):
            ended = pool.submit(finish, session, agent, Ending(0), is_attended=False)
            with pytest.raises(TimeoutError):  # far longer than one attempt
                ended.result(0.3)
        assert ended.result(30).kind == "handed_in"
    assert auth.state() == "IN_REVIEW"
