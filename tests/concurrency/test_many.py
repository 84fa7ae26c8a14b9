"""Of many commands at once in one repository each succeeds or reports that it cannot."""

import pytest

from tests.concurrency.processes import require_linear, run_together
from tests.workers.world import World

CLEAN = {0, 1, 3}


def test_spawns_of_many_workers(world: World) -> None:
    """Sixteen spawns at once give sixteen worktrees."""
    names = [f"w{number}" for number in range(16)]
    done = run_together(world, *(("spawn", name, f"t-{name}") for name in names))
    assert [status for status, _ in done] == [0] * 16, done
    assert len(world.worktrees()) == 16
    for name in names:
        assert world.tip(f"{name}/t-{name}") == world.tip()
        assert world.worker(name).state == "ASSIGNED"


@pytest.mark.parametrize("same", ["worker and task", "task"])
def test_spawns_of_one_task(world: World, same: str) -> None:
    """Of sixteen spawns of one task exactly one wins; the others are refused cleanly."""
    workers = ["auth" if same == "worker and task" else f"w{number}" for number in range(16)]
    done = run_together(world, *(("spawn", worker, "login") for worker in workers))
    statuses = [status for status, _ in done]
    assert statuses.count(0) == 1, done
    assert set(statuses) <= CLEAN, done
    assert not [err for _, err in done if "Traceback" in err]
    assert len(world.worktrees()) == 1
    assert len([name for name in world.refs() if name.endswith("/login")]) == 1
    held = world.query("SELECT worker_id FROM workers WHERE state = 'ASSIGNED'")
    assert world.query("SELECT claimed_by FROM task_claims") == held


def test_first_commands_race(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Commands that all find no state directory set it up together."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    done = run_together(world, *(("spawn", f"w{n}", f"t{n}") for n in range(6)))
    assert [status for status, _ in done] == [0] * 6, done
    world.require_sound()


def test_approves_and_merges(world: World) -> None:
    """Eight approvals at once, then eight landings at once: all of them, in one line."""
    names = [f"w{number}" for number in range(8)]
    for name in names:
        world.in_review(name, f"t-{name}", {name: "1\n", f"dir/{name}": "2\n"})
    world.advance({"theirs": "1\n"})
    done = run_together(world, *(("approve", name) for name in names))
    assert [status for status, _ in done] == [0] * 8, done
    done = run_together(world, *(("merge", name) for name in names))
    assert [status for status, _ in done] == [0] * 8, done
    require_linear(world, [*names, "theirs"])
    assert len(world.query("SELECT * FROM landings")) == 8
    assert world.git("status", "--porcelain") == ""
    assert world.worktrees() == []


def test_one_worker_landed_by_many(world: World) -> None:
    """Eight concurrent landings of one worker land it once; each succeeds or is refused cleanly."""
    world.approved("auth", "login", {"a": "1\n"})
    done = run_together(world, *(("merge", "auth") for _ in range(8)))
    statuses = [status for status, _ in done]
    assert 0 in statuses, done
    assert set(statuses) <= {0, *CLEAN}
    assert len(world.query("SELECT * FROM landings")) == 1
    assert world.query("SELECT COUNT(*) FROM transitions WHERE event = 'merge'") == [(1,)]


@pytest.mark.slow
def test_mixture(world: World) -> None:
    """Approvals, landings, spawns, cancels and recoveries at once do not disturb each other."""
    for number in range(4):
        world.in_review(f"r{number}", f"tr{number}", {f"r{number}": "1\n"})
        world.approved(f"a{number}", f"ta{number}", {f"a{number}": "1\n"})
        world.working(f"c{number}", f"tc{number}", {f"c{number}": "1\n"})
    world.advance({"theirs": "1\n"})
    commands = []
    for number in range(4):
        commands += [
            ("approve", f"r{number}"), ("merge", f"a{number}"), ("cancel", f"c{number}"),
            ("spawn", f"s{number}", f"ts{number}"), ("recover_all",),
        ]  # fmt: skip
    done = run_together(world, *commands)
    assert [status for status, _ in done] == [0] * len(commands), done
    done = run_together(world, *(("merge", f"r{number}") for number in range(4)))
    assert [status for status, _ in done] == [0] * 4, done
    require_linear(world, [f"{kind}{number}" for kind in "ra" for number in range(4)])
    assert len(world.worktrees()) == 4


@pytest.mark.slow
def test_overlapping_work(world: World) -> None:
    """Of eight workers that change one line one lands, and each other gets its conflict."""
    names = [f"w{number}" for number in range(8)]
    for name in names:
        world.approved(name, f"t-{name}", {"README": f"{name}\n"})
    done = run_together(world, *(("merge", name) for name in names))
    statuses = sorted(status for status, _ in done)
    assert statuses == [0, *[3] * 7], done
    states = [world.worker(name).state for name in names]
    assert sorted(states) == ["COMPLETED", *["WORKING"] * 7]
