"""The commands of workstreams and automations, as a user types them."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.hints.following import Printed, perform
from tests.workers.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a repository with one task."""
    made = World.make(tmp_path / "r")
    made.session()
    ask(made, "task add form -m Form")
    return made


def ask(world: World, words: str, *, status: int = 0) -> str:
    """Run a command in this process; return its standard output."""
    done = perform(f"git worker {words}", Printed([], str(world.root)))
    assert done.status == status, done
    return done.out


def document(world: World, words: str, *, status: int = 0) -> dict[str, Any]:
    """Run a command with --json; return its document."""
    found: dict[str, Any] = json.loads(ask(world, f"{words} --json", status=status))
    return found


def test_workstreams(world: World) -> None:
    """A workstream is created, filled, shown, refused its validation, cancelled and archived."""
    assert ask(world, "workstream create login --title 'Log in' --validate true") == "login\n"
    assert document(world, "workstream add login form")["tasks"] == {"READY": 1}
    assert "workstream login is ready: 0 of 1 tasks complete" in ask(
        world, "workstream add login form"
    )
    assert document(world, "workstream list")["workstreams"][0]["workstream"] == "login"
    assert document(world, "workstream show login")["members"][0]["task"] == "form"
    error = document(world, "workstream validate login", status=1)["error"]
    assert error["code"] == "not_complete"
    assert ask(world, "workstream cancel login") == "workstream login is cancelled\n"
    path = ask(world, "workstream archive login").strip()
    assert json.loads(Path(path).read_text())["state"] == "cancelled"
    assert document(world, "workstream list")["workstreams"] == []
    assert len(document(world, "workstream list --all")["workstreams"]) == 1


def test_a_branch(world: World) -> None:
    """A workstream with a branch is landed as a whole, listed by `undo`, and undone."""
    created = document(world, "workstream create login --branch")
    assert (created["branch"], created["landed"]) == ("ws/login", None)
    ask(world, "workstream add login form")
    world.approved("auth", "form", {"form.py": "1\n"})
    landed = document(world, "land auth")["results"][0]
    assert landed["target"] == "ws/login"
    start = world.tip()
    assert document(world, "workstream validate login")["state"] == "completed"
    assert world.tip() != start
    assert "land\tws/login\thq" in ask(world, "undo --list")
    undone = document(world, "undo")
    assert undone["undone"] == "land"
    assert world.tip() == start
    assert document(world, "workstream list")["workstreams"][0]["next"] == (
        "git worker workstream validate login"
    )


def test_automations(world: World) -> None:
    """An automation is added, shown, run, disabled, enabled and removed."""
    command = shlex.quote("echo no; exit 3")
    assert ask(world, f"automation add nightly --every 900 --command {command}") == "nightly\n"
    assert document(world, "automation list")["automations"][0]["automation"] == "nightly"
    assert "trigger    every 900 s\n" in ask(world, "automation show nightly")
    ran = document(world, "automation run nightly", status=1)
    assert (ran["status"], ran["trigger_reason"]) == ("failed", "manual")
    assert document(world, "automation history nightly -n 1")["runs"][0]["run"] == ran["run"]
    assert ask(world, "automation disable nightly") == "nightly is disabled\n"
    assert document(world, "automation enable nightly")["enabled"] is True
    assert ask(world, "automation remove nightly") == "removed nightly\n"
    ask(world, "automation show nightly", status=4)
    ask(world, "automation add x --every 5", status=2)
