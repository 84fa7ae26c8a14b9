"""Message ids: new ones are ordered by time, derived ones are always the same."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.bus.message_ids import derived_id, new_id


def test_new_ids_are_uuids_of_version_7() -> None:
    """A new id is a UUIDv7 that carries the time in its first 48 bits."""
    before = uuid.UUID(new_id())
    assert (before.version, before.variant) == (7, uuid.RFC_4122)
    assert str(before) == str(uuid.UUID(int=before.int))


def test_new_ids_grow_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids of a later millisecond sort after earlier ones, so that the index grows at its end."""
    made = []
    for now in (0, 1, 1_700_000_000_000, 1_700_000_000_001, (1 << 48) - 1):
        monkeypatch.setattr("gitworker.clock.now_ms", lambda now=now: now)
        made.append(new_id())
    assert made == sorted(made)
    assert [int(text.replace("-", "")[:12], 16) for text in made][2] == 1_700_000_000_000


def test_new_ids_differ() -> None:
    """Ten thousand ids of the same moment differ."""
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_a_derived_id_is_pinned() -> None:
    """A derived id never changes between our versions, so that a retry finds an older one."""
    assert derived_id("commit", "auth/x", "0" * 40) == derived_id("commit", "auth/x", "0" * 40)
    assert derived_id("a") == "ca978112-ca1b-8dca-bac2-31b39a23dc4d"


@given(st.lists(st.text(min_size=1).filter(lambda t: "\0" not in t), min_size=1, max_size=4))
def test_derived_ids_are_uuids(parts: list[str]) -> None:
    """Any parts, even names that are not UTF-8, give a UUIDv8, and other parts another one."""
    made = uuid.UUID(derived_id(*parts))
    assert (made.version, made.variant) == (8, uuid.RFC_4122)
    assert derived_id(*parts) == str(made)
    assert derived_id(*parts, "more") != str(made)
    assert derived_id("\udcff", *parts) != str(made)
