"""A process that contends for names: `contending.py STATE_DIR HOLDER ATTEMPTS WITNESSES`.

While it has a name it locks the name's file in WITNESSES, which all machines see, and appends the
epoch to it. It prints how often it had a name.
"""

import fcntl
import os
import random
import sys

from gitworker.claims import Claims
from gitworker.errors import Conflict
from gitworker.paths import StatePaths
from gitworker.store.backend import open_store

NAMES = ("lock:one", "lock:two", "lock:three")
TTL_S = 3600.0


def contend(state: str, holder: str, attempts: str, witnesses: str) -> int:
    """Try to take a name, again and again; return how often it was free."""
    chance, taken = random.Random(holder), 0
    claims = Claims(open_store(f"{state}/bus.db"), StatePaths(state), holder=holder)
    for _ in range(int(attempts)):
        name = chance.choice(NAMES)
        try:
            epoch = claims.take(name, ttl_s=TTL_S).epoch
        except Conflict as error:
            if error.code != "claimed":
                raise
            continue
        taken += 1
        witness(f"{witnesses}/{name}", epoch)
        claims.release(name, epoch=epoch)
    return taken


def witness(path: str, epoch: int) -> None:
    """Append an epoch to a file that nobody else may have now."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(file, f"{epoch}\n".encode())
    finally:
        os.close(file)


if __name__ == "__main__":
    print(contend(*sys.argv[1:]))
