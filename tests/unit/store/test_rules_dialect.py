"""The translation of SQLite's SQL to PostgreSQL's."""

import pytest

from gitworker.store.postgres.rules_dialect import guards_of, query_of, schema_of


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("SELECT a FROM t WHERE b = :some_name;", "SELECT a FROM t WHERE b = %(some_name)s"),
        ("SELECT a IS :b", "SELECT a IS NOT DISTINCT FROM %(b)s"),
        ("SELECT a IS NOT b.c", "SELECT a IS DISTINCT FROM b.c"),
        ("SELECT a IS NULL, a IS NOT NULL", "SELECT a IS NULL, a IS NOT NULL"),
        ("SELECT ' IS :a MAX(1, 2) 100%'", "SELECT ' IS :a MAX(1, 2) 100%%'"),
        ("SELECT 'it''s' IS NOT 'a'", "SELECT 'it''s' IS DISTINCT FROM 'a'"),
        ("SELECT 5 % 2  -- a remark: MAX(1, 2)\n", "SELECT 5 %% 2"),
        ("SELECT MAX(0, (a + MIN(b))), MAX(c)", "SELECT GREATEST(0, (a + MIN(b))), MAX(c)"),
        ("SELECT MIN(f(a, b)), MIN(f(a), b)", "SELECT MIN(f(a, b)), LEAST(f(a), b)"),
        ("SELECT MAX(", "SELECT MAX("),
        ("SELECT IFNULL(a, CAST(b AS INTEGER))", "SELECT COALESCE(a, CAST(b AS BIGINT))"),
        ("SELECT value FROM json_each(:a)", "SELECT value FROM each_json(%(a)s)"),
        ("SELECT 1 FROM t INDEXED BY idx_t WHERE a", "SELECT 1 FROM t  WHERE a"),
        ("FROM a CROSS JOIN b AS c\n    ON c.x = 1", "FROM a JOIN b AS c ON c.x = 1"),
        ("FROM a CROSS JOIN b", "FROM a CROSS JOIN b"),
        ("LIMIT :n", "LIMIT NULLIF(GREATEST(%(n)s, -1), -1)"),
        ("LIMIT 2 * :n", "LIMIT NULLIF(GREATEST(2 * %(n)s, -1), -1)"),
        ("LIMIT 1", "LIMIT 1"),
    ],
)  # fmt: skip
def test_queries(text: str, translated: str) -> None:
    """What differs between the dialects is translated, but not within strings."""
    assert query_of(text) == translated


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


def test_tables() -> None:
    """Tables get the types of PostgreSQL, an order by bytes, a counter instead of a sequence."""
    assert schema_of(SCHEMA) == [
        "CREATE TABLE notes (\n    seq BIGINT PRIMARY KEY,\n"
        "    text TEXT COLLATE \"C\" NOT NULL DEFAULT 'an INTEGER;',\n"
        "    weight DOUBLE PRECISION\n)",
        'CREATE TABLE names (\n    name TEXT COLLATE "C" PRIMARY KEY\n)',
        "INSERT INTO names VALUES ('a')",
        "INSERT INTO row_numbers VALUES ('notes', 0)",
    ]


def test_guards() -> None:
    """A trigger becomes a function that raises our error, and a trigger for each row."""
    guards = guards_of(SCHEMA)
    assert list(guards) == ["a_number_notes", "notes_delete", "notes_update", "notes_writer"]
    assert "SET last = last + 1 WHERE name = 'notes'" in guards["a_number_notes"].function
    deletes = guards["notes_delete"]
    assert "RAISE EXCEPTION 'notes are not deleted' USING ERRCODE = 'GW001';" in deletes.function
    assert "RETURN OLD;" in deletes.function
    assert deletes.trigger.startswith("CREATE TRIGGER notes_delete BEFORE DELETE ON notes FOR EACH")
    changes = guards["notes_update"]
    assert changes.function.partition("BEGIN\n")[2] == (
        "IF (NEW.seq IS DISTINCT FROM OLD.seq) THEN\n"
        "IF (NEW.text IS DISTINCT FROM OLD.text) THEN"
        " RAISE EXCEPTION 'a note keeps its words' USING ERRCODE = 'GW001'; END IF;\n"
        "UPDATE names SET name = 'b' WHERE name IS NOT DISTINCT FROM NEW.text;\n"
        "END IF;\nRETURN NEW;\nEND $$"
    )
    assert " BEFORE UPDATE OF seq, text ON notes " in changes.trigger
    assert "current_setting('gitworker.writer', true)" in guards["notes_writer"].function
