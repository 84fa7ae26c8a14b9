"""The choice of gc: ages, budgets, and items that hold work."""

import pytest

from gitworker.journal.gc.rules_gc import DAY_MS, GcRequest, Item, choose, is_old, may_clear

NOW = 100 * DAY_MS


def item(name: str, days: int, size: int = 0, *, holds: str = "", kind: str = "trash") -> Item:
    """Return an item of that age."""
    return Item(kind, name, NOW - days * DAY_MS, size, holds)


def chosen(items: list[Item], request: GcRequest) -> tuple[list[str], list[str]]:
    """Return the names of the items to delete and of the held items."""
    choice = choose(items, request, NOW)
    return [one.name for one in choice.selected], [one.name for one in choice.held]


@pytest.mark.parametrize(
    ("days", "wanted", "old"), [(7, 7, True), (6, 7, False), (0, 0, True), (99, None, False)]
)
def test_ages(days: int, wanted: int | None, old: bool) -> None:
    """An item is old from the given number of days on; without a number no item is old."""
    assert is_old(item("a", days), GcRequest(wanted), NOW) is old


def test_by_age() -> None:
    """The oldest is deleted first; an item with work is held, unless it is asked for."""
    items = [item("young", 1), item("old", 8), item("older", 9), item("kept", 9, holds="work")]
    assert chosen(items, GcRequest(7)) == (["older", "old"], ["kept"])
    assert chosen(items, GcRequest(7, unlanded=True)) == (["kept", "older", "old"], [])


def test_by_budget() -> None:
    """The oldest is deleted first down to a budget; refs have no size, items with work stay."""
    items = [
        item("ref", 9, 0, kind="rescue"),
        item("kept", 8, 50, holds="work"),
        item("first", 7, 50),
        item("second", 6, 50),
        item("third", 5, 50),
    ]
    assert chosen(items, GcRequest(None, 200)) == ([], [])
    assert chosen(items, GcRequest(None, 199)) == (["first"], [])
    assert chosen(items, GcRequest(None, 1)) == (["first", "second", "third"], [])
    assert chosen(items, GcRequest(None, 1, unlanded=True))[0][0] == "kept"
    assert chosen(items, GcRequest(7, 100)) == (["ref", "first", "second"], ["kept"])
    assert choose(items, GcRequest(7, 100), NOW).size_bytes == 100


def test_a_budget_spares_the_young() -> None:
    """Items younger than the given age stay, even if the budget is exceeded."""
    items = [item("old", 2, 50), item("young", 1, 50)]
    assert chosen(items, GcRequest(None, 1, spared_ms=2 * DAY_MS)) == (["old"], [])
    assert chosen(items, GcRequest(None, 1, spared_ms=DAY_MS)) == (["old", "young"], [])
    assert chosen(items, GcRequest(0, 1, spared_ms=9 * DAY_MS)) == (["old", "young"], [])


@pytest.mark.parametrize(
    ("actor", "self_review", "allowed"),
    [("hq", False, True), ("auth", False, False), ("auth", True, True)],
)
def test_permission(actor: str, self_review: bool, allowed: bool) -> None:
    """A worker cannot delete items that others left."""
    refusal = may_clear(actor, self_review=self_review)
    assert (refusal is None) is allowed
    assert refusal is None or refusal.code == "not_allowed"
