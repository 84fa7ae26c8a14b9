"""Other queues on SQLite at the same job: `python peer_jobs.py NAME FOLDER COUNT`, in their venv.

Puts COUNT messages one by one, then takes and acknowledges them one by one (huey has no
acknowledgement), in one process, with WAL and synchronous=NORMAL; prints the milliseconds of both.
Says `ready` and waits for a line before it begins.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

TEXT = '{"progress":0.5,"step":"tests"}'
NORMAL = "PRAGMA synchronous = NORMAL"
Way = tuple[Callable[[], Any], Callable[[], Any]]


def litequeue(folder: str) -> Way:
    """Return how litequeue puts and takes one message."""
    from litequeue import LiteQueue  # type: ignore[import-not-found]

    queue = LiteQueue(f"{folder}/queue.db")
    return lambda: queue.put(TEXT), lambda: queue.done(queue.pop().message_id)


def persist_queue(folder: str) -> Way:
    """Return how persist-queue puts and takes one message."""
    from persistqueue import SQLiteAckQueue  # type: ignore[import-not-found]

    queue = SQLiteAckQueue(folder, auto_commit=True)
    for connection in (queue._putter, queue._getter):  # it offers no setting for it
        connection.execute(NORMAL)
    return lambda: queue.put(TEXT), lambda: queue.ack(queue.get())


def huey(folder: str) -> Way:
    """Return how huey's storage puts and takes one message; taking deletes it."""
    from huey.storage import SqliteStorage  # type: ignore[import-not-found]

    storage = SqliteStorage(filename=f"{folder}/queue.db")
    storage.conn.execute(NORMAL)
    return lambda: storage.enqueue(TEXT.encode()), storage.dequeue


def honker(folder: str) -> Way:
    """Return how a queue of honker's puts and takes one message."""
    import honker  # type: ignore[import-not-found]

    queue = honker.open(f"{folder}/queue.db").queue("bench")
    put = {"progress": 0.5, "step": "tests"}
    return lambda: queue.enqueue(put), lambda: queue.claim_one("bench").ack()


PEERS = {"litequeue": litequeue, "persist-queue": persist_queue, "huey": huey, "honker": honker}


def main(name: str, folder: str, count: str) -> None:
    """Do the job and print what it took."""
    put, take = PEERS[name](folder)
    os.write(1, b"ready\n")
    sys.stdin.readline()
    started = time.perf_counter()
    for _ in range(int(count)):
        put()
    middle = time.perf_counter()
    for _ in range(int(count)):
        take()
    print(json.dumps([(middle - started) * 1000, (time.perf_counter() - middle) * 1000]))


if __name__ == "__main__":
    main(*sys.argv[1:])
