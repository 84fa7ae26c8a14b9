"""The answers of an agent's hooks: its introduction, its news, its heartbeats."""

import os
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.agents.hooks.begin_work import begin_work
from gitworker.agents.hooks.hook_context import HookContext
from gitworker.agents.hooks.respond import respond
from gitworker.agents.hooks.rules_dialects import EVENTS
from gitworker.agents.hooks.rules_session import REPEAT_AFTER_MS
from gitworker.claims.leases import take_claim
from gitworker.errors import Conflict
from gitworker.lifecycle.fail import fail
from gitworker.questions.ask import ask
from gitworker.questions.reply import reply
from gitworker.review.comments.send import reject
from gitworker.store.claims import evict_claim, release_claim
from gitworker.store.rules_leases import LeaseLength
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from tests.agents.hooks.conftest import HookedAgent

NOTE = "A test is missing"


def test_a_session_begins_the_work(agent: HookedAgent) -> None:
    """The start of a session starts the work and introduces the agent to its task."""
    text = agent.hear("SessionStart")
    assert agent.world.states("auth", "t1")[0] == "WORKING"
    for words in ("worker auth", "branch auth/t1", "task is t1", "state: working", "Add the form",
                  "git worker done"):  # fmt: skip
        assert words in text
    assert "task_assign" not in text
    assert "Add the form" in agent.hear("SessionStart"), "the conversation was shortened"


def test_a_forgotten_introduction_comes_with_the_next_prompt(agent: HookedAgent) -> None:
    """Before a conversation is lost the hook is silent and reads no message; a prompt has both."""
    agent.hear("SessionStart")
    assert agent.hear("BeforeAgent") == ""
    agent.write(NOTE)
    assert agent.hear("PreCompress") == ""
    text = agent.hear("BeforeAgent")
    assert "You are worker auth" in text
    assert NOTE in text
    assert agent.hear("BeforeAgent") == ""
    assert agent.hear("AfterTool") == ""


def test_a_long_message_names_the_command_that_shows_it(agent: HookedAgent) -> None:
    """Its summary is shortened, and it counts as read."""
    agent.hear("SessionStart")
    agent.write("Do this. " * 60)
    lines = agent.hear("BeforeAgent").splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("…"))
    number = lines[at].partition(" ")[0].removeprefix("#")
    assert lines[at + 1] == f"    git worker msg show {number}"


def test_a_supervised_session_is_not_bound_again(agent: HookedAgent) -> None:
    """In a supervised session the worker keeps the process that its supervisor has recorded."""
    start(agent.world.session(), "auth", pid=os.getppid())
    agent.hear("SessionStart", is_supervised=True)
    assert agent.world.worker("auth").pid == os.getppid()


def test_a_lost_task_does_not_begin(agent: HookedAgent) -> None:
    """A worker that has lost its claim on the task learns the task and the loss, and waits."""
    with agent.world.session().store.write() as writer:
        evict_claim(writer, "t1")
    text = agent.hear("SessionStart")
    assert "lost its claim on t1" in text
    assert "task is t1, your state: assigned" in text
    age_heartbeat(agent)
    agent.hear("PostToolUse")
    assert agent.world.states("auth", "t1")[0] == "ASSIGNED"


def test_a_start_that_failed_is_repeated(agent: HookedAgent) -> None:
    """If the start of the work was not recorded, a later tool call starts the work."""
    age_heartbeat(agent)
    agent.hear("PostToolUse")
    assert agent.world.states("auth", "t1")[0] == "WORKING"


