"""Messages from outside: checked, stored, delivered to the right agent, read and acknowledged."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gitworker.bus.blobs import find_blob, save_blob
from gitworker.bus.consume import acknowledge, full_line, unread
from gitworker.bus.limits.send_limits import Limits
from gitworker.bus.send import MessageDraft, require_addressee, send
from gitworker.errors import Invalid, NotFound, Refused, Unavailable
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from tests.store.support import foreign, participant

LARGE = json.dumps({"text": "x" * 5000})


@pytest.fixture
def workers(store: Database) -> Database:
    """Worker `auth` holding task `t`, and an unassigned task `free`."""
    with store.write() as writer:
        for task in ("t", "free", "auth"):
            writer.run(
                "tasks.insert", task=task, title="", requires_approval=0, max_retries=1, now=1
            )
        writer.run("workers.insert", worker="auth", now=1)
        writer.run(
            "workers.set_assignment", worker="auth", task="t", branch="auth/t", base_oid=None,
            worktree=None, admin_dir=None, now=1,
        )  # fmt: skip
    return store


def say(store: Database, state: StatePaths, draft: MessageDraft, **options: Any) -> str:
    """Send a message as hq from outside any worktree, unless the options differ."""
    values = {"sender": "hq", "task": None, "blobs": state.blobs, "limits": Limits(10_000)}
    return send(store, draft, **{**values, **options})


def read(store: Database, state: StatePaths, agent: str) -> list[dict[str, Any]]:
    """Return an agent's unread messages as they are printed."""
    return [json.loads(full_line(store, row, blobs=state.blobs)) for row in unread(store, agent)]


@pytest.mark.parametrize(
    ("draft", "options", "wanted"),
    [
        (MessageDraft("x-note", to="auth"), {}, ("auth", "t")),
        (MessageDraft("x-note", to="auth"), {"task": "here"}, ("auth", "t")),
        (MessageDraft("x-note", to="t"), {}, ("auth", "t")),
        (MessageDraft("x-note", to="t", correlation_id="c"), {}, ("auth", "c")),
        (MessageDraft("x-note", to="orchestrator"), {"task": "here"}, ("orchestrator", "here")),
        (MessageDraft("x-note"), {"sender": "auth"}, (None, "t")),
        (MessageDraft("x-note"), {"sender": "stranger"}, (None, None)),
    ],
)
def test_addressee_and_task(
    workers: Database,
    state: StatePaths,
    draft: MessageDraft,
    options: dict[str, Any],
    wanted: object,
) -> None:
    """The task is given, the addressed one, the addressed worker's, this place's, or one's own."""
    sent = say(workers, state, draft, **options)
    row = workers.row("messages.by_id", id=sent)
    assert row is not None
    assert (row["to_agent"], row["correlation_id"]) == wanted


def test_known_addressees(workers: Database, state: StatePaths) -> None:
    """Agents with a heartbeat, an acknowledgement or a message can be written to; others cannot."""
    for name in ("free", "unknown"):
        with pytest.raises(NotFound), workers.read() as reader:
            require_addressee(reader, name)
    participant(state.root, "beat", "nim", "idle", "")
    acknowledge(workers, "crystal", 1)
    say(workers, state, MessageDraft("x-note"), sender="zig")
    known = ["nim", "crystal", "zig"]
    with workers.read() as reader:
        assert [require_addressee(reader, name) for name in known] == known


@pytest.mark.parametrize(
    ("draft", "complaint"),
    [
        (MessageDraft(""), "not a message type"),
        (MessageDraft("Upper"), "not a message type"),
        (MessageDraft("a b"), "not a message type"),
        (MessageDraft("a" * 65), "65 characters"),
        (MessageDraft("heartbeat"), "reserved"),
        (MessageDraft("cmd", '{"command": "stop"}'), "a cmd needs an addressee"),
        (MessageDraft("cmd", '{"command": "dance"}', to="auth"), "stop, pause, resume"),
        (MessageDraft("log", '{"level": "loud"}'), "debug, info, warn, error"),
        (MessageDraft("signal", '{"signal": "smoke"}'), "start, done"),
        (MessageDraft("x-note", "{"), "not valid JSON"),
        (MessageDraft("x-note", '"\0"'), "not valid JSON"),
        (MessageDraft("x-note", "[" * 501 + "]" * 501), "more than 500 deep"),
        (MessageDraft("x-note", "[" * 1000 + "]" * 1000), "more than 500 deep"),
        (MessageDraft("status", '{"progress": 1e999}'), "beyond the range of a double: 1e999"),
        (MessageDraft("x-note", "[-1E+400]"), "beyond the range of a double"),
        (MessageDraft("x-note", "9" * 400 + ".5"), "beyond the range of a double"),
        (MessageDraft("x-note", "\udcff"), "not valid UTF-8"),
        (MessageDraft("x-note", json.dumps("y" * 20_000)), "are allowed"),
        (MessageDraft("x-note", id=""), "printable"),
        (MessageDraft("x-note", correlation_id="a\nb"), "printable"),
        (MessageDraft("x-note", in_reply_to="i" * 201), "printable"),
    ],
)
def test_refused_messages(
    workers: Database, state: StatePaths, draft: MessageDraft, complaint: str
) -> None:
    """A bad type, payload or id is refused, and nothing is written."""
    with pytest.raises(Invalid, match=complaint):
        say(workers, state, draft)
    assert workers.row("messages.last_seq") == {"seq": 0}
    assert os.listdir(state.blobs) == []


