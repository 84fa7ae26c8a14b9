"""Changes of a workstream with a branch while its validation or its landing runs."""

from pathlib import Path

import pytest

from gitworker.errors import Refused
from gitworker.fsck.quick.target_branch import check_target
from gitworker.journal.undo.undo import undo
from gitworker.model.ids import WORKSTREAM, TaskId
from gitworker.model.ref_names import anchor_of
from gitworker.states.engine import InvalidTransition
from gitworker.workstreams.change import cancel
from gitworker.workstreams.show import json_view, read_view
from tests.tasks.test_queue import add
from tests.workers.world import World, unchanged
from tests.workstreams.test_branch import BRANCH, finish, landed, make, member, require_sound
from tests.workstreams.test_workstreams import by_command, follow_hint, state

LATE = "task add late -m Late --workstream login"


def hook(path: Path, text: str) -> None:
    """Write a hook of git."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_task_that_joins_during_the_validation(world: World) -> None:
    """Nothing lands while a task is open: it lands with the others afterwards."""
    start = make(world, f"test -e {world.root}/../late || {{ {by_command(world, LATE)}; }}")
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    with pytest.raises(Refused, match="workstream login has tasks that are not complete"):
        finish(world)
    assert (world.tip(), world.task("late").status) == (start, "READY")
    assert world.tip(BRANCH) != start
    (world.root.parent / "late").touch()
    landed(world, "ui", "late", {"late": "1\n"})
    assert finish(world).has_passed
    assert world.git("ls-tree", "--name-only", "main", "form", "late") == "form\nlate"
    require_sound(world, start)


def test_a_task_that_joins_just_before_the_landing(world: World) -> None:
    """The transaction that begins the landing finds a task that has joined since the check."""
    start = make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    added, place = world.root.parent / "added", world.root / ".git/hooks/reference-transaction"
    anchor = anchor_of(WORKSTREAM, TaskId("login"))
    hook(place, f"grep -q {anchor} && test ! -e {added} || exit 0; touch {added}\n"
         + by_command(world, LATE))  # fmt: skip
    with pytest.raises(Refused, match="workstream login has tasks that are not complete"):
        finish(world)
    place.unlink()
    assert (world.tip(), world.task("late").status) == (start, "READY")
    assert world.query("SELECT * FROM operations WHERE kind = 'land'") == []
    assert anchor not in world.refs()
    require_sound(world, start)


def test_no_change_of_the_tasks_while_it_lands(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the landing is written, no task joins or starts again, and a cancel is refused."""
    bare, out = tmp_path / "bare.git", tmp_path / "out"
    world.git("clone", "-q", "--bare", ".", str(bare))
    world.git("remote", "add", "origin", str(bare))
    monkeypatch.setenv("GITWORKER_MERGE_REMOTE", "origin")
    start = make(world)
    member(world, "form")
    add(world, "other")
    landed(world, "auth", "form", {"form": "1\n"})
    tried = (LATE, "workstream add login other", "task restart form", "workstream cancel login")
    hook(bare / "hooks/pre-receive", by_command(world, *tried) + f" > {out} 2>&1 || true")
    assert finish(world).has_passed
    printed = out.read_text()
    assert printed.count("workstream login is landing") == len(tried), printed
    follow_hint(world, printed.partition("hint: ")[2].partition("\n")[0])
    assert (world.tip() != start, state(world)) == (True, "completed")
    require_sound(world, start)


def test_a_cancel_of_one_that_does_not_pass(world: World) -> None:
    """A workstream whose branch fails its validation is ended by a cancel; its branch stays."""
    start = make(world, "false")
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    assert not finish(world).has_passed
    member(world, "repair")
    world.working("ui", "repair", {"repaired": "1\n"})
    assert cancel(world.session(), "login").state == "cancelled"
    assert (world.task("form").status, world.task("repair").status) == ("COMPLETED", "CANCELLED")
    assert (world.tip(), world.show("form", BRANCH)) == (start, "1")
    assert json_view(read_view(world.session(), "login"))["archived_at"] is not None
    require_sound(world, start)


def test_a_cancel_after_the_landing_was_undone(world: World) -> None:
    """A workstream that has landed is not cancelled; after an undo it is, and its branch stays."""
    start = make(world)
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    assert finish(world).has_passed
    with unchanged(world, "invalid_transition", InvalidTransition):
        cancel(world.session(), "login")
    undo(world.session())
    assert (state(world), world.show("form", BRANCH)) == ("completed", "1")
    assert cancel(world.session(), "login").state == "cancelled"
    assert (world.task("form").status, world.tip()) == ("COMPLETED", start)
    assert json_view(read_view(world.session(), "login"))["archived_at"] is not None
    with pytest.raises(Refused, match="workstream login is cancelled"):
        finish(world)
    world.git("branch", "-D", BRANCH)
    assert [one.message for one in check_target(world.session())] == ["work lands on main"]
    require_sound(world, start)


def test_a_cancel_during_the_validation(world: World) -> None:
    """Nothing lands if the workstream is cancelled while its commands run."""
    start = make(world, by_command(world, "workstream cancel login"))
    member(world, "form")
    landed(world, "auth", "form", {"form": "1\n"})
    with pytest.raises(Refused, match="workstream login is cancelled"):
        finish(world)
    assert (world.tip(), state(world)) == (start, "cancelled")
    require_sound(world, start)
