"""Reading time."""

import re
import time

import pytest

from gitworker import clock


@pytest.mark.parametrize(
    ("text", "ts_ms"),
    [
        ("1970-01-02", 86_400_000),
        ("1970-01-01 00:01", 60_000),
        ("1970-01-01T00:01:02", 62_000),
        ("1970-01-01T00:01:02Z", 62_000),
        ("1970-01-01T00:01:02.345Z", 62_000),
        ("1970-13-01", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_find_time(text: str, ts_ms: int | None) -> None:
    """A date is read with a time or without, in the local zone or UTC."""
    assert clock.find_time_ms(text) == ts_ms


def test_local_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The full hours within a span are those of the local zone."""
    hour = 3_600_000
    assert clock.local_hours(0, 3 * hour) == [hour, 2 * hour]
    assert clock.local_hours(1, hour) == []
    monkeypatch.setenv("TZ", "XYZ-5:45")
    time.tzset()
    try:
        assert clock.local_hours(0, hour) == [hour // 4]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_local_time() -> None:
    """People get the time of their zone, which is UTC in the tests."""
    assert clock.local_seconds(62_345) == "1970-01-01 00:01:02"


def test_time_of_day() -> None:
    """People get hours and minutes, with the date on another day."""
    assert clock.local_minutes(3_720_000, 62_000) == "01:02"
    assert clock.local_minutes(86_400_000 + 3_720_000, 62_000) == "1970-01-02 01:02"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3:05 PM", "1970-01-02 15:05:00"),
        ("3pm", "1970-01-02 15:00:00"),
        ("9am", "1970-01-03 09:00:00"),
        ("Mar 17th, 2030 5:46 PM", "2030-03-17 17:46:00"),
        ("Nov 25, 3pm", "1970-11-25 15:00:00"),
        ("Foo 25, 3pm", None),
        ("soon", None),
    ],
)
def test_find_next(text: str, expected: str | None) -> None:
    """A time of day is the next one; a day counts in this year, or in its own."""
    found = clock.find_next_ms(text, 129_600_000)  # noon of 2 January
    assert (None if found is None else clock.local_seconds(found)) == expected


def test_the_wall_clock_can_be_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """GITWORKER_CLOCK_MS pins the wall clock, and nothing else."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", "42")
    assert clock.now_ms() == 42
    assert clock.monotonic_ms() != 42
    monkeypatch.delenv("GITWORKER_CLOCK_MS")
    assert clock.now_ms() > 1_700_000_000_000


def test_the_monotonic_clock_never_runs_back() -> None:
    """Later readings are never smaller, across a pause too."""
    first = clock.monotonic_ms()
    assert clock.monotonic_ms() >= first


def test_host_and_boot() -> None:
    """This machine has a name, and one boot id as long as it runs."""
    assert clock.host_name()
    assert clock.boot_id() == clock.boot_id()
    assert re.fullmatch(r"[0-9a-f-]{36}|", clock.boot_id())


@pytest.mark.parametrize(
    ("ts_ms", "long", "short"),
    [
        (0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00Z"),
        (1_768_053_600_007, "2026-01-10T14:00:00.007Z", "2026-01-10T14:00:00Z"),
        (1_709_164_800_999, "2024-02-29T00:00:00.999Z", "2024-02-29T00:00:00Z"),
    ],
)
def test_formats(ts_ms: int, long: str, short: str) -> None:
    """Times are written in both documented formats, in UTC."""
    assert clock.iso_utc(ts_ms) == long
    assert clock.iso_utc_seconds(ts_ms) == short
