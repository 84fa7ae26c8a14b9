"""The registry of operation kinds: each kind can be ended, and undone if it is listed for that."""

from pathlib import Path

import pytest

from gitworker.journal.operation_kinds import FINISHED, KINDS, ROLLED_BACK, UNDOABLE, load
from gitworker.journal.undo.undoable import Undoable
from gitworker.lifecycle.rules import assigns_worker
from gitworker.store.payloads.payload import CLASSES

QUERIES = Path(__file__).parents[2] / "gitworker/store/sqlite/queries/operations.sql"


def test_every_kind_has_data() -> None:
    """Each kind in the registry has a class of data, and each class belongs to a kind."""
    assert KINDS.keys() == CLASSES.keys()


@pytest.mark.parametrize("name", sorted(KINDS.keys() - {"fsck"}))
def test_one_way_to_end(name: str) -> None:
    """An interrupted operation of any kind is ended in exactly one way."""
    kind = KINDS[name]
    ways = [kind.finish, kind.roll_back, kind.finish_all]
    assert len([callable(load(way)) for way in ways if way]) == 1


@pytest.mark.parametrize("name", sorted(UNDOABLE))
def test_undo_is_complete(name: str) -> None:
    """A kind that can be undone names the functions for that."""
    assert isinstance(load(KINDS[name].undo), Undoable)


def test_sets() -> None:
    """The query of undoable operations and the worktree lock agree with the registry."""
    _, _, query = QUERIES.read_text().partition("-- name: newest_done")
    listed = query.partition("kind IN (")[2].partition(")")[0]
    assert {name.strip(" '\n") for name in listed.split(",")} == UNDOABLE
    assert {name for name in KINDS if assigns_worker(name)} == ROLLED_BACK
    assert not FINISHED & ROLLED_BACK
