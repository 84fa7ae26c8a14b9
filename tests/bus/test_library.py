"""The library: an agent written in Python publishes, reads, asks and answers."""

import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gitworker.bus
from gitworker.bus import Bus, open_bus
from gitworker.errors import REPLACED, Conflict, Invalid, NotFound, Unavailable
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database
from tests.bus.scene import Scene
from tests.store.support import participant, wait_until


@pytest.fixture
def bus(state: StatePaths, store: Database) -> Iterator[Bus]:
    """The bus of `hq`, with a worker `auth` that holds task `t`."""
    with store.write() as writer:
        writer.run("tasks.insert", task="t", title="", requires_approval=0, max_retries=1, now=1)
        writer.run("workers.insert", worker="auth", now=1)
        writer.run(
            "workers.set_assignment", worker="auth", task="t", branch="auth/t", base_oid=None,
            worktree=None, admin_dir=None, now=1,
        )  # fmt: skip
    with open_bus(state.root, agent="hq") as made:
        yield made


@pytest.fixture
def auth(state: StatePaths, bus: Bus) -> Iterator[Bus]:
    """The bus of worker `auth`."""
    with open_bus(state.database, agent="auth") as made:
        yield made


def test_a_message_arrives_complete(bus: Bus, auth: Bus) -> None:
    """Every documented field of a message arrives unchanged, until it is acknowledged."""
    sent = bus.publish(
        "status", {"phase": "tests", "ü": [1, None]}, to="auth", in_reply_to="before"
    )
    (message,) = auth.poll()
    assert list(message) == [
        "seq", "id", "ts", "from", "to", "type", "correlation_id", "in_reply_to", "payload",
        "payload_ref", "payload_error",
    ]  # fmt: skip
    ts = message.pop("ts")
    assert (len(ts), ts[10], ts[19], ts[23]) == (24, "T", ".", "Z")
    assert message == {
        "seq": 1, "id": sent, "from": "hq", "to": "auth", "type": "status", "correlation_id": "t",
        "in_reply_to": "before", "payload": {"phase": "tests", "ü": [1, None]}, "payload_ref": None,
        "payload_error": None,
    }  # fmt: skip
    assert [m["id"] for m in auth.poll()] == [sent]
    auth.ack(message["seq"])
    assert auth.poll() == []
    assert bus.poll() == []


def test_a_retry_publishes_nothing(bus: Bus, auth: Bus) -> None:
    """The same id is the same message, and is returned."""
    assert [bus.publish("x-note", 1, id="mine") for _ in range(2)] == ["mine", "mine"]
    assert [m["id"] for m in auth.poll()] == ["mine"]


def test_addressee_and_task(bus: Bus, auth: Bus) -> None:
    """A task as addressee means its worker and is the message's task; else the agent's own is."""
    bus.publish("x-note", to="t")
    auth.publish("x-note", correlation_id="other")
    auth.publish("x-note", to="hq", durable=False)
    heard = [(m["from"], m["to"], m["correlation_id"]) for m in bus.follow(since=0, stop=three())]
    assert heard == [("hq", "auth", "t"), ("auth", None, "other"), ("auth", "hq", "t")]


def three() -> Any:
    """Return a function that ends a loop at its fourth call."""
    answers = iter([False] * 3)
    return lambda: next(answers, True)


def test_a_batch_is_one_transaction(bus: Bus, auth: Bus) -> None:
    """The messages of a batch are published together in order, or not at all."""
    ids = bus.publish_many({"type": "x-note", "payload": n, "to": "auth"} for n in range(5))
    assert [(m["id"], m["payload"]) for m in auth.poll()] == list(zip(ids, range(5), strict=True))
    with pytest.raises(NotFound):
        bus.publish_many([{"type": "x-note"}, {"type": "x-note", "to": "unknown"}])
    assert len(auth.poll()) == 5
    assert [m["payload"] for m in auth.poll(2)] == [0, 1]


def test_large_payloads_come_a_few_at_a_time(bus: Bus, auth: Bus) -> None:
    """A poll ends before its large payloads fill the memory, in order, and skips none."""
    sizes = [9, 6, 6, 0, 15, 9, 0]
    sent = [bus.publish("x-note", "x" * (size << 20), to="auth") for size in sizes]
    batches = []
    while messages := auth.poll():
        batches.append([sizes[sent.index(message["id"])] for message in messages])
        auth.ack(messages[-1]["seq"])
    assert batches == [[9, 6], [6, 0], [15], [9, 0]]


