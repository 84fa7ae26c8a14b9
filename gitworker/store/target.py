"""The branch that work lands on, as stored. It is found or chosen once and never redirected."""

from gitworker.store.api import Store


def find_target(store: Store) -> str | None:
    """Return the target's short name; None if no target is recorded."""
    with store.read() as reader:
        row = reader.row("target.recorded")
    return None if row is None else str(row["name"])


def record_target(store: Store, name: str) -> None:
    """Record the first target of a repository; a recorded one stays."""
    store.write_one("target.record_first", name=name)


def change_target(store: Store, name: str, *, seen: str) -> bool:
    """Record another target; return False if the recorded one is no longer `seen`."""
    return store.write_one("target.change", name=name, seen=seen) == 1
