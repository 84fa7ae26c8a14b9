"""The only reader of time: the wall clock in milliseconds UTC, CLOCK_MONOTONIC, the boot id.

Ages on one host are differences of CLOCK_MONOTONIC, which stops while the machine sleeps; with
CLOCK_BOOTTIME every sleep of a laptop would make its agents DEAD. Two monotonic stamps can be
compared only if their boot ids are equal.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from datetime import datetime

DAY_MS = 86_400_000


def now_ms() -> int:
    """Return the wall clock in integer milliseconds since the epoch, UTC.

    `GITWORKER_CLOCK_MS` pins it (tests and reproducible examples).
    """
    pinned = os.environ.get("GITWORKER_CLOCK_MS")
    if pinned:
        return int(pinned)
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return CLOCK_MONOTONIC in integer milliseconds."""
    return time.monotonic_ns() // 1_000_000


def boot_id() -> str:
    """Return an id that changes with every boot; empty if the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().decode().strip()
    except OSError:
        return ""


def host_name() -> str:
    """Return this machine's name; pids and monotonic stamps are valid only on one machine."""
    return os.uname().nodename


def sleep(seconds: float) -> None:
    """Block for `seconds`."""
    time.sleep(seconds)


def iso_utc(ts_ms: int) -> str:
    """Format epoch milliseconds as ISO 8601 with milliseconds and `Z`, as in messages."""
    seconds, milliseconds = divmod(ts_ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03d}Z"


def local_seconds(ts_ms: int) -> str:
    """Format epoch milliseconds as date and time of the local time zone, for people."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ts_ms // 1000))


def local_minutes(ts_ms: int, now: int) -> str:
    """Format epoch milliseconds for people: hours and minutes, with the date on another day."""
    text, today = local_seconds(ts_ms)[:-3], local_seconds(now)
    return text[11:] if text[:10] == today[:10] else text


def local_hours(since_ms: int, until_ms: int) -> list[int]:
    """Return the times after one and before another at which an hour of the local zone begins."""
    quarter = 15 * 60_000  # zones differ by quarters of an hour
    first = since_ms // quarter * quarter + quarter
    return [one for one in range(first, until_ms, quarter) if local_seconds(one)[14:16] == "00"]


def local_datetime(ts_ms: int) -> datetime:
    """Return epoch milliseconds as a datetime of the local time zone, without a zone."""
    from datetime import datetime  # 3 ms, for cron expressions only

    return datetime.fromtimestamp(ts_ms / 1000)


def find_time_ms(text: str) -> int | None:
    """Return the epoch milliseconds of a date, with a time or without; None for another text.

    The zone is the local one, or UTC with `Z`.
    """
    is_utc = text.endswith("Z")
    moment = text.removesuffix("Z").replace(" ", "T", 1).partition(".")[0]
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"):
        try:
            found = time.strptime(moment, form)
            if is_utc:
                from calendar import timegm  # with datetime 5 ms; hot verbs import this module

                return timegm(found) * 1000
            return int(time.mktime(found)) * 1000
        except (ValueError, OverflowError):
            continue
    return None


def find_next_ms(text: str, now: int) -> int | None:
    """Return the epoch milliseconds of a local time such as `3pm` or `Mar 17th, 2030 5:46 PM`.

    Without a day it is the next such time after `now`, without a year one of this year; None for
    another text.
    """
    words = "".join(text.upper().split(","))
    for ordinal in ("ST ", "ND ", "RD ", "TH "):
        words = words.replace(ordinal, " ")
    words = words.replace("AM", " AM").replace("PM", " PM")
    today = time.strftime("%b %d %Y", time.localtime(now // 1000)).upper()
    dated = len(words.split()) > 2
    if not dated:
        words = f"{today} {words}"
    elif len(words.split()) < 5:
        month, day, *rest = words.split()
        words = " ".join([month, day, today[-4:], *rest])
    for form in ("%b %d %Y %I:%M %p", "%b %d %Y %I %p"):
        try:
            found = int(time.mktime(time.strptime(" ".join(words.split()), form))) * 1000
        except (ValueError, OverflowError):
            continue
        return found + DAY_MS if found <= now and not dated else found
    return None


def iso_utc_seconds(ts_ms: int) -> str:
    """Format epoch milliseconds as ISO 8601 with whole seconds and `Z`, as in state files."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ts_ms // 1000))
