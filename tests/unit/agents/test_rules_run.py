"""The rules of a supervised run."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.agents import rules_run as rules
from gitworker.agents.rules_run import (
    COMMAND_MAX,
    REASON_MAX,
    REQUEST_MAX,
    UnfinishedOperation,
    clipped,
    command_text,
    is_order,
    is_shared,
    is_stale,
    may_end,
    may_restart,
    next_after_order,
    operation_refusal,
    reason_of,
    request_text,
    run_refusal,
    shell_status,
)
from gitworker.errors import Conflict, Refused
from gitworker.model.worker import WorkerState
from gitworker.states.worker_machine import state_words


@pytest.mark.parametrize("state", [state.value for state in WorkerState])
@pytest.mark.parametrize("stale_from", ["WORKING", "IN_REVIEW"])
def test_workers_that_may_run_an_agent(state: str, stale_from: str) -> None:
    """An agent runs in a worker with work to do, which it starts, recovers or resumes."""
    refusal = run_refusal("auth", state, stale_from=stale_from, no_worktree=None, running=None)
    if state in ("ASSIGNED", "WORKING", "FAILED") or (state, stale_from) == ("STALE", "WORKING"):
        assert refusal is None
    else:
        words = state_words(WorkerState(state), WorkerState(stale_from))
        assert isinstance(refusal, Refused)
        assert refusal.message.startswith(f"worker auth {words}, so ")
        assert "auth" in str(refusal.hint)


@pytest.mark.parametrize(
    ("state", "stale_from", "awaited"),
    [
        ("IN_REVIEW", None, "verdict"),
        ("APPROVED", None, "landed"),
        ("STALE", "IN_REVIEW", "verdict"),
    ],
)
def test_own_work_waits_for_others(state: str, stale_from: str | None, awaited: str) -> None:
    """A worker that may not judge its own work is told to wait."""
    refusal = run_refusal(
        "auth", state, stale_from=stale_from, no_worktree=None, running=None, is_own=True
    )
    assert refusal is not None
    assert refusal.hint == f"git worker wait auth --for {awaited}"


def test_refusals() -> None:
    """Without a worktree, or beside another agent, no agent is started."""
    gone = Refused("no worktree")
    lost = run_refusal("auth", "WORKING", stale_from=None, no_worktree=gone, running=None)
    assert lost is gone
    busy = run_refusal("auth", "WORKING", stale_from=None, no_worktree=None, running=7)
    assert isinstance(busy, Conflict)
    assert "process 7" in busy.message
    assert busy.hint == "git worker stop auth"
    presumed = run_refusal(
        "auth", "WORKING", stale_from=None, no_worktree=None, running=7, presumed_for_ms=41_001
    )
    assert isinstance(presumed, Conflict)
    assert "counts as alive for 42 more seconds" in presumed.message
    assert presumed.hint == "sleep 42 && git worker resume auth"


@pytest.mark.parametrize(
    ("state", "is_ours", "may"),
    [("WORKING", True, True), ("STALE", True, True), ("WORKING", False, False),
     ("IN_REVIEW", True, False), ("IDLE", True, False), ("FAILED", True, False)],
)  # fmt: skip
def test_the_end_that_counts(state: str, is_ours: bool, may: bool) -> None:
    """An agent's end counts for a worker that is still its own and WORKING."""
    assert may_end(state, is_ours=is_ours) is may
    assert is_stale(state) is (state == "STALE")


def test_orders() -> None:
    """Stop, pause and resume are the only orders."""
    assert all(map(is_order, ("stop", "pause", "resume")))
    assert not any(map(is_order, ("dance", "", None, 1)))


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [(0, 0, ""), (3, 3, "it ended with status 3"), (-9, 137, "it was ended by SIGKILL"),
     (-40, 168, "it was ended by signal 40")],
)  # fmt: skip
def test_ends_in_words(code: int, status: int, reason: str) -> None:
    """The end of a process has a shell's exit status, and a reason unless it is success."""
    assert (shell_status(code), reason_of(code)) == (status, reason)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=8))
def test_a_command_can_be_pasted(words: list[str]) -> None:
    """A shell reads a command's text as the same words."""
    text = command_text(words)
    if len(text) < COMMAND_MAX:
        assert shlex.split(text) == words


def test_texts_are_bounded() -> None:
    """Long commands and reasons are cut, reasons are one line, and both are UTF-8."""
    assert len(command_text(["x" * 5000])) == COMMAND_MAX
    assert command_text(["\udcff"]) == "'?'"
    assert clipped("a\n b\t c") == "a b c"
    assert clipped(None) == ""
    assert clipped(7) == "7"
    assert len(clipped("x" * 5000)) == REASON_MAX


