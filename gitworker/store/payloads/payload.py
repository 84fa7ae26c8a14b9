"""The data that each kind of operation records in the journal, one class for each shape.

A class lists the keys of the JSON object in the column `data`. A field with a default may be
missing, since an earlier version did not write it. Every other field must be present, else the row
is `Unreadable`. Keys that no field names are ignored.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gitworker.model.ids import Branch, Oid, Ref
from gitworker.store.payloads.spawn_data import SetupData, SpawnData


class AdoptData(NamedTuple):
    """A branch that a worker takes over: `old_ref` becomes `ref`.

    `made` says whether the adoption makes the worktree at `path`, or has found it there.
    """

    ref: Ref
    branch: Branch
    old_ref: Ref
    tip: Oid
    base: Oid
    path: str
    made: bool


class SyncData(NamedTuple):
    """A rebase that git begins: the branch `ref` is at `new`, and `old` is the commit below it."""

    ref: Ref
    old: Oid
    new: Oid
    worktree: str
    admin_dir: str


class ApproveData(NamedTuple):
    """A branch that moves from `old` to `new` in its worktree, and the review of it."""

    ref: Ref
    old: Oid
    new: Oid
    worktree: str | None
    admin_dir: str | None
    base: Oid
    reviewer: str
    identity: str
    note: str
    patches: Sequence[str]
    rescue: str | None = None


class MergeData(NamedTuple):
    """A landing: the branch `ref` at `old` was replayed to `new`, which the target is to contain.

    `window` is the first operation of the landings that move the target together; None in the
    first itself. `keep` leaves the worktree. `remote` is pushed to before the target moves.
    """

    ref: Ref
    old: Oid
    new: Oid
    worktree: str | None
    admin_dir: str | None
    target_ref: Ref
    target_old: Oid
    keep: bool
    rescue: str | None = None
    window: int | None = None
    remote: str | None = None
    pushed: bool = False


class LostWorktree(NamedTuple):
    """A worktree that was not at its place; `admin_dir` is git's own directory of it, if left."""

    worktree: str
    admin_dir: str | None


class RemovalData(NamedTuple):
    """A worktree and a branch that cancel, reset or a landing removes.

    `state`, `stale_from` and `error` are those of the worker before it was freed; `returned_by` and
    `returned_detail` too, if its branch was unchanged since. `rescue` keeps the commit `rescued`.
    `worktree` and `admin_dir` are None if there was no worktree to move to `trash`; `lost` names
    one that was not at its place. `unpacked` is False if an undo could not bring uncommitted work
    back; `trash_gone` records that fsck missed the entry.
    """

    ref: Ref
    tip: Oid | None
    base: str | None
    worktree: str | None
    admin_dir: str | None
    rescue: str | None = None
    rescued: Oid | None = None
    submodules: Sequence[str] = ()
    trash: str | None = None
    dirty: bool = False
    state: str | None = None
    lost: LostWorktree | None = None
    unpacked: bool = True
    trash_gone: bool = False
    stale_from: str | None = None
    error: str | None = None
    returned_by: str | None = None
    returned_detail: str | None = None

    @property
    def place(self) -> str | None:
        """Return the place that the worktree had, also if it was not there any more."""
        return self.worktree or (self.lost and self.lost.worktree)

    @property
    def left_out(self) -> str | None:
        """Return the ref that keeps uncommitted work which a landing left out, if there is any."""
        return self.rescue if self.dirty else None


class UndoData(NamedTuple):
    """The operation that is taken back.

    Of a landing, `rescue` keeps the replayed commits; `checkout` is the worktree of the target.
    """

    undoes: int
    rescue: str | None = None
    checkout: str | None = None


class GcData(NamedTuple):
    """The refs, with their commits, and the files that a gc deletes.

    `unlanded` are the refs that were asked for although they hold work; None means all.
    """

    refs: Mapping[str, str]
    entries: Sequence[str]
    entry_paths: Sequence[str]
    logs: Sequence[str]
    verify: Sequence[str]
    pool: bool
    bytes: int = 0
    unlanded: Sequence[str] | None = None
    by_itself: bool = False


class FsckData(NamedTuple):
    """The refs that a repair deleted, with their commits."""

    refs: Mapping[str, str]


class Unreadable(NamedTuple):
    """A row of a kind that this version does not know, or whose data is damaged."""

    text: str


Payload: TypeAlias = (
    SpawnData
    | AdoptData
    | SetupData
    | SyncData
    | ApproveData
    | MergeData
    | RemovalData
    | UndoData
    | GcData
    | FsckData
    | Unreadable
)

CLASSES: dict[str, type[Any]] = {
    "spawn": SpawnData,
    "adopt": AdoptData,
    "setup": SetupData,
    "sync": SyncData,
    "approve": ApproveData,
    "merge": MergeData,
    "land": MergeData,
    "cancel": RemovalData,
    "reset": RemovalData,
    "remove": RemovalData,
    "undo": UndoData,
    "gc": GcData,
    "fsck": FsckData,
}


def from_text(kind: str, text: str) -> Payload:
    """Return the payload of a row; Unreadable if the kind is unknown or a key is missing."""
    try:
        found = json.loads(text)
        return from_dict(kind, found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Unreadable(text)


def from_dict(kind: str, found: Mapping[str, Any]) -> Payload:
    """Return the payload of an operation; raise TypeError or KeyError if it is incomplete."""
    payload_class = CLASSES[kind]
    values = {name: found[name] for name in payload_class._fields if name in found}
    if values.get("lost") is not None:
        values["lost"] = LostWorktree(**values["lost"])
    payload: Payload = payload_class(**values)
    return payload


def rescue_of(payload: Payload) -> tuple[Ref | None, str | None]:
    """Return the rescue ref that an operation made, and the commit that it keeps, if recorded."""
    if isinstance(payload, RemovalData):
        return _ref(payload.rescue), payload.rescued
    if isinstance(payload, ApproveData | MergeData):
        return _ref(payload.rescue), payload.old
    if isinstance(payload, UndoData):
        return _ref(payload.rescue), None
    return None, None


def replaced_commits(payload: Payload) -> set[Oid]:
    """Return the commits at which an operation found its branch."""
    if isinstance(payload, ApproveData | MergeData | SyncData):
        return {payload.old}
    if isinstance(payload, RemovalData | AdoptData):
        return {payload.tip} if payload.tip else set()
    return set()


def recorded_commits(payload: Payload) -> set[Oid]:
    """Return the commits at which an operation found its branch, or to which it moves it."""
    new = {payload.new} if isinstance(payload, ApproveData | MergeData | SyncData) else set()
    return replaced_commits(payload) | new


def deleted_refs(payload: Payload) -> Mapping[str, str]:
    """Return the refs that a gc or a repair deleted, with their commits."""
    return payload.refs if isinstance(payload, GcData | FsckData) else {}


def _ref(name: str | None) -> Ref | None:
    return Ref(name) if name else None
