"""Back-pressure: which senders wait, for how long, and that our own messages never do."""

from collections.abc import Callable

import pytest

from gitworker import clock
from gitworker.bus import open_bus
from gitworker.bus.limits.back_pressure import (
    BackPressure,
    Pressure,
    check_pressure,
    slow_consumers,
)
from gitworker.bus.limits.rules_pressure import BURST_S
from gitworker.bus.limits.send_limits import Limits
from gitworker.bus.publish import Outgoing, publish
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.queries import query_text
from tests.store.support import send

NOW = 1_800_000_000_000
SetClock = Callable[[int], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Return a function that sets the elapsed milliseconds."""

    def set_to(elapsed_ms: int) -> None:
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(NOW + elapsed_ms))

    set_to(0)
    return set_to


def limits(*, unread: int = 0, rate: int = 0) -> Limits:
    """Return limits with all but the named ones switched off."""
    return Limits(message_max_unread=unread, message_max_rate=rate)


def deliver(store: Database, number: int, *, to: str | None = "b", first: int = 0) -> None:
    """Publish messages without checking a limit."""
    for at in range(first, first + number):
        send(store, f"{to}{at}", to_agent=to, ts_ms=clock.now_ms())


def sent(store: Database, pressure: Pressure, *, at_most: int, first: int = 0) -> int:
    """Broadcast until a limit blocks, and return the number of messages sent."""
    for at in range(at_most):
        try:
            pressure.admit(store, None)
        except BackPressure:
            return at
        deliver(store, 1, to=None, first=first + at)
    return at_most


def test_unread_messages_are_limited(store: Database) -> None:
    """An agent with too many unread messages gets no more until it acknowledges."""
    deliver(store, 5)
    deliver(store, 9, to="c")
    check_pressure(store, "a", "b", limits(unread=6))
    with pytest.raises(BackPressure, match=r"b has 5 unread messages; 5 are allowed") as caught:
        check_pressure(store, "a", "b", limits(unread=5))
    assert (caught.value.status, caught.value.code) == (3, "back_pressure")
    assert "--wait" in (caught.value.hint or "")
    check_pressure(store, "a", None, limits(unread=5))
    with store.write() as writer:
        writer.run("messages.ack", agent="b", seq=1, now=1)
    check_pressure(store, "a", "b", limits(unread=5))


def test_a_limit_of_zero_is_off(store: Database) -> None:
    """Zero switches a limit off."""
    deliver(store, 50)
    for _ in range(50):
        check_pressure(store, "a", "b", limits())


def test_a_long_lived_sender_checks_rarely(store: Database) -> None:
    """Far below the limit most messages are sent unchecked, and few of them exceed it."""
    pressure = Pressure("a", limits(unread=100))
    went = 0
    while went < 200:
        try:
            pressure.admit(store, "b")
        except BackPressure:
            break
        deliver(store, 1, first=went)
        went += 1
    assert 100 <= went <= 105


def test_the_rate_is_limited(store: Database, set_clock: SetClock) -> None:
    """Beyond a burst a sender is held to the rate, and the refusal names the time to wait."""
    rate = 2
    pressure = Pressure("a", limits(rate=rate))
    burst = sent(store, pressure, at_most=1000)
    assert burst == rate * BURST_S + rate + 1  # the first ones before any limit applied
    with pytest.raises(BackPressure, match="a sends faster than 2 messages a second") as caught:
        pressure.admit(store, None)
    assert 500 <= caught.value.wait_ms <= 502
    set_clock(caught.value.wait_ms)
    assert sent(store, pressure, at_most=9, first=1000) == 1


def test_each_sender_has_its_own_budget(store: Database, set_clock: SetClock) -> None:
    """One sender's flood does not use up another's budget."""
    assert sent(store, Pressure("a", limits(rate=2)), at_most=1000) < 1000
    assert sent(store, Pressure("b", limits(rate=2)), at_most=20, first=2000) == 20


def test_the_budget_outlives_a_process(store: Database, set_clock: SetClock) -> None:
    """Processes that send one message each share the budget of their sender."""
    assert sent(store, Pressure("a", limits(rate=2)), at_most=1000) < 1000
    with pytest.raises(BackPressure):
        check_pressure(store, "a", None, limits(rate=2))


def test_a_clock_that_was_set_back(store: Database, set_clock: SetClock) -> None:
    """After the clock was set back a sender waits no longer than before."""
    pressure = Pressure("a", limits(rate=2))
    assert sent(store, pressure, at_most=1000) < 1000
    set_clock(-86_400_000)
    with pytest.raises(BackPressure):
        pressure.admit(store, None)
    set_clock(-86_400_000 + 600)
    pressure.admit(store, None)


def test_little_traffic_writes_nothing(store: Database, set_clock: SetClock) -> None:
    """While all senders together are below the rate of one, no budget is recorded."""
    pressure = Pressure("a", limits(rate=1000))
    assert sent(store, pressure, at_most=200) == 200
    assert store.execute("SELECT COUNT(*) AS n FROM send_budgets") == [{"n": 0}]


def test_our_own_messages_are_never_limited(store: Database, set_clock: SetClock) -> None:
    """Messages that commands publish by themselves are never refused."""
    assert sent(store, Pressure("hq", limits(rate=2)), at_most=1000) < 1000
    with store.write() as writer:
        publish(writer, Outgoing("state_change", to="b", id="ours"), now=NOW)
    assert store.row("messages.by_id", id="ours") is not None


def test_slow_consumers(store: Database) -> None:
    """Agents with more than half of the limit unread are listed, the slowest first."""
    deliver(store, 6, to="b")
    deliver(store, 8, to="c")
    deliver(store, 5, to="d")
    deliver(store, 9, to="e")
    deliver(store, 20, to=None)
    with store.write() as writer:
        writer.run("messages.ack", agent="e", seq=28, now=1)
    with store.read() as reader:
        assert slow_consumers(reader, max_unread=10) == [("c", 8), ("b", 6)]
        assert slow_consumers(reader, max_unread=7) == [("c", 7), ("b", 6), ("d", 5)]
        assert slow_consumers(reader, max_unread=0) == []


@pytest.mark.parametrize("name", ["pressure.unread", "pressure.addressees", "pressure.nth_newest"])
def test_limit_queries_use_an_index(store: Database, name: str) -> None:
    """No query of a limit reads the whole table of messages."""
    values: dict[str, str | int | None] = {"agent": "a", "limit": 5, "number": 5}
    text = query_text(name)
    wanted = {key: value for key, value in values.items() if f":{key}" in text}
    plan = [row["detail"] for row in store.execute(f"EXPLAIN QUERY PLAN {text}", wanted)]
    assert any("messages" in detail for detail in plan)
    assert not [detail for detail in plan if detail.startswith("SCAN messages")], plan


def test_the_library_is_limited_too(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent in Python is limited like any other; a batch is sent whole or not at all."""
    monkeypatch.setenv("GITWORKER_MESSAGE_MAX_UNREAD", "3")
    with open_bus(state.root, agent="a") as bus:
        for _ in range(2):
            bus.publish("status", {"progress": 0.5}, to="hq")
        with pytest.raises(BackPressure, match="hq has 2 unread|hq has 3 unread"):
            bus.publish_many([{"type": "status", "to": "hq"}] * 9)
        bus.publish("status")
    rows = store.rows("messages.follow", after=0, limit=100)
    assert len([row for row in rows if row["to_agent"] == "hq"]) == 2
    with open_bus(state.root, agent="hq") as bus:
        bus.ack(bus.poll()[-1]["seq"])
    with open_bus(state.root, agent="a") as bus:
        bus.publish("status", to="hq")


def test_a_batch_larger_than_the_limit(store: Database) -> None:
    """A batch larger than any inbox is sent to an empty one, and nothing after it."""
    pressure = Pressure("a", limits(unread=5))
    pressure.admit(store, "b", 9)
    deliver(store, 9)
    with pytest.raises(BackPressure):
        pressure.admit(store, "b")


def test_answers_reach_a_full_inbox(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two agents whose inboxes are full can still answer each other."""
    monkeypatch.setenv("GITWORKER_MESSAGE_MAX_UNREAD", "3")
    deliver(store, 3, to="hq")
    send(store, "question", to_agent="a", from_agent="hq")
    with open_bus(state.root, agent="a") as bus:
        (question,) = bus.poll()
        with pytest.raises(BackPressure):
            bus.publish("x-answer", to="hq")
        assert bus.reply(question, "x-answer")
