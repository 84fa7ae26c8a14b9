"""Processes that the tests kill: `torturing.py VERB STATE_DIR NAME RECORD ARGUMENTS…`.

publish EACH CONSUMERS   publish messages NAME-0… up to EACH, append each id to RECORD once promised
consume DONE             poll and acknowledge, append each id to RECORD before its acknowledgement,
                         until the file DONE exists and no message is left

A process that is started again continues where its record ends; its last line may be torn.
"""

import os
import select
import sys
from pathlib import Path

from gitworker.bus import Bus, open_bus
from gitworker.bus.limits.back_pressure import BackPressure

ALL_EVERY = 50  # every so many messages are broadcasts
LARGE_EVERY = 500
EXPORT_EVERY = 400
LIMIT = 60


def lines(record: Path) -> list[str]:
    """Return the complete lines of a record; a line torn by a kill does not count."""
    return record.read_text().rpartition("\n")[0].split() if record.exists() else []


def addressee(number: int, consumers: int) -> str | None:
    """Return the addressee of a sender's message; None means a broadcast."""
    return None if number % ALL_EVERY == 0 else f"c{number % consumers}"


def publish(bus: Bus, record: Path, each: str, consumers: str) -> None:
    """Publish the missing messages; the first may be on the bus already, unpromised."""
    file = opened(record)
    for number in range(len(lines(record)), int(each)):
        identity = f"{bus.agent}-{number}"
        payload = {"text": identity * (1000 if number % LARGE_EVERY == 7 else 1)}
        to = addressee(number, int(consumers))
        while True:
            try:
                bus.publish("x-note", payload, to=to, id=identity)
                break
            except BackPressure as pressure:
                select.select([], [], [], pressure.wait_ms / 1000)
        os.write(file, f"{identity}\n".encode())
        if number % EXPORT_EVERY == 0:
            bus.export()


def consume(bus: Bus, record: Path, done: str) -> None:
    """Read and acknowledge; a message without an acknowledgement is read again after a kill."""
    file = opened(record)
    while True:
        is_done = os.path.exists(done)
        messages = bus.poll(LIMIT, wait_s=0 if is_done else 0.1)
        if messages:
            os.write(file, "".join(f"{message['id']}\n" for message in messages).encode())
            bus.ack(messages[-1]["seq"])
        elif is_done:
            return


def opened(record: Path) -> int:
    """Open a record after its last complete line."""
    file = os.open(record, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(file, record.read_bytes().rfind(b"\n") + 1)
    os.lseek(file, 0, os.SEEK_END)
    return file


def main(verb: str, root: str, name: str, record: str, *arguments: str) -> None:
    """Publish or consume."""
    with open_bus(root, agent=name) as bus:
        (publish if verb == "publish" else consume)(bus, Path(record), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
