"""The translation of SQLite's schema to PostgreSQL's."""

import pytest

from gitworker.store.postgres.rules_dialect import guards_of, log_triggers_of, schema_of


def every(_: str) -> bool:
    """Want every table."""
    return True


SCHEMA = """\
-- A remark; with a semicolon.
CREATE TABLE notes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL DEFAULT 'an INTEGER;',
    weight REAL,
    CHECK (typeof(seq) = 'integer')
);
CREATE TABLE names (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE INDEX idx_names ON names (name) WHERE name IS NOT 'IS a MAX(1, 2)';
INSERT INTO names VALUES ('a');
CREATE TRIGGER notes_delete BEFORE DELETE ON notes BEGIN
    SELECT RAISE(ABORT, 'gitworker: notes are not deleted');
END;
CREATE TRIGGER notes_update BEFORE UPDATE OF seq, text ON notes WHEN NEW.seq IS NOT OLD.seq BEGIN
    SELECT RAISE(ABORT, 'gitworker: a note keeps its words') WHERE NEW.text IS NOT OLD.text;
    UPDATE names SET name = 'b' WHERE name IS NEW.text;
END;
CREATE TRIGGER notes_writer BEFORE INSERT ON notes BEGIN
    SELECT only_gitworker_inserts_transitions();
END;
"""


GUARD = """\
CREATE TRIGGER one BEFORE UPDATE ON notes WHEN {} BEGIN
    SELECT RAISE(ABORT, 'gitworker: no');
END;
"""


@pytest.mark.parametrize(
    ("condition", "translated"),
    [
        ("NEW.a IS OLD.a", "NEW.a IS NOT DISTINCT FROM OLD.a"),
        ("NEW.a IS NOT OLD.a", "NEW.a IS DISTINCT FROM OLD.a"),
        ("NEW.a IS NULL OR NEW.b IS NOT NULL", "NEW.a IS NULL OR NEW.b IS NOT NULL"),
        ("' IS MAX(1, 2)' IS NOT 'it''s'", "' IS MAX(1, 2)' IS DISTINCT FROM 'it''s'"),
        ("MAX(0, (a + MIN(b))) > MAX(c)", "GREATEST(0, (a + MIN(b))) > MAX(c)"),
        ("MIN(f(a, b)) > MIN(f(a), b)", "MIN(f(a, b)) > LEAST(f(a), b)"),
        ("MAX(", "MAX("),
        ("IFNULL(a, CAST(b AS INTEGER))", "COALESCE(a, CAST(b AS BIGINT))"),
    ],
)
def test_conditions(condition: str, translated: str) -> None:
    """What differs between the dialects is translated, but not within strings."""
    guard = guards_of(GUARD.format(condition), every)["one"]
    assert f"\nIF ({translated}) THEN\nRAISE EXCEPTION 'no'" in guard.function


def test_tables() -> None:
    """Tables get the types of PostgreSQL, an order by bytes, a counter instead of a sequence."""
    assert schema_of(SCHEMA, every) == [
        "CREATE TABLE notes (\n    seq BIGINT PRIMARY KEY,\n"
        "    text TEXT COLLATE \"C\" NOT NULL DEFAULT 'an INTEGER;',\n"
        "    weight DOUBLE PRECISION\n)",
        'CREATE TABLE names (\n    name TEXT COLLATE "C" PRIMARY KEY\n)',
        "CREATE INDEX idx_names ON names (name) WHERE name IS DISTINCT FROM 'IS a MAX(1, 2)'",
        "INSERT INTO row_numbers VALUES ('notes', 0)",
    ]


def test_only_wanted_tables() -> None:
    """A table that is not wanted leaves no index, no counter and no trigger."""
    assert [one[:18] for one in schema_of(SCHEMA, "names".__eq__)] == [
        "CREATE TABLE names", "CREATE INDEX idx_n",
    ]  # fmt: skip
    assert guards_of(SCHEMA, "names".__eq__) == {}


def test_guards() -> None:
    """A trigger becomes a function that raises our error, and a trigger for each row."""
    guards = guards_of(SCHEMA, every)
    assert list(guards) == ["a_number_notes", "notes_delete", "notes_update", "notes_writer"]
    assert "SET last = last + 1 WHERE name = 'notes'" in guards["a_number_notes"].function
    deletes = guards["notes_delete"]
    assert "RAISE EXCEPTION 'notes are not deleted' USING ERRCODE = 'GW001';" in deletes.function
    assert "RETURN OLD;" in deletes.function
    assert deletes.trigger.startswith("CREATE TRIGGER notes_delete BEFORE DELETE ON notes FOR EACH")
    changes = guards["notes_update"]
    assert changes.function.partition("BEGIN\n")[2] == (
        "IF current_setting('gitworker.writer', true) = 'on' THEN RETURN NEW; END IF;\n"
        "IF (NEW.seq IS DISTINCT FROM OLD.seq) THEN\n"
        "IF (NEW.text IS DISTINCT FROM OLD.text) THEN"
        " RAISE EXCEPTION 'a note keeps its words' USING ERRCODE = 'GW001'; END IF;\n"
        "UPDATE names SET name = 'b' WHERE name IS NOT DISTINCT FROM NEW.text;\n"
        "END IF;\nRETURN NEW;\nEND $$"
    )
    assert " BEFORE UPDATE OF seq, text ON notes " in changes.trigger
    assert "only gitworker inserts transitions" in guards["notes_writer"].function


def test_the_log_of_other_programs() -> None:
    """The last trigger of each table hands the columns of its key to the log."""
    (guard,) = log_triggers_of({"deliveries": ["agent", "seq"]}).values()
    assert guard.function == ""
    assert guard.trigger == (
        "CREATE TRIGGER z_log_deliveries AFTER INSERT OR UPDATE OR DELETE ON deliveries"
        " FOR EACH ROW EXECUTE FUNCTION log_foreign_change('agent', 'seq')"
    )
