"""Search messages by their words, newest first, in the index beside the database.

Publishing does not touch the index. A search first indexes the new messages; once there is an
index, the drain does so in the background. Each batch is one transaction that also stores the
position, so a kill leaves no partial batch.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gitworker.bus.blobs import find_blob
from gitworker.bus.following.message_fields import message_fields
from gitworker.bus.search.rules_search import match_expression, plain_text, searchable, snippet
from gitworker.errors import Unavailable
from gitworker.paths import StatePaths
from gitworker.store.api import Reader, SearchIndex, Store
from gitworker.store.backend import open_search_index
from gitworker.store.messages.log_positions import count_after, ever_last_seq, first_seq
from gitworker.store.messages.mailbox import StoredMessage, find_message_at, messages_after

BATCH = 500
LIMIT = 20
BACKGROUND_BATCHES = 40


class SearchResult(NamedTuple):
    """A message and the part of it around the first word found."""

    message: dict[str, Any]
    snippet: str


class _Query(NamedTuple):
    """The words as typed, their FTS5 expression, and the number of results."""

    words: Sequence[str]
    expression: str
    limit: int


def search(
    store: Store,
    paths: StatePaths,
    words: Sequence[str],
    *,
    limit: int = LIMIT,
    announce: Callable[[int], None] = lambda _: None,
) -> list[SearchResult]:
    """Return the newest messages that contain all the words, newest first.

    A word that ends with `*` matches every word with that beginning; an argument of several words
    is a phrase. `announce` gets the number of messages to index first. Raises Invalid if there is
    no word.
    """
    query = _Query(words, match_expression(words), limit)
    if store.is_read_only:
        from tempfile import TemporaryDirectory  # 10 ms, only for a read-only state directory

        with TemporaryDirectory(prefix="gitworker-") as directory:
            return _search(store, paths, query, place=f"{directory}/search.db", announce=announce)
    return _search(store, paths, query, place=paths.search, announce=announce)


def _search(
    store: Store,
    paths: StatePaths,
    query: _Query,
    *,
    place: str,
    announce: Callable[[int], None],
) -> list[SearchResult]:
    index = open_search_index(place)
    try:
        try:
            _update(index, store, paths, announce=announce)
            return _find(index, store, paths, query)
        except Unavailable as error:
            if error.code != "database_damaged":
                raise
            index.clear()
            _update(index, store, paths, announce=announce)
            return _find(index, store, paths, query)
    finally:
        index.close()


def index_some(store: Store, paths: StatePaths) -> int:
    """Index new messages, up to a bound; return their number."""
    index = open_search_index(paths.search)
    try:
        return _update(index, store, paths, batches=BACKGROUND_BATCHES)
    finally:
        index.close()


def forget_pruned(store: Store, paths: StatePaths) -> None:
    """Remove pruned messages from the index."""
    with store.read() as reader:
        first = first_seq(reader)
        last = ever_last_seq(reader)
    index = open_search_index(paths.search)
    try:
        index.drop_below(last + 1 if first is None else first)
    finally:
        index.close()


def _update(
    index: SearchIndex,
    store: Store,
    paths: StatePaths,
    *,
    batches: int | None = None,
    announce: Callable[[int], None] = lambda _: None,
) -> int:
    with store.read() as reader:
        if _is_of_another_bus(index, reader):
            index.clear()
        number = count_after(reader, index.position())
    announce(number)
    done = 0
    while batches is None or batches > 0:
        with store.read() as reader:
            new = messages_after(reader, index.position(), limit=BATCH)
        if not new:
            break
        texts = [(one.seq, _text_of(one, paths)) for one in new]
        index.add(texts, until=new[-1].seq, last_id=new[-1].id)
        done += len(new)
        batches = None if batches is None else batches - 1
    return done


def _is_of_another_bus(index: SearchIndex, reader: Reader) -> bool:
    """Return whether bus.db was replaced, for example by an older copy, since it was indexed."""
    position, last_id = index.last()
    if position > ever_last_seq(reader):
        return True
    last = find_message_at(reader, position)
    return last is not None and last.id != last_id


def _find(index: SearchIndex, store: Store, paths: StatePaths, query: _Query) -> list[SearchResult]:
    """Return matches that are still on the bus; remove the others from the index."""
    found: list[SearchResult] = []
    before = 1 << 62
    while len(found) < query.limit:
        seqs = index.find(query.expression, before=before, limit=query.limit)
        if not seqs:
            break
        with store.read() as reader:
            messages = {seq: find_message_at(reader, seq) for seq in seqs}
        deleted = [seq for seq, message in messages.items() if message is None]
        if deleted:
            index.drop(deleted)
        found += [_found(one, query.words, paths) for one in messages.values() if one is not None]
        before = seqs[-1]
    return found[: query.limit]


def _found(message: StoredMessage, words: Sequence[str], paths: StatePaths) -> SearchResult:
    text = plain_text(_payload_of(message, paths) or "")
    return SearchResult(message_fields(message, blobs=paths.blobs), snippet(text, words))


def _text_of(message: StoredMessage, paths: StatePaths) -> str:
    fields = (message.type, message.from_agent, message.to_agent, message.correlation_id)
    return searchable(fields, _payload_of(message, paths))


def _payload_of(message: StoredMessage, paths: StatePaths) -> str | None:
    if message.payload_ref is None:
        return message.text
    return find_blob(paths.blobs, message.payload_ref)
