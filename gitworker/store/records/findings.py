"""The input of `doctor` and `fsck`: damage, guards, rows that differ from the log, commits."""

from typing import NamedTuple

from gitworker.store.api import Reader


class BrokenChain(NamedTuple):
    """A transition that does not begin in the state in which the one before it ended."""

    machine: str
    entity_id: str
    version: int
    from_state: str
    before_state: str | None
    before_version: int


class EditedRow(NamedTuple):
    """An entity whose row differs from its last transition."""

    entity: str
    state: str
    version: int
    logged_state: str
    logged_version: int


def find_damage(reader: Reader) -> list[str]:
    """Return what the database finds wrong with its file."""
    found = [str(next(iter(row.values()))) for row in reader.rows("observe.quick_check")]
    return [text for text in found if text != "ok"]


def find_schema_version(reader: Reader) -> str | None:
    """Return the version of our schema, or None."""
    return _text(reader, "observe.schema_version", "version")


def find_engine_version(reader: Reader) -> str | None:
    """Return the version of the database's library, or None."""
    return _text(reader, "observe.sqlite_version", "version")


def find_journal_mode(reader: Reader) -> str | None:
    """Return how the database keeps its own journal, or None."""
    return _text(reader, "observe.journal_mode", "journal_mode")


def present_guards(reader: Reader) -> dict[str, str]:
    """Return the texts of the existing triggers by name."""
    return {str(row["name"]): str(row["sql"]) for row in reader.rows("fsck.guards")}


def broken_chains(reader: Reader) -> list[BrokenChain]:
    """Return the transitions that do not follow the one before them."""
    return [BrokenChain(**row) for row in reader.rows("fsck.broken_chains")]


def edited_rows(reader: Reader) -> dict[str, list[EditedRow]]:
    """Return the rows that differ from the log of transitions, by machine."""
    return {
        machine: [EditedRow(**row) for row in reader.rows(query)]
        for machine, query in (("worker", "fsck.wrong_workers"), ("task", "fsck.wrong_tasks"))
    }


def named_payloads(reader: Reader) -> dict[str, str]:
    """Return the names of large payloads, each with the message that names it."""
    return {str(row["ref"]): str(row["place"]) for row in reader.rows("fsck.blob_refs")}


def _text(reader: Reader, query: str, column: str) -> str | None:
    row = reader.row(query)
    return None if row is None else str(row[column])
