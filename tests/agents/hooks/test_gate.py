"""The end of an agent's turn: it is kept at work for a reason, or its work is handed in."""

import json

import pytest

from fixtures.repos import Repo
from gitworker.bus.files.timed_lock import TimedLock
from gitworker.claims.leases import take_claim
from gitworker.errors import Conflict
from gitworker.review.comments.send import reject
from gitworker.store.claims import release_claim
from gitworker.store.rules_leases import LeaseLength
from tests.agents.hooks.conftest import HookedAgent
from tests.hints.following import Printed, note, perform


@pytest.fixture
def working(agent: HookedAgent) -> HookedAgent:
    """Return an agent whose session has begun."""
    agent.hear("SessionStart")
    return agent


def test_without_a_reason_it_ends(working: HookedAgent) -> None:
    """An agent without open work ends its turn and is idle."""
    assert working.hear("Stop") == ""
    assert working.status == "idle"


def test_a_refused_start_is_heard(agent: HookedAgent) -> None:
    """A refused start is heard once, although its text counts the seconds of the claim down."""
    session = agent.world.session()
    with session.store.write() as writer:
        release_claim(writer, "t1", "auth")
        take_claim(writer, "t1", "docs", length=LeaseLength(60_000))
    said = agent.hear("Stop")
    assert said.startswith("The work has not begun: ")
    assert "docs" in said
    assert "\n    git worker " in said
    assert agent.world.states("auth", "t1")[0] == "ASSIGNED"
    with session.store.write() as writer:
        release_claim(writer, "t1", "docs")
        take_claim(writer, "t1", "docs", length=LeaseLength(40_000))
    assert agent.hear("Stop") == ""


def test_a_turn_without_a_start_begins_the_work(agent: HookedAgent) -> None:
    """While one job begins the work, another does nothing; the end of a turn repeats the start."""
    paths = agent.world.session().paths
    with TimedLock(f"{paths.locks}/begin-auth", wait_ms=0):
        agent.hear("SessionStart")
    assert agent.world.states("auth", "t1")[0] == "ASSIGNED"
    assert agent.hear("Stop") == ""
    assert agent.world.states("auth", "t1")[0] == "WORKING"


def test_messages_come_first(working: HookedAgent) -> None:
    """An unread message keeps the agent at work, and it has read it then."""
    working.write("One more thing")
    (working.worktree / "new").write_text("new")
    assert "One more thing" in working.hear("AfterAgent")
    assert working.status == "working"
    assert "Not committed: new" in working.hear("AfterAgent")


def test_uncommitted_work_keeps_it_once(working: HookedAgent) -> None:
    """The same reason does not keep an agent twice in a row; after a prompt it does again."""
    (working.worktree / "new").write_text("new")
    assert "Not committed: new" in working.hear("Stop")
    assert working.hear("Stop") == ""
    working.hear("UserPromptSubmit")
    assert "Not committed: new" in working.hear("Stop")


def test_reason_that_comes_as_a_prompt(working: HookedAgent) -> None:
    """A reason that the agent reports as a prompt begins no turn: it keeps the agent once."""
    (working.worktree / "new").write_text("new")
    reason = working.hear("Stop")
    working.hear("UserPromptSubmit", given=json.dumps({"prompt": reason}).encode())
    assert working.hear("Stop") == ""


def test_three_reasons_in_a_row_are_the_end(working: HookedAgent) -> None:
    """An agent that gets one message after another is kept three times."""
    for _ in range(3):
        working.write("Again")
        assert working.hear("Stop")
    working.write("Again")
    assert working.hear("Stop") == ""
    assert "Again" in working.hear("UserPromptSubmit"), "the message stays unread"


def test_requested_changes_keep_it(working: HookedAgent) -> None:
    """Returned work without a new commit keeps the agent at work, a new commit lets it end."""
    working.world.commit("auth", {"a": "a"})
    working.world.submit("auth")
    reject(working.world.session(), "auth", note="A test is missing")
    assert "A test is missing" in working.hear("Stop"), "the message"
    working.hear("UserPromptSubmit")
    said = working.hear("Stop")
    assert "sent back: changes requested: A test is missing" in said
    working.hear("UserPromptSubmit")
    working.world.commit("auth", {"b": "b"})
    assert working.hear("Stop") == ""
    command = "git worker done"
    assert said.endswith(f"\n    {command}   # after your next commit")
    done = perform(command, Printed([], str(working.worktree)))
    assert (done.status, working.world.states("auth", "t1")[0]) == (0, "IN_REVIEW"), done
    note(command, said)


def test_a_conflict_keeps_it(working: HookedAgent) -> None:
    """Work that came back for a conflict names the command that leads to a new hand-in."""
    world = working.world
    world.commit("auth", {"README": "mine\n"})
    world.submit("auth")
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict):
        world.approve("auth")
    assert "README" in working.hear("Stop"), "the message"
    working.hear("UserPromptSubmit")
    said = working.hear("Stop")
    command = "git worker sync"
    assert said.endswith(f"conflict in README\n    {command}")
    place = Printed([], str(working.worktree))
    assert perform(command, place).status == 3
    Repo(working.worktree).write({"README": "both\n"})
    world.git("add", "README", cwd=working.worktree)
    assert perform(f"{command} --continue", place).status == 0
    note(command, said)
    assert perform("git worker done", place).status == 0


def test_an_open_rebase_keeps_it(working: HookedAgent) -> None:
    """A rebase that stopped at a conflict is named, with the command that continues it."""
    world = working.world
    world.commit("auth", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(AssertionError):
        world.git("rebase", "main", cwd=working.worktree)
    said = working.hear("Stop")
    assert "A rebase is open" in said
    Repo(working.worktree).write({"README": "both\n"})
    world.git("add", "README", cwd=working.worktree)
    hint = "git worker sync --continue"
    done = perform(hint, Printed([], str(working.worktree)))
    assert (done.status, hint in said) == (0, True), done
    note(hint, said)


def test_it_hands_in_if_so_configured(working: HookedAgent) -> None:
    """With the setting, committed work is handed in at the end of a turn."""
    working.world.commit("auth", {"a": "a"})
    assert working.hear("Stop") == ""
    assert working.world.states("auth", "t1")[0] == "WORKING"
    assert working.hear("Stop", hands_in=True) == ""
    assert working.world.states("auth", "t1")[0] == "IN_REVIEW"


def test_nothing_is_handed_in_without_a_commit(working: HookedAgent) -> None:
    """An agent that has only answered a question ends without a hand-in."""
    assert working.hear("Stop", hands_in=True) == ""
    assert working.world.states("auth", "t1")[0] == "WORKING"


def test_opencode_cannot_be_kept(working: HookedAgent) -> None:
    """OpenCode reads no answer at the end: messages stay unread, nothing dirty is handed in."""
    working.world.commit("auth", {"a": "a"})
    working.write("One more thing")
    assert working.hear("session.idle", hands_in=True) == ""
    assert working.world.states("auth", "t1")[0] == "WORKING"
    assert "One more thing" in working.hear("tool.execute.after")
    assert working.hear("session.idle", hands_in=True) == ""
    assert working.world.states("auth", "t1")[0] == "IN_REVIEW"
