"""Translate the schema of the store from SQLite's dialect to PostgreSQL's. Pure.

The schema exists once, so that a change cannot be forgotten on one side. It keeps to what both
engines have, apart from the differences below.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

# A refusal of a guard, as an error of a class that PostgreSQL itself never raises.
REFUSED_STATE = "GW001"
# With this setting, which our transactions have, a change is one that has passed the guards of a
# machine's replica: it is repeated as it is.
WRITER_SETTING = "gitworker.writer"
_STRING = re.compile(r"'(?:[^']|'')*'")
_HIDDEN = re.compile(r"\x00(\d+)\x00")
_COMMENT = re.compile(r"--[^\n]*")
_PLAIN = (
    (re.compile(r"\bIS NOT\b(?!\s+(?:NULL|DISTINCT))"), "IS DISTINCT FROM"),
    (re.compile(r"\bIS\b(?!\s+(?:NOT|NULL|DISTINCT))"), "IS NOT DISTINCT FROM"),
    (re.compile(r"\bIFNULL\("), "COALESCE("),
    (re.compile(r"\bAS INTEGER\)"), "AS BIGINT)"),
)
_EXTREME = re.compile(r"\b(MAX|MIN)\(")
_TYPES = (
    (re.compile(r"\bINTEGER PRIMARY KEY AUTOINCREMENT\b"), "BIGINT PRIMARY KEY"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),  # ordered by bytes, as in SQLite
    (re.compile(r"\)\s*WITHOUT ROWID;"), ");"),
    (re.compile(r",\s*CHECK \(typeof\(\w+\) = [^)]*\)"), ""),
)  # fmt: skip
_NUMBERED = re.compile(r"CREATE TABLE (\w+) \(\s+(\w+) INTEGER PRIMARY KEY AUTOINCREMENT\b")
_TABLE = re.compile(r"CREATE TABLE (\w+)|CREATE (?:UNIQUE )?INDEX \w+\s+ON (\w+)")
_TRIGGER = re.compile(
    r"CREATE TRIGGER (?:IF NOT EXISTS )?(?P<name>\w+)\s+(?P<time>BEFORE|AFTER)\s+"
    r"(?P<event>INSERT|DELETE|UPDATE(?: OF [\w, ]+?)?)\s+ON (?P<table>\w+)"
    r"(?:\s+WHEN (?P<when>.*?))?\s+BEGIN\n(?P<body>.*?)\nEND;?",
    re.DOTALL,
)
_RAISE = re.compile(
    r"SELECT RAISE\(ABORT, 'gitworker: (?P<why>[^']*)'\)(?:\s+WHERE (?P<when>.*))?$", re.DOTALL
)
_WRITER = re.compile(r"SELECT only_gitworker_inserts_transitions\(\)$")


class Guard(NamedTuple):
    """The function of a trigger in PL/pgSQL, and the statement for the trigger that calls it."""

    function: str
    trigger: str


def schema_of(text: str, is_wanted: Callable[[str], bool]) -> list[str]:
    """Return the statements for the wanted tables of a schema and their indexes, without rows."""
    tables = _COMMENT.sub("", _TRIGGER.sub("", text))
    hidden, strings = _hide(tables)
    hidden = _plain(hidden)
    for pattern, other in _TYPES:
        hidden = pattern.sub(other, hidden)
    made = _show(hidden, strings)
    statements = [one.strip() for one in made.split(";\n") if one.strip()]
    counters = [
        f"INSERT INTO row_numbers VALUES ('{one[1]}', 0)"
        for one in _numbered(text)
        if is_wanted(one[1])
    ]
    made_tables = [one for one in statements if (table := _table_of(one)) and is_wanted(table)]
    return [*made_tables, *counters]


def guards_of(text: str, is_wanted: Callable[[str], bool]) -> dict[str, Guard]:
    """Return the triggers of the wanted tables by name, and those that number rows."""
    made = {
        f"a_number_{one[1]}": _numbering(one[1], one[2])
        for one in _numbered(text)
        if is_wanted(one[1])
    }
    return made | {
        one["name"]: _guard_of(one) for one in _TRIGGER.finditer(text) if is_wanted(one["table"])
    }


def log_triggers_of(keys: Mapping[str, Sequence[str]]) -> dict[str, Guard]:
    """Return the triggers that record the changes of other programs, by the tables' keys.

    `z_` comes last among the triggers.
    """
    made = {}
    for table, key in keys.items():
        name = f"z_log_{table}"
        columns = ", ".join(f"'{one}'" for one in key)
        made[name] = Guard(
            "",
            f"CREATE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE ON {table}"
            f" FOR EACH ROW EXECUTE FUNCTION log_foreign_change({columns})",
        )
    return made


def _table_of(statement: str) -> str | None:
    """Return the table that a statement creates or indexes; None for one that inserts a row."""
    found = _TABLE.match(statement)
    return found and (found[1] or found[2])


def _numbered(text: str) -> list[re.Match[str]]:
    return list(_NUMBERED.finditer(text))


def _numbering(table: str, column: str) -> Guard:
    """Return the trigger that numbers the rows of a table without gaps, as AUTOINCREMENT does.

    A sequence would leave a gap for each transaction that is rolled back. `a_` comes first among
    the triggers, so that the guards see the number.
    """
    name = f"a_number_{table}"
    function = (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n"
        f"IF NEW.{column} IS NULL THEN\n"
        f"UPDATE row_numbers SET last = last + 1 WHERE name = '{table}'"
        f" RETURNING last INTO NEW.{column};\nELSE\n"
        f"UPDATE row_numbers SET last = NEW.{column}"
        f" WHERE name = '{table}' AND last < NEW.{column};\nEND IF;\n"
        "RETURN NEW;\nEND $$"
    )
    trigger = (
        f"CREATE TRIGGER {name} BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()"
    )
    return Guard(function, trigger)


def _guard_of(found: re.Match[str]) -> Guard:
    statements = [_guard_statement(one.strip()) for one in _statements(found["body"])]
    body = "\n".join(statements)
    if found["when"]:
        body = f"IF ({_translated(found['when'])}) THEN\n{body}\nEND IF;"
    row = "OLD" if found["event"] == "DELETE" else "NEW"
    passed = f"IF current_setting('{WRITER_SETTING}', true) = 'on' THEN RETURN {row}; END IF;"
    function = (
        f"CREATE OR REPLACE FUNCTION {found['name']}() RETURNS trigger LANGUAGE plpgsql AS $$\n"
        f"BEGIN\n{passed}\n{body}\nRETURN {row};\nEND $$"
    )
    trigger = (
        f"CREATE TRIGGER {found['name']} {found['time']} {found['event']} ON {found['table']}"
        f" FOR EACH ROW EXECUTE FUNCTION {found['name']}()"
    )
    return Guard(function, trigger)


def _guard_statement(text: str) -> str:
    """Return one statement of a trigger; a refusal becomes a RAISE."""
    refusal = _RAISE.match(text)
    if refusal is not None:
        raised = f"RAISE EXCEPTION '{refusal['why']}' USING ERRCODE = '{REFUSED_STATE}';"
        when = refusal["when"]
        return f"IF ({_translated(when)}) THEN {raised} END IF;" if when else raised
    if _WRITER.match(text):
        why = "only gitworker inserts transitions"
        return f"RAISE EXCEPTION '{why}' USING ERRCODE = '{REFUSED_STATE}';"
    return f"{_translated(text)};"


def _statements(body: str) -> list[str]:
    """Return the statements of a trigger's body; no text in them has a semicolon."""
    return [one for one in body.split(";") if one.strip()]


def _translated(text: str) -> str:
    hidden, strings = _hide(text)
    return _show(_plain(hidden), strings)


def _hide(text: str) -> tuple[str, list[str]]:
    """Return a text with a mark in the place of each string, and the strings."""
    strings = _STRING.findall(text)
    numbers = iter(range(len(strings)))
    return _STRING.sub(lambda _: f"\0{next(numbers)}\0", text), strings


def _show(text: str, strings: list[str]) -> str:
    return _HIDDEN.sub(lambda found: strings[int(found[1])], text)


def _plain(text: str) -> str:
    """Translate a text without strings."""
    for pattern, other in _PLAIN:
        text = pattern.sub(other, text)
    return _EXTREME.sub(lambda found: _extreme(text, found), text)


def _extreme(text: str, found: re.Match[str]) -> str:
    """Return GREATEST or LEAST for MAX or MIN of several values of one row."""
    depth = 0
    for sign in text[found.end() :]:
        if sign == "," and depth == 0:
            return "GREATEST(" if found[1] == "MAX" else "LEAST("
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            break
    return found[0]
