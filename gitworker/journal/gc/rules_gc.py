"""Select the items that gc deletes: by age, then by a disk budget, the oldest first. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.ids import RESERVED

DAY_MS = 24 * 60 * 60 * 1000
RESCUE, ROUND, TRASH, VERIFY, POOL, LOG = "rescue", "round", "trash", "verify", "pool", "log"
REFS = (RESCUE, ROUND)


@dataclass(frozen=True, slots=True)
class Item:
    """Something that gc may delete: a rescue ref, the ref of a round, a worktree, a log.

    `at_ms` is the time of its last use. `holds` names the work that would be lost with it, or is
    empty; `target` is its commit or path.
    """

    kind: str
    name: str
    at_ms: int
    size_bytes: int = 0
    holds: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class GcRequest:
    """A request: delete items older than `days` (None: no age), then more, down to a budget.

    `max_bytes` limits all items on the disk together, None for no budget; it deletes no item
    younger than `spared_ms`. An item with work that nothing else has is deleted only with
    `unlanded`, which the user gives by name.
    """

    days: int | None
    max_bytes: int | None = None
    unlanded: bool = False
    spared_ms: int = 0


@dataclass(frozen=True, slots=True)
class GcChoice:
    """The items to delete, oldest first, and items as old that stay because of their work."""

    selected: tuple[Item, ...]
    held: tuple[Item, ...]

    @property
    def size_bytes(self) -> int:
        """Return the size of the items to delete."""
        return sum(item.size_bytes for item in self.selected)


def choose(items: Iterable[Item], request: GcRequest, now_ms: int) -> GcChoice:
    """Select the items to delete."""
    ordered = sorted(items, key=lambda item: (item.at_ms, item.kind, item.name))
    old = [item for item in ordered if is_old(item, request, now_ms)]
    selected = [item for item in old if request.unlanded or not item.holds]
    if request.max_bytes is not None:
        taken = set(selected)
        left = [item for item in ordered if item not in taken and item.size_bytes]
        excess = sum(item.size_bytes for item in left) - request.max_bytes
        for item in left:
            if excess <= 0 or now_ms - item.at_ms < request.spared_ms:
                break
            if request.unlanded or not item.holds:
                selected.append(item)
                excess -= item.size_bytes
    chosen = set(selected)
    return GcChoice(tuple(selected), tuple(item for item in old if item not in chosen))


def is_old(item: Item, request: GcRequest, now_ms: int) -> bool:
    """Return whether an item has reached the requested age."""
    return request.days is not None and now_ms - item.at_ms >= request.days * DAY_MS


def may_clear(actor: str, *, self_review: bool) -> GitWorkerError | None:
    """Return why `actor` must not delete the leftovers of others, or None."""
    if actor in RESERVED or self_review:
        return None
    return Refused(
        f"worker {actor} may not delete the leftovers of others",
        "ask the person who runs the repository",
        code="not_allowed",
    )
