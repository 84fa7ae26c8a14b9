"""The branch that work lands on, as stored: found or chosen once, so that nothing redirects it."""

from gitworker.store.api import Store


def find_target(store: Store) -> str | None:
    """Return the target's short name, None before one is recorded."""
    with store.read() as reader:
        row = reader.row("target.recorded")
    return None if row is None else str(row["name"])


def record_target(store: Store, name: str) -> None:
    """Record the first target of a repository; one that is recorded already stays."""
    store.write_one("target.record_first", name=name)


def change_target(store: Store, name: str, *, seen: str) -> bool:
    """Record another target in the place of `seen`; False where it is not `seen` any more."""
    return store.write_one("target.change", name=name, seen=seen) == 1