def test_a_refused_start_is_heard_once(agent: HookedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused start reaches the agent with its next event, and is not repeated soon."""
    let_another_hold(agent, "t1")
    agent.hear("SessionStart")
    said = agent.hear("PostToolUse")
    assert said.startswith("The work has not begun: ")
    assert "docs" in said
    assert agent.hear("Stop") == ""
    for event in ("PostToolUse", "UserPromptSubmit"):
        age_heartbeat(agent)
        assert agent.hear(event) == ""
    assert refused_starts(agent) == 1
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + REPEAT_AFTER_MS))
    age_heartbeat(agent)
    agent.hear("PostToolUse")
    assert refused_starts(agent) == 2


def test_a_change_repeats_a_refused_start(agent: HookedAgent) -> None:
    """The next task of a worker begins at once, although the start of the last was refused."""
    let_another_hold(agent, "t1")
    agent.hear("SessionStart")
    cancel(agent.world.session(), "auth")
    agent.world.spawn("auth", "t3")
    age_heartbeat(agent)
    assert "has not begun" not in agent.hear("PostToolUse")
    assert agent.world.states("auth", "t3")[0] == "WORKING"


def test_interrupted_work_that_another_worker_has(agent: HookedAgent) -> None:
    """An agent whose failed work is not taken up learns the reason once."""
    agent.hear("SessionStart")
    fail(agent.world.session(), "auth", reason="its agent ended")
    with agent.world.session().store.write() as writer:
        take_claim(writer, "t1", "docs", length=LeaseLength(60_000))
    age_heartbeat(agent)
    assert agent.hear("PostToolUse") == ""
    assert "claimed by docs" in agent.hear("PostToolUse")
    age_heartbeat(agent)
    assert agent.hear("PostToolUse") == ""
    assert refused_starts(agent) == 1


def test_ended_work_does_not_begin(agent: HookedAgent) -> None:
    """A start that comes late changes no worker that has given up since."""
    agent.hear("SessionStart")
    fail(agent.world.session(), "auth", reason="no way", on_purpose=True)
    begin_work(agent.world.session(agent.worktree, "auth"), "auth", str(os.getpid()), "1")
    assert agent.world.states("auth", "t1")[0] == "FAILED"


def test_an_agent_blocked_before_its_work_has_begun(agent: HookedAgent) -> None:
    """A start that comes after the first question of the agent leaves the agent blocked."""
    agent.hear("PermissionRequest")
    begin_work(agent.world.session(agent.worktree, "auth"), "auth", str(os.getpid()), "1")
    assert (agent.world.states("auth", "t1")[0], agent.status) == ("WORKING", "blocked")


def test_silence(agent: HookedAgent) -> None:
    """Without news a prompt and a tool call have no text."""
    agent.hear("SessionStart")
    assert agent.hear("UserPromptSubmit") == ""
    assert agent.hear("PostToolUse") == ""


def test_a_message_is_heard_once(agent: HookedAgent) -> None:
    """A message to the worker, or to all about its task, is in the next answer only."""
    agent.hear("SessionStart")
    agent.write("Use port 8080")
    agent.write("The API has changed", to=None, task="t1")
    agent.write("Nothing for you", to=None, task="t2")
    text = agent.hear("PostToolUse")
    assert "from hq: Use port 8080" in text
    assert "The API has changed" in text
    assert "Nothing" not in text
    assert agent.hear("PostToolUse") == ""


def test_an_answer_is_heard(agent: HookedAgent) -> None:
    """The answer to a question whose `ask` has ended is in the next answer of the hook, once."""
    agent.hear("SessionStart")
    with pytest.raises(Conflict):
        ask(agent.world.session(identity="auth"), "Which port?", wait_s=0)
    assert agent.hear("UserPromptSubmit") == ""
    reply(agent.world.session(), "t1", "8080")
    assert "x-answer from hq: 8080" in agent.hear("PostToolUse")
    assert agent.hear("PostToolUse") == ""
    assert "You asked: Which port?\n  The answer: 8080" in agent.hear("SessionStart")


def test_many_messages_come_in_parts(agent: HookedAgent) -> None:
    """Of many messages, the first twenty are in one answer, and the others in the next."""
    agent.hear("SessionStart")
    for number in range(22):
        agent.write(f"Number {number}.")
    first, second = agent.hear("AfterTool"), agent.hear("AfterTool")
    assert "Number 19." in first
    assert "Number 20." not in first
    assert "Number 20." in second
    assert "Number 21." in second


def test_a_verdict_is_heard(agent: HookedAgent) -> None:
    """Requested changes reach the agent with the next tool call, with their command."""
    agent.world.in_review("docs", "t2", {"b": "b"})
    agent.hear("SessionStart")
    agent.world.commit("auth", {"a": "a"})
    agent.world.submit("auth")
    reject(agent.world.session(), "auth", note=NOTE)
    text = agent.hear("PostToolUse")
    assert NOTE in text
    assert "git worker done" in text
    assert NOTE in agent.hear("SessionStart"), "the return is open"


def test_an_agent_that_waits_is_blocked(agent: HookedAgent) -> None:
    """A permission request makes the agent blocked until it works again."""
    agent.hear("SessionStart")
    assert agent.hear("Notification") == ""
    assert agent.status == "blocked"
    assert blocked_messages(agent) == 1
    agent.hear("Notification")
    assert blocked_messages(agent) == 1
    agent.hear("PostToolUse")
    assert agent.status == "working"


def test_a_lost_claim_is_heard_once(agent: HookedAgent) -> None:
    """A claim that another agent holds by now is reported once."""
    agent.hear("SessionStart")
    session = agent.world.session()
    with session.store.write() as writer:
        take_claim(writer, "path:src/**", "auth", length=LeaseLength(60_000))
    with session.store.write() as writer:
        evict_claim(writer, "path:src/**")
    assert "lost its claim on path:src/**" in agent.hear("PostToolUse")
    assert agent.hear("PostToolUse") == ""


def test_a_tool_call_takes_up_interrupted_work(agent: HookedAgent) -> None:
    """A failed worker whose agent still works is WORKING again, unless it failed on purpose."""
    agent.hear("SessionStart")
    fail(agent.world.session(), "auth", reason="its agent ended")
    age_heartbeat(agent)
    agent.hear("PostToolUse")
    assert agent.world.states("auth", "t1")[0] == "WORKING"
    fail(agent.world.session(), "auth", reason="no way", on_purpose=True)
    age_heartbeat(agent)
    agent.hear("PostToolUse")
    assert agent.world.states("auth", "t1")[0] == "FAILED"


def test_a_free_worker_is_silent(agent: HookedAgent) -> None:
    """A caller without a task gets no answer."""
    session = agent.world.session()
    context = HookContext(
        "nobody", session.repository, session.store, session.paths,
        open_session=agent.world.session, lease_ms=1,
    )  # fmt: skip
    assert respond(context, EVENTS["SessionStart"]) is None


def let_another_hold(agent: HookedAgent, task: str) -> None:
    """Give the claim on a task to the worker `docs`."""
    with agent.world.session().store.write() as writer:
        release_claim(writer, task, "auth")
        take_claim(writer, task, "docs", length=LeaseLength(3_600_000))


def refused_starts(agent: HookedAgent) -> int:
    """Return how often a job could not begin the work."""
    log = Path(agent.world.session().paths.root, "logs/background.log")
    return log.read_text().count("begin: ")


def blocked_messages(agent: HookedAgent) -> int:
    """Return the number of published messages that the agent is blocked."""
    return len(agent.world.query("SELECT 1 FROM messages WHERE type = 'task_blocked'"))


def age_heartbeat(agent: HookedAgent) -> None:
    """Let the last heartbeat be so old that the next sign of work sends one."""
    with agent.world.session().store.write() as writer:
        writer.run("liveness.touch", agent="auth", now=0, status="working", task="t1")
