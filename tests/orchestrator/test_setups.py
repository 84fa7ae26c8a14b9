"""run: the setup commands of new worktrees, beside each other and before the agents."""

import signal

import pytest

from gitworker.progress import Event
from tests.cli.kit import run as run_program
from tests.cli.kit import running
from tests.orchestrator.test_run import add, agent_of, carry, results, seen
from tests.orchestrator.test_run import world as world
from tests.workers.world import World, wait_until

NO_OPEN_SETUP = "SELECT COUNT(*) FROM operations WHERE kind = 'setup' AND status = 'open'"


def set_up(world: World, command: str) -> None:
    """Configure the setup command; `$R` is the repository's parent directory."""
    world.git("config", "worker.worktree.setup", f"R={world.root.parent}; {command}")


def lines(world: World, name: str) -> list[str]:
    """Return the lines of a file beside the repository."""
    path = world.root.parent / name
    return path.read_text().splitlines() if path.exists() else []


def test_setups_run_beside_each_other(world: World) -> None:
    """A setup that waits for another one meets it, and each agent starts after its own."""
    events: list[Event] = []
    set_up(
        world,
        'touch "$R/ready-$GITWORKER_TASK"; until test -e "$R/ready-t1" -a -e "$R/ready-t2";'
        " do sleep 0.05; done; touch done.o",
    )
    for task in ("t1", "t2"):
        add(world, task, "test -e done.o || exit 1; git commit -q --allow-empty -m Work")
    assert results(carry(world, report=events.append)) == {"t1": "landed", "t2": "landed"}
    said = [one.text for one in events if type(one).__name__ == "Notice"]
    assert said.index("setting up the worktree of command-1 for t1") < said.index(
        "command-1 starts on t1"
    )
    assert sorted(line.split()[1] for line in seen(world)) == ["t1", "t2"]
    world.require_sound()


def test_a_single_tick_waits_for_its_setups(world: World) -> None:
    """`--once` starts the agents of its tick, so it runs their setups first."""
    set_up(world, "touch done.o")
    add(world, "t1", "test -e done.o && git commit -q --allow-empty -m Work")
    carry(world, is_single=True)
    wait_until(lambda: world.states("command-1", "t1")[0] == "IN_REVIEW")


def test_a_failed_setup_is_left_to_a_person(world: World) -> None:
    """Its agent does not start, other tasks land, and the next run repeats the setup."""
    set_up(world, 'echo "$GITWORKER_TASK" >>"$R/tried"; test "$GITWORKER_TASK" != t1 -o -e "$R/ok"')
    add(world, "t1")
    add(world, "t2")
    summary = carry(world)
    assert results(summary) == {"t1": "failed", "t2": "landed"}
    (failed,) = (one for one in summary.results if one.task == "t1")
    assert "the setup of" in failed.detail
    assert world.states("command-1", "t1")[0] == "FAILED"
    assert [line.split()[1] for line in seen(world)] == ["t2"]
    (world.root.parent / "ok").touch()
    assert results(carry(world)) == {"t1": "landed"}
    assert sorted(lines(world, "tried")) == ["t1", "t1", "t2"]
    world.require_sound()


def test_another_run_waits_for_a_setup(world: World) -> None:
    """A run does not start an agent in a worktree that another run sets up."""
    set_up(world, 'touch "$R/begun"; until test -e "$R/gate"; do sleep 0.05; done; touch done.o')
    add(world, "t1", "test -e done.o && git commit -q --allow-empty -m Work")
    words = ("run", "--land", "--", agent_of(world))
    with running(world.root, *words) as first:
        wait_until(lambda: (world.root.parent / "begun").exists())
        once = run_program(world.root, "run", "--once", "--land", "--", agent_of(world))
        assert (once.status, seen(world)) == (0, []), once
        (world.root.parent / "gate").touch()
        assert first.wait() == 0
    assert world.states("command-1", "t1") == ("COMPLETED", "COMPLETED")
    world.require_sound()


@pytest.mark.parametrize("signals", [(signal.SIGKILL,), (signal.SIGINT, signal.SIGTERM)])
def test_a_setup_ends_with_its_run(world: World, signals: tuple[signal.Signals, ...]) -> None:
    """After a kill or a second interrupt it is stopped, and the next run repeats it."""
    set_up(world, 'echo begun >>"$R/tried"; test -e "$R/gate" || sleep 60')
    add(world, "t1")
    words = ("run", "--land", "--", agent_of(world))
    with running(world.root, *words) as first:
        wait_until(lambda: lines(world, "tried") == ["begun"])
        for one in signals:
            first.send_signal(one)
        assert first.wait() in (130, -signal.SIGKILL)
    (world.root.parent / "gate").touch()
    answer = run_program(world.root, *words)
    assert (answer.status, answer.out) == (0, "t1\tlanded\tcommand-1\t\n"), answer
    assert lines(world, "tried") == ["begun", "begun"]
    assert world.query(NO_OPEN_SETUP) == [(0,)]
    world.require_sound()
