"""The rules of doctor's checks: file systems by /proc/mounts, landings by a table of parents."""

import pytest

from gitworker.fsck.quick.rules_file_system import file_system_of, is_network
from gitworker.fsck.quick.rules_history import RecordedLanding, history_faults
from gitworker.model.ids import Oid

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/net /net nfs4 rw 0 0
tmpfs /net/ada/local tmpfs rw 0 0
//box/share /mnt/with\\040blank cifs rw 0 0
torn line
overlay /over overlay rw 0 0
host /over fuse.sshfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/srv/repo", "ext4", False),
        ("/nets", "ext4", False),
        ("/net", "nfs4", True),
        ("/net/ada/repo", "nfs4", True),
        ("/net/ada/local/repo", "tmpfs", False),
        ("/mnt/with blank/repo", "cifs", True),
        ("/over/repo", "fuse.sshfs", True),
    ],
)
def test_file_systems(path: str, kind: str, network: bool) -> None:
    """The innermost mount counts, and the last one of several at the same directory."""
    assert file_system_of(path, MOUNTS) == kind
    assert is_network(kind) is network


def test_no_file_system() -> None:
    """If no mount holds the path, the file system is unknown."""
    assert file_system_of("/srv", "") is None
    assert not is_network(None)


def landing(old: str, new: str) -> RecordedLanding:
    """Return a landing from one commit to another."""
    return RecordedLanding("auth", "t", "refs/heads/main", Oid(old), Oid(new))


HISTORY = {
    Oid(child): tuple(map(Oid, parents))
    for child, parents in {"b": "a", "c": "b", "d": "c", "m": "dx", "x": "c", "e": "m"}.items()
}


@pytest.mark.parametrize(
    ("landings", "faults"),
    [
        ([], []),
        ([landing("a", "b"), landing("b", "d")], []),
        ([landing("a", "a")], []),
        ([landing("a", "missing")], ["is no longer in the target: the branch was moved by force"]),
        ([landing("d", "e")], ["contains the merge commit m"]),
        ([landing("a", "b"), landing("m", "e")], []),
        ([landing("before", "c")], []),
    ],
)
def test_history(landings: list[RecordedLanding], faults: list[str]) -> None:
    """Each landing must be in the target, and must not contain a merge."""
    found = history_faults(landings, HISTORY, since=Oid("a"))
    assert [why for _, why in found] == faults


def test_history_from_its_root() -> None:
    """A landing whose start is missing is followed to the root at most."""
    parents: dict[Oid, tuple[Oid, ...]] = {Oid("a"): (), Oid("b"): (Oid("a"),)}
    assert list(history_faults([landing("missing", "b")], parents, since=Oid("missing"))) == []