@pytest.mark.parametrize(
    ("command", "shared"),
    [
        ("tmux new -d", True), ("tmux: server", True), ("/usr/bin/ssh-agent -s", True),
        ("python -EP -m gitworker.hookentry beat /x 10", True),
        ("git fsmonitor--daemon run --detach", True), ("git -C /x -c a=b gc --auto", True),
        ("/usr/lib/git-core/git maintenance run --auto", True),
        ("git-credential-cache--daemon /x/socket", True),
        ("git commit -m gc", False), ("git -C gc status", False), ("git --version", False),
        ("git", False), ("sleep 60", False), ("sh -c tmux", False), ("", False),
    ],
)  # fmt: skip
def test_shared_processes(command: str, shared: bool) -> None:
    """A user's daemon, `git maintenance` and our jobs are shared; other processes are not."""
    assert is_shared(command.split()) is shared


def test_an_open_operation_refuses() -> None:
    """An open operation on the worker is named in the refusal; without one nothing is refused."""
    assert operation_refusal("auth", None) is None
    refusal = operation_refusal("auth", "cancel")
    assert isinstance(refusal, UnfinishedOperation)
    assert refusal.message == "another cancel of auth is not finished"
    assert refusal.hint == "git worker recover"


VALUES = {"prompt": "Do {task}\n'now'", "prompt_file": "/p", "worker": "auth", "task": "t1"}
FILLED = [
    ("{prompt}", "Do {task}\n'now'"),
    ("--message={prompt}", "--message=Do {task}\n'now'"),
    ("@{prompt_file}", "@/p"),
    ("{worker}/{task}", "auth/t1"),
    ("{{prompt}}", "{prompt}"),
    ("{{{task}}}", "{{task}}"),
    ("{{worker}} is {worker}", "{worker} is auth"),
    ('{"task": "{task}"}', '{"task": "t1"}'),
    ("{}", "{}"),
    ("{ prompt }", "{ prompt }"),
    ("{Prompt} {name} ${task", "{Prompt} {name} ${task"),
    ("echo ${worker} {worker}", "echo ${worker} auth"),
    ("{prompt", "{prompt"),
    ("{", "{"),
    ("", ""),
    ("find -exec rm {} +", "find -exec rm {} +"),
]


@pytest.mark.parametrize(("word", "filled"), FILLED)
def test_placeholders(word: str, filled: str) -> None:
    """A known name in braces is replaced once, doubled braces stand for it, others stay."""
    assert rules.fill(word, VALUES) == filled


@pytest.mark.parametrize(
    ("word", "found"),
    [("{prompt}", True), ("x{prompt_file}", True), ("{{prompt}}", False), ("{task}", False)],
)
def test_uses_prompt(word: str, *, found: bool) -> None:
    """An escaped placeholder and those of other names do not count."""
    assert rules.uses_prompt(["agent", word]) is found


def test_the_request_of_a_run() -> None:
    """A run is recorded so that it can be repeated, unless its command is long or secret."""
    words = ["a b", "\udcff", "{prompt}"]
    text = request_text(words, is_detached=True, time_limit_s=1.5)
    assert text is not None
    assert text.isascii()
    assert json.loads(text) == {
        "words": words,
        "detached": True,
        "time_limit_s": 1.5,
        "agent": None,
    }
    assert request_text(["x" * REQUEST_MAX], is_detached=False, time_limit_s=None) is None
    secret = ["agent", "--api-key", "x"]
    assert request_text(secret, is_detached=False, time_limit_s=None) is None


@pytest.mark.parametrize(
    ("state", "stale_from", "expected"),
    [
        ("WORKING", None, True),
        ("FAILED", None, True),
        ("STALE", "WORKING", True),
        ("STALE", "IN_REVIEW", False),
        ("APPROVED", None, False),
    ],
)
def test_states_with_work_for_an_agent(state: str, stale_from: str | None, expected: bool) -> None:
    """An agent is restarted only for work that is not handed in."""
    assert may_restart(state, stale_from=stale_from) is expected


@pytest.mark.parametrize(
    ("command", "state", "has_ended", "expected"),
    [
        ("pause", "WORKING", False, "continue"),
        ("stop", "WORKING", False, "show"),
        ("stop", "FAILED", True, "resume"),
        ("pause", "WORKING", True, "resume"),
        ("stop", "IN_REVIEW", True, "show"),
    ],
)
def test_the_command_after_an_order(
    command: str, state: str, has_ended: bool, expected: str
) -> None:
    """It shows the effect of the order, or goes on without an agent."""
    found = next_after_order("auth", command, state, stale_from=None, has_ended=has_ended)
    assert found == f"git worker {expected} auth"
