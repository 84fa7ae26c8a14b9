"""The service: use cases and views for a directory and an identity, from any thread."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.repos import Repo
from gitworker.errors import NotFound, Refused, Unavailable
from gitworker.model.ids import Branch, Oid
from gitworker.progress import Event, OperationSettled, WorkersLanded
from gitworker.service import Service, open_repository, to_json
from gitworker.store.operations import begin_operation
from gitworker.store.payloads.spawn_data import SpawnData
from tests.cli.kit import ok
from tests.workers.world import World

AT_ONCE = 4


@pytest.fixture
def service(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service on the repository, in a process whose working directory is elsewhere."""
    world.session()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("GITWORKER_TARGET", "no-such-branch")
    monkeypatch.setenv("GITWORKER_ID", "not-the-caller")
    return open_repository(str(world.root))


def hand_in(service: Service, worker: str, task: str) -> None:
    """Bring a worker with one commit into review."""
    path = Path(service.spawn(worker, task).path)
    service.start(worker, pid=os.getpid())
    Repo(path).commit("Work", {f"{worker}.txt": "1\n"})
    assert service.submit(worker, note="done").commits == 1


def test_a_whole_life(service: Service, world: World) -> None:
    """A worker runs from spawn to its landing and back, in a directory that is not the caller's."""
    hand_in(service, "auth", "login")
    (approved,) = to_json(service.approve(["auth"]))
    assert approved["approved"]
    assert [one.worker_id for one in service.plan_merge(everything=True)] == ["auth"]
    (landed,) = to_json(service.merge(everything=True))
    assert (landed["landed"], landed["commit"]) == (True, world.tip())
    undone = to_json(service.undo())
    assert (undone["undone"], undone["worker"]) == ("merge", "auth")
    assert to_json(service.cancel("auth"))["freed_task"] == "login"
    assert to_json(service.fsck())["whole"]


def test_threads_share_a_service(service: Service, world: World) -> None:
    """Requests of several threads go through one service at the same time."""
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            hand_in(service, f"w{number}", f"t{number}")
            service.status()
            service.send("x-note", '{"n": 1}', to="hq")
            assert to_json(service.approve([f"w{number}"]))[0]["approved"]
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    results = to_json(service.merge(everything=True))
    assert [result["landed"] for result in results] == [True] * AT_ONCE
    assert world.git("rev-list", "--count", "--merges", "main") == "0"


VIEWS: dict[tuple[str, ...], Callable[[Service], Any]] = {
    ("status",): lambda service: service.status(),
    ("list",): lambda service: service.list_workers(),
    ("show", "auth"): lambda service: service.show("auth"),
    ("diff", "auth"): lambda service: service.diff("auth"),
    ("path", "auth"): lambda service: service.path("auth"),
    ("log",): lambda service: service.log(),
    ("agents",): lambda service: service.agents(),
    ("queue",): lambda service: service.queue(),
    ("conflicts",): lambda service: service.conflicts(),
    ("msg", "stats"): lambda service: service.bus_stats(),
    ("fsck",): lambda service: service.fsck(),
}


def without_ages(value: Any) -> Any:
    """Return JSON data without the ages in it, which grow from one read to the next."""
    if isinstance(value, dict):
        return {
            name: without_ages(inner)
            for name, inner in value.items()
            if "age" not in name.split("_")
        }
    return [without_ages(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_a_view_is_the_json_of_its_command(world: World, words: tuple[str, ...]) -> None:
    """`to_json` of a view is what the command prints with --json."""
    world.in_review("auth", "login", {"a": "1\n"})
    ok(world.root, "conflicts")  # the radar's job has nothing left to publish afterwards
    printed = json.loads(ok(world.root, *words, "--json"))
    found = json.loads(json.dumps(to_json(VIEWS[words](open_repository(str(world.root))))))
    timeless = without_ages({name: value for name, value in printed.items() if name in found})
    assert without_ages(found) == timeless
    assert set(printed) - set(found) <= {"schema"}


def test_errors_are_coded(service: Service, world: World, tmp_path: Path) -> None:
    """Errors keep their kind, code and hint; a directory outside a repository is refused."""
    with pytest.raises(NotFound) as missing:
        service.show("no-such-worker")
    assert missing.value.to_json()["hint"]
    hand_in(service, "auth", "login")
    worker = open_repository(str(world.root), identity="auth")
    (own,) = to_json(worker.approve(["auth"]))
    assert (own["approved"], own["error"]["code"]) == (False, "not_allowed")
    with pytest.raises(Refused):
        service.spawn("auth", "other")
    with pytest.raises(Unavailable):
        open_repository(str(tmp_path / "elsewhere"))


def test_events_are_reported(world: World) -> None:
    """Settled operations and landings reach the progress callback as typed events."""
    events: list[Event] = []
    service = open_repository(str(world.root), progress=events.append)
    world.approved("auth", "login", {"a": "1\n"})
    with world.session().store.write() as writer:
        begin_operation(
            writer, "spawn", worker="docs", task="guide", actor="hq", now=1,
            data=SpawnData(Branch("docs/guide"), Oid(world.tip()), f"{world.root}/no-such"),
        )  # fmt: skip
    service.merge(["auth"])
    assert OperationSettled("spawn", "docs") in events
    (landed,) = [event for event in events if isinstance(event, WorkersLanded)]
    assert to_json(list(landed.results))[0]["worker"] == "auth"
