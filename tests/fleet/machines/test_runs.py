"""`run` on several machines of one fleet."""

from collections.abc import Callable
from pathlib import Path

from tests.fleet.machines.machine import LIMIT_S, Machine, wait_for
from tests.fleet.machines.work import Work, add_tasks, require_same_end, running

Fleet = Callable[..., list[Machine]]
TASKS = [f"t{number}" for number in range(6)]


def test_tasks_are_shared_by_the_runs_of_two_machines(fleet: Fleet, tmp_path: Path) -> None:
    """Each task is started once by one of the two runs, and all land on a linear target."""
    alpha, beta = fleet("alpha", "beta")
    work = Work(tmp_path)
    add_tasks(alpha, TASKS)
    work.hold(*TASKS)
    with running(work, alpha, beta) as runs:
        wait_for(lambda: len({machine for machine, _ in work.starts()}) == 2)
        work.release()
        assert [one.wait(LIMIT_S) for one in runs] == [0, 0]
    assert work.broken() == []
    assert sorted(task for _, task in work.starts()) == TASKS
    require_same_end([alpha, beta], TASKS)
    assert alpha.complaints() == beta.complaints() == []