@pytest.mark.parametrize(
    ("words", "options", "complaint"),
    [
        (("Bad",), {}, "not a message type"),
        (("unknown",), {}, "there is no message type"),
        (("status", "text"), {}, "must be a JSON object"),
        (("x-note", float("nan")), {}, "cannot be written as JSON"),
        (("x-note", [float("inf")]), {}, "cannot be written as JSON"),
        (("x-note", {"a": object()}), {}, "cannot be written as JSON"),
        (("x-note", "\ud800"), {}, "lone surrogate"),
        (("x-note", json.loads("[" * 501 + "]" * 501)), {}, "more than 500 deep"),
        (("x-note", {"\udcff": 1}), {}, "lone surrogate"),
        (("x-note", "x" * (17 << 20)), {}, "are allowed"),
        (("x-note",), {"id": ""}, "id must be"),
        (("x-note",), {"correlation_id": "a\0b"}, "correlation-id must be"),
        (("x-note",), {"in_reply_to": "x" * 201}, "in-reply-to must be"),
    ],
)
def test_refused_publications(
    bus: Bus, words: tuple[Any, ...], options: dict[str, Any], complaint: str
) -> None:
    """A message that no other program could read is refused with a reason and not written."""
    with pytest.raises(Invalid, match=complaint):
        bus.publish(*words, **options)
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(Invalid, match="cannot be written"):
        bus.publish("x-note", nested)
    with pytest.raises(NotFound):
        bus.publish("x-note", to="unknown")
    assert bus.poll() == []


def test_nul_is_an_ordinary_character(bus: Bus) -> None:
    """A NUL inside a text comes back as it was."""
    bus.publish("x-note", "a\0b")
    assert [m["payload"] for m in bus.poll()] == ["a\0b"]


def test_large_payloads(state: StatePaths, bus: Bus) -> None:
    """A payload above 4,096 bytes is a blob; if it is missing or damaged, the error says so."""
    bus.publish("x-note", "x" * 4094)
    bus.publish("x-note", "x" * 4095)
    small, large = bus.poll()
    assert small["payload_ref"] is None
    assert large["payload"] == "x" * 4095
    theirs = participant(state.root, "poll", "nim")
    assert isinstance(theirs, list)
    assert [m["payload"] for m in theirs] == ["x" * 4094, "x" * 4095]
    (name,) = os.listdir(state.blobs)
    Path(state.blobs, name).write_text("{")
    assert bus.poll()[1]["payload_error"] == "decode_failed"
    Path(state.blobs, name).unlink()
    assert bus.poll()[1]["payload_error"] == "blob_missing"