def test_large_payloads_are_blobs(workers: Database, state: StatePaths) -> None:
    """A payload above 4 KiB is a file that foreign programs read too, one for equal content."""
    for number in range(2):
        say(workers, state, MessageDraft("x-note", LARGE, to="auth", id=f"m{number}"))
    (name,) = os.listdir(state.blobs)
    assert [(m["payload"], m["payload_ref"]) for m in read(workers, state, "auth")] == [
        (json.loads(LARGE), name)
    ] * 2
    theirs = participant(state.root, "poll", "auth")
    assert isinstance(theirs, list)
    assert theirs[0]["payload"] == json.loads(LARGE)


def test_a_foreign_blob_is_read(workers: Database, state: StatePaths) -> None:
    """A large payload of another program arrives complete."""
    message = {"type": "x-note", "to": "auth", "payload": {"text": "ü" * 5000}}
    participant(state.root, "publish", "nim", json.dumps(message))
    assert read(workers, state, "auth")[0]["payload"] == message["payload"]


@pytest.mark.parametrize(
    ("ref", "content", "error"),
    [
        ("sha256-" + "0" * 64, None, "blob_missing"),
        ("sha256-" + "0" * 64, "no json", "decode_failed"),
        ("../bus.db", None, "blob_missing"),
    ],
)
def test_a_blob_that_cannot_be_read(
    workers: Database, state: StatePaths, ref: str, content: str | None, error: str
) -> None:
    """A message with a missing, damaged or foreign reference arrives with the error."""
    if content is not None:
        Path(state.blobs, ref).write_text(content)
    insert = (
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload_ref) VALUES ('m',1,'n','t',?)"
    )
    foreign(state.database, (insert, [ref]))
    (message,) = read(workers, state, "auth")
    assert (message["payload"], message["payload_error"]) == (None, error)


def test_reading_moves_nothing_and_acknowledging_only_forward(
    workers: Database, state: StatePaths
) -> None:
    """Messages are returned again until acknowledged, and the cursor never moves back."""
    for name in "abc":
        say(workers, state, MessageDraft("x-note", id=name))
    assert [m["id"] for m in read(workers, state, "auth")] == ["a", "b", "c"]
    assert [one.message.seq for one in unread(workers, "auth", limit=2)] == [1, 2]
    acknowledge(workers, "auth", 2)
    acknowledge(workers, "auth", 1)
    assert [m["id"] for m in read(workers, state, "auth")] == ["c"]


def test_a_blob_that_cannot_be_kept(tmp_path: Path) -> None:
    """If a blob cannot be written the error names the place, and no partial file stays."""
    place = tmp_path / "blobs"
    place.write_text("in the way")
    with pytest.raises(Unavailable, match="cannot store the payload"):
        save_blob(str(place), b"{}")
    assert find_blob(str(tmp_path), "sha256-" + "a" * 64) is None
    assert find_blob(str(tmp_path), "blobs") is None
    made = save_blob(str(tmp_path / "new"), b"{}")
    assert save_blob(str(tmp_path / "new"), b"{}") == made
    assert os.listdir(tmp_path / "new") == [made]
    assert find_blob(str(tmp_path / "new"), made) == "{}"


@pytest.mark.parametrize(
    "draft",
    [
        MessageDraft("review_result", '{"verdict": "approved"}', to="auth"),
        MessageDraft("review_result", '{"verdict": "approved"}', to="t"),
        MessageDraft("review_result", '{"verdict": "approved"}'),
        MessageDraft("review_result", '{"verdict": "approved"}', to="hq", correlation_id="t"),
    ],
)
def test_no_verdict_on_its_own_work(
    workers: Database, state: StatePaths, draft: MessageDraft
) -> None:
    """A worker sends no verdict on its own work; another agent may, and on other work it may."""
    with pytest.raises(Refused) as caught:
        say(workers, state, draft, sender="auth", task="t")
    assert caught.value.code == "not_allowed"
    say(workers, state, draft, sender="ci")
    other = MessageDraft("review_result", "{}", to="hq", correlation_id="free")
    say(workers, state, other, sender="auth", task="t")
