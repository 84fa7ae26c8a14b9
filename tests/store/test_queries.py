"""The named queries: each name in the code exists, compiles, and takes named parameters."""

import re
from pathlib import Path

import apsw
import pytest

from gitworker.store.messages.mailbox import move_cursor, unread_messages
from gitworker.store.sqlite import queries
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.queries import load_queries, query_text
from tests.store.support import ROOT, send

FOLDER = Path(queries.__file__).parent
ROOMS = sorted(path.stem for path in FOLDER.glob("*.sql"))
NAMES = sorted(f"{room}.{name}" for room in ROOMS for name in load_queries(room))
USED = re.compile(r'"((?:' + "|".join(ROOMS) + r')\.[a-z_0-9]+)"')


@pytest.mark.parametrize("name", NAMES)
def test_every_query_compiles(store: Database, name: str) -> None:
    """A query is one statement, valid on our schema, with named parameters only."""
    text = query_text(name)
    parameters = set(re.findall(r":([a-z_0-9]+)", _without_texts(text)))
    assert "?" not in _without_texts(text)
    plan = text if text.startswith("PRAGMA") else f"EXPLAIN {text}"
    store.connection.execute(plan, dict.fromkeys(parameters, 1)).fetchall()
    assert apsw.complete(text)
    statements = [part for part in _without_texts(text).split(";") if part.strip()]
    assert len(statements) == 1


@pytest.mark.parametrize("room", ROOMS)
def test_every_query_has_its_purpose(room: str) -> None:
    """A block begins with its name and one line of purpose, and names are unique."""
    heads = re.findall(r"^-- name: (.*)$", (FOLDER / f"{room}.sql").read_text(), re.MULTILINE)
    assert heads
    assert all(re.fullmatch(r"[a-z_0-9]+ — \S.*", head) for head in heads)
    assert len({head.split()[0] for head in heads}) == len(heads)


def test_every_query_that_is_named_exists() -> None:
    """No module names a missing query."""
    named = {
        (path.name, name)
        for path in (ROOT / "gitworker").rglob("*.py")
        for name in USED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50, "the test saw hardly any query: is its pattern right?"
    unknown = {(file, name) for file, name in named if name not in NAMES and not is_module(name)}
    files = {"hooks.json", "search.db", "transitions.jsonl"}
    files |= {path.name for path in (ROOT / "gitworker" / "web" / "templates").iterdir()}
    assert {name for _, name in unknown} <= files


def is_module(name: str) -> bool:
    """Return whether a name is that of a module, such as those in the table of renderers."""
    return (ROOT / "gitworker" / f"{name.replace('.', '/')}.py").exists()


def test_every_query_is_used() -> None:
    """No query is left after its last use."""
    named = {
        name
        for path in (ROOT / "gitworker").rglob("*.py")
        for name in USED.findall(path.read_text(encoding="utf-8"))
    }
    assert set(NAMES) - named == set()


def test_queries_name_their_columns() -> None:
    """No query selects `*`, so that columns of foreign programs do not reach our rows."""
    stars = [name for name in NAMES if re.search(r"SELECT\s+\*|\.\*", query_text(name))]
    assert stars == []


@pytest.mark.parametrize("name", ["messages.unread", "messages.unread_json"])
def test_polling_merges_two_index_ranges(store: Database, name: str) -> None:
    """Polling stays flat: two ranges of the index on (to_agent, seq), merged, nothing sorted."""
    values: dict[str, str | int | None] = {
        "agent": "a", "limit": 5, "mine": 0, "type": None, "sender": None,
    }  # fmt: skip
    plan = [
        row["detail"] for row in store.execute("EXPLAIN QUERY PLAN " + query_text(name), values)
    ]
    assert "MERGE (UNION ALL)" in plan
    searches = [detail for detail in plan if detail.startswith("SEARCH messages")]
    assert len(searches) == 2
    assert all("idx_messages_to_seq (to_agent=? AND seq>?)" in search for search in searches)
    assert not [detail for detail in plan if "TEMP B-TREE" in detail]


def test_answers_are_found_by_indexes(store: Database) -> None:
    """The answers to each unread message are found without reading all messages to its sender."""
    asked = "EXPLAIN QUERY PLAN " + query_text("messages.unanswered")
    plan = [str(row["detail"]) for row in store.execute(asked, {"agent": "hq", "limit": 9})]
    assert [one for one in plan if one.startswith("SEARCH answer")] == [
        "SEARCH answer USING INDEX idx_messages_correlation_seq (correlation_id=? AND seq>?)",
        "SEARCH answer USING INDEX idx_messages_in_reply_to (in_reply_to=?)",
    ]


def test_the_landings_on_a_target_are_an_index_range(store: Database) -> None:
    """The landings on a workstream's branch are found without reading those on other targets."""
    asked = "EXPLAIN QUERY PLAN " + query_text("landings.on_target")
    (row,) = store.execute(asked, {"target": "refs/heads/ws/login"})
    assert row["detail"] == "SEARCH landings USING INDEX idx_landings_target (target_ref=?)"


def test_polling_returns_own_messages_and_broadcasts(store: Database) -> None:
    """A poll returns messages to the agent or to all, after the cursor, oldest first, up to N."""
    for number, to in enumerate(["a", None, "b", "a", None, "b", "a"]):
        send(store, str(number), to_agent=to)
    with store.write() as writer:
        move_cursor(writer, "a", 1, now=1)
    ids = [message.id for message in unread_messages(store, "a", limit=3)]
    assert ids == ["1", "3", "4"]


def test_unknown_names_are_errors(store: Database) -> None:
    """A missing query, or a missing parameter, is a KeyError at once."""
    with pytest.raises(KeyError):
        store.rows("messages.no_such_query")
    with pytest.raises(KeyError):
        store.rows("messages.by_id")


def _without_texts(sql: str) -> str:
    """Return SQL without its comments and literal texts."""
    return re.sub(r"--[^\n]*|'[^']*'", "", sql)
