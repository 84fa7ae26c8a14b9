"""The payloads of the journal: written with the keys of earlier versions, and read from them."""

import json

import pytest

from gitworker.errors import Unavailable
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.store.operations import Operation, to_text
from gitworker.store.payloads.payload import (
    CLASSES,
    AdoptData,
    ApproveData,
    FsckData,
    GcData,
    LostWorktree,
    MergeData,
    Payload,
    RemovalData,
    SetupData,
    SpawnData,
    SyncData,
    UndoData,
    Unreadable,
    deleted_refs,
    from_text,
    recorded_commits,
    replaced_commits,
    rescue_of,
)

REF, TARGET = Ref("refs/heads/auth/login"), Ref("refs/heads/main")
OLD, NEW, BASE = Oid("a" * 40), Oid("b" * 40), Oid("c" * 40)
TREE, ADMIN, KEPT = "/tree", "/repo/.git/worktrees/login", "refs/worker/rescue/auth/login/1"
REWRITE = {"ref": REF, "old": OLD, "new": NEW, "worktree": TREE, "admin_dir": ADMIN}
REMOVAL = {"ref": REF, "tip": OLD, "base": BASE, "worktree": TREE, "admin_dir": ADMIN}
LANDING = {**REWRITE, "target_ref": TARGET, "target_old": BASE, "keep": False}
REVIEW = {"base": BASE, "reviewer": "hq", "identity": "hq", "note": "", "patches": ["p"]}
COLLECTED = {"entries": [], "entry_paths": [], "logs": [], "verify": [], "pool": False}

# The keys that the first version wrote, and what they are read as.
OLDEST: list[tuple[str, dict[str, object], Payload]] = [
    (
        "spawn",
        {"branch": "auth/login", "base": BASE, "path": TREE},
        SpawnData(Branch("auth/login"), BASE, TREE, pool=None),
    ),
    (
        "adopt",
        {"ref": REF, "branch": "auth/login", "old_ref": TARGET, "tip": OLD, "base": BASE,
         "path": TREE, "made": True},
        AdoptData(REF, Branch("auth/login"), TARGET, OLD, BASE, TREE, made=True),
    ),
    (
        "setup",
        {"pid": 7, "start": "1", "host": "h", "boot": "b"},
        SetupData(7, "1", "h", "b", pid_ns=None),
    ),
    ("sync", REWRITE, SyncData(REF, OLD, NEW, TREE, ADMIN)),
    (
        "approve",
        {**REWRITE, **REVIEW},
        ApproveData(REF, OLD, NEW, TREE, ADMIN, BASE, "hq", "hq", "", ["p"], rescue=None),
    ),
    *(
        (
            kind,
            LANDING,
            MergeData(REF, OLD, NEW, TREE, ADMIN, TARGET, BASE, keep=False, rescue=None,
                      window=None, remote=None, pushed=False),
        )
        for kind in ("merge", "land")
    ),
    *(
        (
            kind,
            REMOVAL,
            RemovalData(REF, OLD, BASE, TREE, ADMIN, rescue=None, rescued=None, submodules=(),
                        trash=None, dirty=False, state=None, lost=None, unpacked=True,
                        trash_gone=False),
        )
        for kind in ("cancel", "reset", "remove")
    ),
    ("undo", {"undoes": 3}, UndoData(3, rescue=None, checkout=None)),
    (
        "gc",
        {"refs": {KEPT: OLD}, **COLLECTED},
        GcData({KEPT: OLD}, [], [], [], [], pool=False, bytes=0, unlanded=None, by_itself=False),
    ),
    ("fsck", {"refs": {KEPT: OLD}}, FsckData({KEPT: OLD})),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "row", "payload"), OLDEST)
def test_oldest_rows(kind: str, row: dict[str, object], payload: Payload) -> None:
    """A row of the first version is read, with a default for each key that it lacks."""
    assert from_text(kind, json.dumps(row)) == payload


def test_every_kind() -> None:
    """Each kind of operation has a row of the first version above."""
    assert {kind for kind, _, _ in OLDEST} == CLASSES.keys()


@pytest.mark.parametrize(("kind", "row", "payload"), OLDEST)
def test_round_trip(kind: str, row: dict[str, object], payload: Payload) -> None:
    """A payload is read as it was written, and has all keys of the first version."""
    text = to_text(payload)
    assert row.items() <= json.loads(text).items()
    assert to_text(from_text(kind, text)) == text


def test_lost_worktree() -> None:
    """A worktree that was not at its place is an object of its own in the row."""
    (removal,) = (payload for kind, _, payload in OLDEST if kind == "cancel")
    assert isinstance(removal, RemovalData)
    lost = removal._replace(worktree=None, lost=LostWorktree(TREE, ADMIN))
    assert json.loads(to_text(lost))["lost"] == {"worktree": TREE, "admin_dir": ADMIN}
    assert from_text("cancel", to_text(lost._replace(submodules=[]))) == lost._replace(
        submodules=[]
    )
    assert (removal.place, lost.place, lost._replace(lost=None).place) == (TREE, TREE, None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("merge", "{"),
        ("merge", "{}"),
        ("merge", "[]"),
        ("merge", "null"),
        ("cancel", json.dumps({**REMOVAL, "lost": 5})),
        ("undo", '{"undoe": 3}'),
        ("later-kind", "{}"),
    ],
)
def test_unreadable_rows(kind: str, text: str) -> None:
    """A row that is damaged or of an unknown kind keeps its text, and is refused when needed."""
    data = from_text(kind, text)
    assert data == Unreadable(text)
    assert to_text(data) == text
    operation = Operation(4, kind, "auth", "login", "open", "begun", "hq", 1, 1, data)
    with pytest.raises(Unavailable) as caught:
        operation.payload(MergeData)
    assert caught.value.code == "journal_broken"
    assert caught.value.message == f"the journal's row of {kind} 4 (auth) cannot be read"


def test_keys_of_later_versions() -> None:
    """A key that this version does not know is ignored."""
    assert from_text("undo", '{"undoes": 3, "why": "later"}') == UndoData(3)


def test_commits() -> None:
    """fsck learns from any payload which commits and refs it names."""
    named = {
        kind: (replaced_commits(data), recorded_commits(data), rescue_of(data)[1])
        for kind, _, data in OLDEST
    }
    moved = ({OLD}, {OLD, NEW})
    assert named == {
        "spawn": (set(), set(), None),
        "adopt": ({OLD}, {OLD}, None),
        "setup": (set(), set(), None),
        "sync": (*moved, None),
        "approve": (*moved, OLD),
        "merge": (*moved, OLD),
        "land": (*moved, OLD),
        "cancel": ({OLD}, {OLD}, None),
        "reset": ({OLD}, {OLD}, None),
        "remove": ({OLD}, {OLD}, None),
        "undo": (set(), set(), None),
        "gc": (set(), set(), None),
        "fsck": (set(), set(), None),
    }
    assert rescue_of(UndoData(3, rescue=KEPT)) == (KEPT, None)
    assert [deleted_refs(data) for kind, _, data in OLDEST if kind in ("gc", "fsck", "undo")] == [
        {}, {KEPT: OLD}, {KEPT: OLD},
    ]  # fmt: skip
