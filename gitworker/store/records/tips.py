"""Branch tips as stored: the last published one of each ref, our own rewrites, and due radars."""

from gitworker.model.ids import Oid, Ref
from gitworker.store.api import Reader, Writer


def all_tips(reader: Reader) -> dict[Ref, Oid]:
    """Return the last published tip of every ref."""
    return {Ref(row["ref"]): Oid(row["oid"]) for row in reader.rows("tips.all")}


def find_tip(reader: Reader, ref: Ref) -> Oid | None:
    """Return the last published tip of a ref, or None."""
    row = reader.row("tips.of_ref", ref=ref)
    return None if row is None else Oid(row["oid"])


def set_tip(writer: Writer, ref: Ref, oid: Oid, *, now: int) -> None:
    """Record the published tip of a ref."""
    writer.run("tips.set", ref=ref, oid=oid, now=now)


def move_tip(writer: Writer, ref: Ref, *, old: Oid, new: Oid, now: int) -> bool:
    """Record another published tip; return False if the recorded one is not `old`."""
    return writer.run("tips.move", ref=ref, old=old, new=new, now=now) > 0


def forget_tips(writer: Writer, ref: Ref) -> None:
    """Delete the records of a ref that does not exist any more."""
    writer.run("tips.forget", ref=ref)
    writer.run("tips.forget_rewrites", ref=ref)


def add_rewrite(writer: Writer, ref: Ref, *, new: Oid, old: Oid, now: int) -> None:
    """Record a tip that we are about to create, and the one that it replaces."""
    writer.run("tips.add_rewrite", ref=ref, new_oid=new, old_oid=old, now=now)


def rewrites_of(reader: Reader, ref: Ref) -> list[tuple[Oid, Oid]]:
    """Return the tips of a ref that we created, each after the one that it replaced."""
    rows = reader.rows("tips.rewrites_of", ref=ref)
    return [(Oid(row["old_oid"]), Oid(row["new_oid"])) for row in rows]


def due_refs(reader: Reader, now: int) -> list[Ref]:
    """Return the refs that the radar has to check."""
    return [Ref(row["ref"]) for row in reader.rows("tips.due", now=now)]


def set_due(writer: Writer, ref: Ref, *, now: int) -> None:
    """Record that the radar has to check a ref."""
    writer.run("tips.set_due", ref=ref, now=now)


def set_due_if_moved(writer: Writer, ref: Ref, oid: Oid, *, now: int) -> None:
    """Record the same if the published tip of the ref is not `oid`."""
    writer.run("tips.set_due_if_moved", ref=ref, oid=oid, now=now)