def test_the_limit_is_a_setting(
    state: StatePaths, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting of the repository, or the environment, limits a payload."""
    Path(state.root, "limits").write_text("10 60 0 0\n")
    with open_bus(state.root, agent="auth") as made, pytest.raises(Invalid, match="10 are allowed"):
        made.publish("x-note", "x" * 10)
    monkeypatch.setenv("GITWORKER_MESSAGE_MAX_BYTES", "20")
    with open_bus(state.root, agent="auth") as made:
        made.publish("x-note", "x" * 10)


def test_ack_of_the_future(bus: Bus) -> None:
    """A position beyond the last message cannot be acknowledged, since later ones would be lost."""
    bus.publish("x-note")
    with pytest.raises(Invalid, match="no message 2 yet"):
        bus.ack(2)
    bus.ack(1)
    bus.ack(0)
    assert bus.poll() == []


def test_waiting_for_messages(bus: Bus, auth: Bus) -> None:
    """Poll waits for the first message and no longer than asked for; NaN is refused."""
    assert auth.poll(wait_s=0.01) == []
    assert auth.poll(wait_s=math.nan) == []
    sender = threading.Thread(target=bus.publish, args=("x-note",))
    sender.start()
    assert len(auth.poll(wait_s=30)) == 1
    sender.join()


def test_requests_are_answered(bus: Bus, auth: Bus) -> None:
    """The answer to a question reaches its sender; if asked again, it is the same answer."""

    def answer() -> None:
        (asked,) = auth.poll(wait_s=30)
        auth.publish("x-noise", to="hq")
        auth.reply(asked, "x-answer", {"n": asked["payload"]["n"] + 1})

    worker = threading.Thread(target=answer)
    worker.start()
    found = bus.request("x-ask", {"n": 1}, to="auth", timeout_s=30, id="question")
    worker.join()
    assert (found["type"], found["payload"], found["in_reply_to"]) == (
        "x-answer", {"n": 2}, "question",
    )  # fmt: skip
    assert bus.request("x-ask", {"n": 1}, to="auth", timeout_s=0, id="question") == found
    assert [m["type"] for m in bus.poll()] == ["x-noise", "x-answer"]


def test_an_unanswered_request(state: StatePaths, bus: Bus) -> None:
    """When the time is over the caller gets an error, and the question stays on the bus."""
    with pytest.raises(Conflict, match="auth did not answer within 0.01 s") as caught:
        bus.request("x-ask", to="auth", timeout_s=0.01)
    assert caught.value.code == "timeout"
    with pytest.raises(Conflict, match="did not answer"):
        bus.request("x-ask", to="auth", timeout_s=math.nan)
    theirs = participant(state.root, "poll", "auth")
    assert isinstance(theirs, list)
    reply = {"type": "x-answer", "to": "hq", "correlation_id": theirs[0]["id"]}
    participant(state.root, "publish", "auth", json.dumps(reply))
    assert bus.request("x-ask", to="auth", id=theirs[0]["id"])["type"] == "x-answer"


def test_strangers_are_answered(state: StatePaths, bus: Bus) -> None:
    """Every sender of a message can be answered, known or not."""
    participant(state.root, "publish", "nim", json.dumps({"type": "x-ask"}))
    (asked,) = bus.poll()
    bus.reply(asked, "x-answer")
    theirs = participant(state.root, "poll", "nim")
    assert isinstance(theirs, list)
    assert theirs[-1]["correlation_id"] == asked["id"]


def test_following(bus: Bus, auth: Bus) -> None:
    """A follower receives the messages of its filter from now on, until it is stopped."""
    stop = threading.Event()
    heard: list[str] = []

    def listen() -> None:
        for message in bus.follow(task="t", sender="auth", stop=stop):
            heard.append(message["id"])

    listener = threading.Thread(target=listen)
    auth.publish("x-note", id="before")
    listener.start()
    bus.publish("x-note", id="not-auths")

    def say() -> bool:
        auth.publish("x-note")
        return bool(heard)

    wait_until(say, "the follower to receive")
    stop.set()
    listener.join(30)
    assert not listener.is_alive()
    assert "not-auths" not in heard
    assert "before" not in heard


def test_following_without_an_end(state: StatePaths, bus: Bus) -> None:
    """A follower without a stop function ends with the database."""
    bus.publish("x-note", id="a")
    stream = bus.follow(since=0)
    assert next(stream)["id"] == "a"
    os.rename(state.database, f"{state.database}.old")
    assert list(stream) == []


@pytest.mark.parametrize("is_new", [False, True])
def test_a_lost_database_takes_no_message(state: StatePaths, bus: Bus, is_new: bool) -> None:
    """Publishing, waiting and handling fail once bus.db was deleted or replaced."""
    bus.poll()
    for path in Path(state.root).glob("bus.db*"):
        path.unlink()
    if is_new:
        create_database(state.database).close()
    calls: list[Callable[[], object]] = [
        lambda: bus.publish("x-note"), lambda: bus.poll(wait_s=60),
        lambda: bus.process_loop(print), lambda: bus.request("x-question", to="auth"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(Unavailable, match="was deleted or replaced") as caught:
            call()
        assert caught.value.code == REPLACED


def test_every_thread_has_its_connection(bus: Bus, auth: Bus) -> None:
    """Threads share one bus without sharing a connection."""
    seen = {bus.store}

    def publish() -> None:
        seen.add(bus.store)
        for _ in range(20):
            bus.publish("x-note", durable=False)

    threads = [threading.Thread(target=publish) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 5
    assert len(auth.poll()) == 80


def test_close_exports_published_messages(state: StatePaths, bus: Bus) -> None:
    """The log file has every message once the bus is closed."""
    bus.publish("x-note", id="mine")
    bus.close()
    assert json.loads(Path(state.bus_log).read_text())["id"] == "mine"
    bus.export()
    with open_bus(state.root, agent="hq") as other:
        other.publish("x-note")
        os.rename(state.bus_log, f"{state.bus_log}.old")
        os.mkdir(state.bus_log)  # the export fails, and close does not
    assert len(Path(f"{state.bus_log}.old").read_text().splitlines()) == 1


def test_the_identity_of_a_bus(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agent and task are those of the worktree, of exec's environment, or of the arguments."""
    worktree = scene.spawn("auth", "t1")
    monkeypatch.chdir(scene.root)
    with open_bus() as bus:
        assert (bus.agent, bus.task) == ("hq", None)
    with open_bus(agent="auth") as bus:
        assert (bus.agent, bus.task) == ("auth", "t1")
    monkeypatch.chdir(worktree)
    with open_bus() as bus:
        assert (bus.agent, bus.task) == ("auth", "t1")
    with open_bus(agent="docs", task="t9") as bus:
        assert (bus.agent, bus.task) == ("docs", "t9")
    monkeypatch.chdir("/")
    monkeypatch.setenv("GITWORKER_BUS", str(scene.state_dir / "bus.db"))
    monkeypatch.setenv("GITWORKER_ID", "docs")
    monkeypatch.setenv("GITWORKER_TASK", "t2")
    with open_bus() as bus:
        assert (bus.agent, bus.task) == ("docs", "t2")
    with open_bus(agent="auth") as bus:  # not the agent of the environment
        assert (bus.agent, bus.task) == ("auth", "t1")


def test_no_bus(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If gitworker is not set up, the error names the next step."""
    monkeypatch.chdir(repository)
    with pytest.raises(Unavailable) as caught:
        open_bus()
    assert caught.value.hint == "git worker init"


def test_the_package_offers_three_names() -> None:
    """The package has the names of its `__all__` and no others."""
    assert gitworker.bus.PUBLIC == ("Bus", "Message", "open_bus")
    assert gitworker.bus.Message is not None
    with pytest.raises(AttributeError, match="no attribute 'Bell'"):
        _ = gitworker.bus.Bell


def test_connections_of_ended_threads_are_closed(bus: Bus) -> None:
    """A program that starts a thread for each message does not run out of descriptors."""

    def once() -> None:
        bus.publish("x-note", durable=False)
        bus.poll(1, wait_s=0.01)

    for _ in range(20):
        thread = threading.Thread(target=once)
        thread.start()
        thread.join()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        thread = threading.Thread(target=once)
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("call", ["poll", "request", "follow", "process_loop"])
def test_close_beside_threads_at_work(bus: Bus, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """If the bus is closed, waiting threads end with an error of ours or without one."""
    monkeypatch.setattr("gitworker.bus.client.library.MAX_WAIT_S", 0.05)
    monkeypatch.setattr("gitworker.bus.request.MAX_WAIT_S", 0.05)
    ended: list[object] = []
    bus.publish("x-note", id="first")
    bus.ack(1)
    begun = threading.Event()

    def work() -> None:
        calls = {
            "poll": lambda: bus.poll(wait_s=60),
            "request": lambda: bus.request("x-ask", to="auth", timeout_s=60),
            "follow": lambda: list(bus.follow()),
            "process_loop": lambda: bus.process_loop(lambda _: None),
        }
        begun.set()
        try:
            ended.append(calls[call]())
        except Unavailable as error:
            ended.append(error.code)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    wait_until(lambda: bool(bus._inside), "the thread to wait")
    bus.close()
    thread.join(20)
    expected = {"poll": "closed", "request": "closed", "follow": [], "process_loop": None}
    assert ended == [expected[call]]
    assert not bus._opened


def test_following_ends_with_close_in_the_same_thread(bus: Bus) -> None:
    """A thread that closes the bus between two messages gets no further one."""
    for name in ("a", "b"):
        bus.publish("x-note", id=name)
    seen = []
    for message in bus.follow(since=0):
        seen.append(message["id"])
        bus.close()
    assert seen == ["a"]


def test_threads_publish_the_same_large_payload(state: StatePaths, bus: Bus) -> None:
    """Each thread writes its own file until the name exists; none fails and nothing is left."""
    together = threading.Barrier(4)
    ids: list[str] = []

    def publish(turn: int) -> None:
        together.wait()
        ids.append(bus.publish("x-big", [turn, "z" * 300_000], durable=False))

    for turn in range(5):
        threads = [threading.Thread(target=publish, args=(turn,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(ids) == 20
    assert [name for name in os.listdir(state.blobs) if name.startswith(".")] == []
    assert len(os.listdir(state.blobs)) == 5


def test_a_torn_blob_is_written_again(state: StatePaths, bus: Bus, auth: Bus) -> None:
    """A torn blob that a crash left under its name is written again."""
    bus.publish("x-big", "q" * 100_000)
    (name,) = os.listdir(state.blobs)
    os.truncate(f"{state.blobs}/{name}", 1000)
    bus.publish("x-big", "q" * 100_000)
    assert [m["payload"] for m in auth.poll()] == ["q" * 100_000] * 2
