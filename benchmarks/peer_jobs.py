"""Other queues on SQLite at the same job: `python peer_jobs.py NAME FOLDER COUNT`, in their venv.

Puts COUNT messages one by one, then takes and acknowledges them: as many at a time as the queue
offers, or one by one (huey has no acknowledgement). In one process, with WAL and
synchronous=NORMAL; prints the milliseconds of both. Prints `ready` and waits for a line before it
begins.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

TEXT = '{"progress":0.5,"step":"tests"}'
NORMAL = "PRAGMA synchronous = NORMAL"
BATCH = 100  # as many as our own poll returns
Way = tuple[Callable[[], Any], Callable[[int], Any]]


def one_by_one(take: Callable[[], Any]) -> Callable[[int], None]:
    """Return a function that takes a number of messages one by one."""

    def take_all(count: int) -> None:
        for _ in range(count):
            take()

    return take_all


def litequeue(folder: str) -> Way:
    """Return the functions by which litequeue puts one message and takes many."""
    from litequeue import LiteQueue  # type: ignore[import-not-found]

    queue = LiteQueue(f"{folder}/queue.db")
    return lambda: queue.put(TEXT), one_by_one(lambda: queue.done(queue.pop().message_id))


def persist_queue(folder: str) -> Way:
    """Return the functions by which persist-queue puts one message and takes many."""
    from persistqueue import SQLiteAckQueue  # type: ignore[import-not-found]

    queue = SQLiteAckQueue(folder, auto_commit=True)
    for connection in (queue._putter, queue._getter):  # it offers no setting for it
        connection.execute(NORMAL)
    return lambda: queue.put(TEXT), one_by_one(lambda: queue.ack(queue.get()))


def huey(folder: str) -> Way:
    """Return the functions for huey's storage; taking deletes the message."""
    from huey.storage import SqliteStorage  # type: ignore[import-not-found]

    storage = SqliteStorage(filename=f"{folder}/queue.db")
    storage.conn.execute(NORMAL)
    return lambda: storage.enqueue(TEXT.encode()), one_by_one(storage.dequeue)


def honker(folder: str) -> Way:
    """Return the functions by which a queue of honker's puts one message and takes many."""
    import honker  # type: ignore[import-not-found]

    queue = honker.open(f"{folder}/queue.db").queue("bench")

    def take_all(count: int) -> None:
        while count:
            jobs = queue.claim_batch("bench", BATCH)
            queue.ack_batch([job.id for job in jobs], "bench")
            count -= len(jobs)

    return lambda: queue.enqueue(json.loads(TEXT)), take_all


def honker_stream(folder: str) -> Way:
    """Return the functions for a stream of honker's, a log with cursors as ours."""
    import honker

    stream = honker.open(f"{folder}/stream.db").stream("bench")

    async def follow(count: int) -> None:
        async for event in stream.subscribe(consumer="bench", save_every_n=BATCH):
            count -= 1
            if not count:
                stream.save_offset("bench", event.offset)
                return

    return lambda: stream.publish(json.loads(TEXT)), lambda count: asyncio.run(follow(count))


PEERS = {
    "litequeue": litequeue,
    "persist-queue": persist_queue,
    "huey": huey,
    "honker": honker,
    "honker-stream": honker_stream,
}


def main(name: str, folder: str, count: str) -> None:
    """Do the job and print its times."""
    put, take = PEERS[name](folder)
    os.write(1, b"ready\n")
    sys.stdin.readline()
    started = time.perf_counter()
    for _ in range(int(count)):
        put()
    middle = time.perf_counter()
    take(int(count))
    print(json.dumps([(middle - started) * 1000, (time.perf_counter() - middle) * 1000]))


if __name__ == "__main__":
    main(*sys.argv[1:])
