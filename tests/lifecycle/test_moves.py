"""While a supervised agent works, no refusal proposes to hand its work in."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker import clock
from gitworker.errors import GitWorkerError, Refused
from gitworker.landing.merge import NotLanded, merge
from gitworker.liveness.process_origin import this_origin
from gitworker.processes.table import find_start
from gitworker.store.records.runs import begin_run, end_run
from gitworker.workers.approve import approve
from gitworker.workers.start import start
from gitworker.workers.submit import Submission, submit
from tests.workers.world import World

WAIT = "git worker wait auth   # its agent is at work"


def begin(world: World) -> int:
    """Record that this process is the supervised agent of auth; return the run."""
    process = (os.getpid(), find_start(os.getpid()))
    with world.session().store.write() as writer:
        return begin_run(
            writer, "auth", "login", command="agent", supervisor=process, process=process,
            origin=this_origin(), now=clock.now_ms(),
        ).id  # fmt: skip


def hint_of_done(world: World, place: Path | None = None) -> str | None:
    """Return the hint of the refused hand-in, by hq or in the worktree."""
    with pytest.raises(Refused) as caught:
        submit(world.session(place), "auth", Submission())
    return caught.value.hint


def hint_of_approve(world: World) -> str | None:
    """Return the hint of the refused approval."""
    with pytest.raises(GitWorkerError) as caught:
        approve(world.session(), "auth")
    return caught.value.hint


def hint_of_merge(world: World) -> str | None:
    """Return the hint of the refused landing."""
    (result,) = merge(world.session(), ["auth"])
    assert isinstance(result, NotLanded)
    assert result.error is not None
    return result.error.hint


def test_hints_wait_for_the_agent(world: World) -> None:
    """approve, merge and done by others name wait until the agent ends; its own done does not."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"b": "half\n"})
    run = begin(world)
    hints = [hint_of_approve(world), hint_of_merge(world), hint_of_done(world)]
    assert hints == [WAIT] * 3
    assert "--commit" in str(hint_of_done(world, place))
    with world.session().store.write() as writer:
        end_run(writer, run, status=0, reason="", now=clock.now_ms())
    assert hint_of_approve(world) == "git worker show auth"
    assert "--commit" in str(hint_of_done(world))


def test_a_branch_without_a_commit(world: World) -> None:
    """done of an agent that has not committed yet names wait, too."""
    world.spawn("auth", "login")
    assert str(hint_of_done(world)).startswith("git worker cancel auth   # only if")
    start(world.session(), "auth", pid=os.getpid())
    begin(world)
    assert hint_of_done(world) == WAIT
