"""Processes that are there to be killed: `torturing.py VERB STATE_DIR NAME RECORD ARGUMENTS…`.

publish EACH CONSUMERS   publish messages NAME-0… up to EACH, each id onto RECORD once promised
consume DONE             poll and acknowledge, each id onto RECORD before its acknowledgement, until
                         the file DONE is there and nothing is left

Started again, both go on where their record ends. A record's last line may be torn.
"""

import os
import select
import sys
from pathlib import Path

from gitworker.bus import Bus, open_bus
from gitworker.bus.limits.back_pressure import BackPressure

ALL_EVERY = 50  # every so many messages are for everybody
LARGE_EVERY = 500
EXPORT_EVERY = 400
LIMIT = 60


def lines(record: Path) -> list[str]:
    """Return the whole lines of a record; what a kill tore off never counted."""
    return record.read_text().rpartition("\n")[0].split() if record.exists() else []


def addressee(number: int, consumers: int) -> str | None:
    """Return whom a sender's message is for; None is everybody."""
    return None if number % ALL_EVERY == 0 else f"c{number % consumers}"


def publish(bus: Bus, record: Path, each: str, consumers: str) -> None:
    """Publish what is still missing; the first one may be there already, unpromised."""
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
    """Read and acknowledge; what a kill kept from being acknowledged comes again."""
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
    """Open a record behind its last whole line."""
    file = os.open(record, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(file, record.read_bytes().rfind(b"\n") + 1)
    os.lseek(file, 0, os.SEEK_END)
    return file


def main(verb: str, root: str, name: str, record: str, *arguments: str) -> None:
    """Do one job."""
    with open_bus(root, agent=name) as bus:
        (publish if verb == "publish" else consume)(bus, Path(record), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
