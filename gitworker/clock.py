"""The only reader of time: wall clock in milliseconds UTC, CLOCK_MONOTONIC, the boot's id.

Ages on one host are differences of CLOCK_MONOTONIC, which stands still while a machine sleeps
(BUS-FACTS: with CLOCK_BOOTTIME a laptop's sleep would kill every agent); the boot id tells
whether two monotonic stamps can be compared at all.
"""

import os
import time


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
    """Return an id that changes with every boot; empty where the system tells none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def host_name() -> str:
    """Return this machine's name, within which pids and monotonic stamps mean something."""
    return os.uname().nodename


def sleep(seconds: float) -> None:
    """Block for `seconds`."""
    time.sleep(seconds)


def iso_utc(ts_ms: int) -> str:
    """Format epoch milliseconds as ISO 8601 with milliseconds and `Z` (seed 2's `ts`)."""
    seconds, milliseconds = divmod(ts_ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03d}Z"


def iso_utc_seconds(ts_ms: int) -> str:
    """Format epoch milliseconds as ISO 8601 with whole seconds and `Z` (seed 1's state file)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ts_ms // 1000))
