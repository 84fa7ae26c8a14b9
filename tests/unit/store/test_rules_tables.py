"""Which tables each machine of a fleet has for itself."""

import pytest

from gitworker.store.fleet.rules_tables import LOCAL_TABLES, OWN_COLUMNS, is_shared


@pytest.mark.parametrize(
    ("table", "shared"),
    [
        ("messages", True), ("tasks", True), ("task_claims", True), ("machines", True),
        ("meta", False), ("operations", False), ("fleet_outbox", False), ("heartbeats", False),
        ("sqlite_sequence", False), ("sqlite_stat1", False),
    ],
)  # fmt: skip
def test_shared_tables(table: str, shared: bool) -> None:
    """Work and messages are shared; the journal, positions and SQLite's own tables are not."""
    assert is_shared(table) is shared


def test_own_columns_are_of_shared_tables() -> None:
    """A column of a machine's own only needs its name in a table that is shared."""
    assert all(is_shared(table) for table in OWN_COLUMNS)
    assert not LOCAL_TABLES & OWN_COLUMNS.keys()
