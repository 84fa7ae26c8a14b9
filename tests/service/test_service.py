"""The service: use cases and views for a directory and an identity, from any thread."""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict, Invalid, NotFound, Refused, Unavailable
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


def open_databases() -> int:
    """Return the number of descriptors of this process on the database of the bus."""
    fds = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return sum(os.readlink(fd).endswith("/bus.db") for fd in fds if os.path.lexists(fd))


def test_views_share_one_session(service: Service) -> None:
    """The views of one reading open the database once, and its end closes it."""
    hand_in(service, "auth", "login")
    before = open_databases()
    with service.one_reading() as together:
        assert together.reader().identity == "hq"  # settles nothing, so it opens its own
        assert open_databases() == before
        assert together.review("auth").round.number == 1
        assert open_databases() == before + 1
        assert [one.worker for one in together.status().workers] == ["auth"]
        assert together.worker_facts().keys() == {"auth"}
        assert open_databases() == before + 1
    assert open_databases() == before
    with pytest.raises(NotFound), service.one_reading() as together:
        together.show("nobody")
    assert open_databases() == before


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
    ("task", "list"): lambda service: service.list_tasks(),
    ("diff", "auth"): lambda service: service.diff("auth"),
    ("path", "auth"): lambda service: service.path("auth"),
    ("log",): lambda service: service.log(),
    ("inbox",): lambda service: service.inbox(),
    ("wait", "auth"): lambda service: service.wait("auth"),
    ("agents",): lambda service: service.agents(),
    ("queue",): lambda service: service.queue(),
    ("conflicts",): lambda service: service.conflicts(),
    ("msg", "stats"): lambda service: service.bus_stats(),
    ("pool",): lambda service: service.pool(),
    ("hooks", "status"): lambda service: service.hooks(),
    ("verify",): lambda service: service.verify(),
    ("recover",): lambda service: service.recover_interrupted(),
    ("msg", "prune", "--dry-run"): lambda service: service.plan_prune(),
    ("msg", "export"): lambda service: service.export_logs(),
    ("msg", "show", "1"): lambda service: service.message("1"),
    ("init",): lambda service: service.init(),
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


def test_messages(world: World) -> None:
    """A message is sent, found, delivered until it is acknowledged, and answered."""
    world.spawn("auth", "login")
    hq = open_repository(str(world.root))
    auth = open_repository(str(world.root), identity="auth")
    asked = hq.send("x-ask", '{"word": "heliotrope"}', to="auth")
    (found,) = to_json(auth.search(["heliotrope"]))
    assert (found["id"], found["from"]) == (asked, "hq")
    for _ in range(2):
        (unread,) = [one for one in auth.poll() if one["type"] == "x-ask"]
        assert unread["payload"] == {"word": "heliotrope"}
    assert auth.ack(auth.poll()[-1]["seq"]) == "auth"
    assert auth.poll() == []
    answer = auth.send("x-answer", to="hq", reply_to=asked)
    reply = hq.request("x-ask", to="auth", id=asked, timeout_s=30)
    assert (reply["id"], reply["in_reply_to"]) == (answer, asked)
    (followed,) = itertools.islice(hq.follow(since=unread["seq"]), 1)
    assert followed["id"] == answer


def test_claims(world: World) -> None:
    """A claim is taken, renewed under its epoch, refused to others, and released."""
    world.spawn("auth", "login")
    hq = open_repository(str(world.root))
    auth = open_repository(str(world.root), identity="auth")
    taken = auth.take_claim("x:deploy", ttl_s=60)
    assert auth.renew_claim("x:deploy").epoch == taken.epoch
    with pytest.raises(Conflict):
        hq.take_claim("x:deploy")
    with pytest.raises(Invalid):  # several shells share hq
        hq.renew_claim("x:deploy")
    assert "x:deploy" in [one["name"] for one in to_json(hq.claims())]
    assert auth.release_claim("x:deploy") == "auth"


def test_a_server_is_not_the_agent(service: Service, world: World) -> None:
    """A start without a process records none, although the server has ancestors."""
    service.spawn("auth", "login")
    assert service.start("auth").pid is None


def test_ways_out(service: Service, world: World) -> None:
    """A task is given up, its worker reset, and the records and hooks are listed as JSON."""
    service.spawn("auth", "login")
    service.start("auth")
    assert to_json(service.fail("auth", reason="no"))["state"] == "FAILED"
    assert to_json(service.reset("auth"))["freed_task"] == "login"
    assert to_json(service.undo_records())[0]["kind"] == "reset"
    assert to_json(service.prune())["dry_run"] is False
    assert service.untrusted_commands() == service.trusted_commands() == []
    assert service.install_hooks() == []
    assert service.uninstall_hooks() == str(world.state_dir)
    assert service.empty_pool() == 0
    assert service.doctor().is_healthy


def test_sync_and_publish(service: Service, world: World, tmp_path: Path) -> None:
    """A worker's own service rebases its branch, and publishes it to a remote."""
    path = Path(service.spawn("auth", "login").path)
    Repo(path).commit("Work", {"auth.txt": "1\n"})
    tip = world.advance({"more": "1\n"})
    synced = open_repository(str(path), identity="auth").sync()
    assert (synced.target, synced.onto) == (tip, "main")
    assert to_json(synced)["new"] == synced.new
    bare = tmp_path / "bare.git"
    world.git("clone", "-q", "--bare", str(world.root), str(bare))
    world.git("remote", "add", "origin", str(bare))
    assert service.choose_remote("auth") == "origin"
    assert to_json(service.publish("auth"))["commit"] == synced.new


def test_a_service_imports_no_use_case() -> None:
    """The module of the service loads no use case: each method imports its own."""
    program = (
        "import sys, gitworker.service.service;"
        "print(*[name for name in sys.modules if name.startswith('gitworker.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert not rooms & {"workers", "landing", "fsck", "agents", "radar", "verify"}


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
