"""A process that writes to the bus: `writing.py DATABASE JOB ARGUMENTS…`.

create                 wait for a line, create or open the database, print its schema version
publish NAME COUNT     publish messages `NAME-0…`, print each id once it is on disk
hold                   take the gate, print a line, wait for another
begin                  begin a write transaction with one message in it, print, wait
"""

import sys
from itertools import count

from gitworker.bus.publish import Outgoing, publish
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database, open_database, schema_version


def main(database: str, job: str, *arguments: str) -> None:
    """Do one job."""
    if job == "create":
        sys.stdin.readline()
        print(schema_version(create_database(database)), flush=True)
        return
    store = open_database(database)
    if job == "publish":
        _publish(store, *arguments)
        return
    with store.gate() if job == "hold" else store.write() as writer:
        if isinstance(writer, Database):
            publish(writer, Outgoing("x-note", id="unfinished"), now=1)
        print("ready", flush=True)
        sys.stdin.readline()


def _publish(store: Database, name: str, number: str) -> None:
    for index in count() if number == "endless" else range(int(number)):
        with store.write() as writer:
            published = publish(
                writer, Outgoing("x-note", sender=name, id=f"{name}-{index}"), now=1
            )
        print(published, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
