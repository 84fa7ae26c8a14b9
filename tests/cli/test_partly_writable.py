"""Sandboxes that open a part of the git directory, or bind device nodes into the worktree."""

import contextlib
import os
import shlex
import socket
from pathlib import Path

import pytest

from tests.cli.kit import Answer, ok, run
from tests.conftest import git
from tests.liveness.boxes import inside, mounted, needs_boxes, read_only
from tests.workers.world import World

pytestmark = needs_boxes()


@pytest.fixture
def world(quiet: World) -> World:
    """A worker with one commit; the target has moved since."""
    quiet.working("auth", "t1", {"auth.txt": "1\n"})
    quiet.advance({"other.txt": "1\n"})
    return quiet


def smallest_set(world: World) -> tuple[str, ...]:
    """Return a sandbox with just the write access of commit, start, poll, claim and done."""
    common = world.root / ".git"
    git(world.path("auth"), "pack-refs", "--all", "--no-prune")
    opened = (
        common / "worktrees/t1", common / "objects", common / "refs/heads/auth",
        common / "logs/refs/heads/auth", common / "worker-state",
    )  # fmt: skip
    return read_only(common, writable=opened)


def bound(world: World, *names: str) -> tuple[str, ...]:
    """Return a sandbox that binds a device node over files that exist in it only."""
    place = world.path("auth")
    lines = []
    for name in names:
        path = shlex.quote(str(place / name))
        lines.append(
            f"mkdir -p {shlex.quote(str((place / name).parent))}; : > {path};"
            f" mount --bind /dev/null {path}"
        )
    return mounted("; ".join(lines))


# ---------------------------------------------------------------- the smallest set
def test_the_smallest_set(world: World) -> None:
    """Start, heartbeat, claim, send, poll, commit and done work with five directories opened."""
    world.spawn("docs", "t2")
    box, place = smallest_set(world), world.path("auth")
    (place / "more.txt").write_text("more\n")
    for words in (
        ("heartbeat", "auth"), ("claim", "take", "path:src"), ("msg", "send", "x-note", "1"),
        ("msg", "poll"), ("done", "--commit", "-m", "More"),
    ):  # fmt: skip
        answer = inside(*words, box=box, cwd=place)
        assert answer.status == 0, (words, answer)
    assert world.worker("auth").state == "IN_REVIEW"
    assert world.show("more.txt", "auth/t1") == "more"
    assert run(world.root, "msg", "poll", "--as", "auth").out.count('"x-note"') == 0
    world.approve("auth")


def test_sync_needs_more(world: World) -> None:
    """A sync that cannot keep the old commits reports the reason and rebases nothing."""
    place, tip = world.path("auth"), world.tip("auth/t1")
    answer = inside("sync", box=smallest_set(world), cwd=place)
    assert answer.status == 1, answer
    error, hint = answer.err.splitlines()
    assert "Read-only file system" in error, answer
    assert hint.startswith("hint: git worker mcp"), answer
    assert world.tip("auth/t1") == tip
    assert world.tip("HEAD") != tip
    assert git(place, "status", "--porcelain") == ""
    assert not (world.root / ".git/worktrees/t1/rebase-merge").exists()
    assert ok(place, "sync")
    assert tip in world.refs().values(), "kept under a rescue ref"


@pytest.mark.parametrize("closed", ["worktrees/t1", "objects", "refs"])
def test_a_part_that_is_closed(world: World, closed: str) -> None:
    """If only one directory is read-only, the message names EROFS and loses no work."""
    place, tip = world.path("auth"), world.tip("auth/t1")
    (place / "more.txt").write_text("more\n")
    for words in (("done", "--commit", "-m", "More"), ("sync",)):
        answer = inside(*words, box=read_only(world.root / ".git" / closed), cwd=place)
        assert answer.status in (1, 3), (words, answer)
        if words != ("sync",):  # which refuses uncommitted work first
            assert "Read-only file system" in answer.err, (words, answer)
    assert world.tip("auth/t1") == tip
    assert (place / "more.txt").read_text() == "more\n"
    git(place, "add", "more.txt")
    git(place, "commit", "-q", "-m", "More")
    assert ok(place, "sync")


# ---------------------------------------------------------------- device nodes
NODES = (
    (".bashrc", ".gitconfig"), (".claude/settings.json",), ("deep/er/node", ".mcp.json"),
)  # fmt: skip


@pytest.mark.parametrize("names", NODES)
def test_device_nodes_are_no_work(world: World, names: tuple[str, ...]) -> None:
    """Untracked device nodes hinder neither `done` nor `sync`."""
    box, place = bound(world, *names), world.path("auth")
    assert inside("sync", box=box, cwd=place).status == 0
    answer: Answer = inside("done", box=box, cwd=place)
    assert answer.status == 0, answer
    assert world.worker("auth").state == "IN_REVIEW"


@pytest.mark.parametrize("names", NODES)
def test_work_beside_device_nodes(world: World, names: tuple[str, ...]) -> None:
    """Work beside device nodes counts: `done` asks for it, and commits it without the nodes."""
    box, place = bound(world, *names), world.path("auth")
    for path in ("work.txt", f"{os.path.dirname(names[0])}/beside.txt".lstrip("/")):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text("work\n")
    answer = inside("done", box=box, cwd=place)
    assert (answer.status, "uncommitted work" in answer.err) == (1, True), answer
    answer = inside("done", "--commit", "-m", "Work", box=box, cwd=place)
    assert answer.status == 0, answer
    files = git(world.root, "ls-tree", "-r", "--name-only", "auth/t1").splitlines()
    assert "work.txt" in files
    assert not set(names) & set(files)


def test_cancel_beside_device_nodes(world: World) -> None:
    """`cancel` beside device nodes, sockets and FIFOs saves the work."""
    box, place = bound(world, ".bashrc"), world.path("auth")
    (place / "work.txt").write_text("work\n")
    os.mkfifo(place / "fifo")
    make_socket(place)
    answer = inside("cancel", "auth", box=box, cwd=world.root)
    if answer.status:  # a bind mount in it keeps it from being moved: then it stays whole
        assert (place / "work.txt").read_text() == "work\n", answer
        (place / ".bashrc").unlink()
        ok(world.root, "cancel", "auth")
    (rescue,) = [ref for ref in world.refs() if "/rescue/auth/" in ref]
    assert world.show("work.txt", rescue) == "work"


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory"])
def test_special_files_of_the_worktrees_own(world: World, kind: str) -> None:
    """FIFOs, sockets, and directories of them do not keep work from being handed in."""
    place = world.path("auth")
    folder = place / "run" if kind == "directory" else place
    folder.mkdir(exist_ok=True)
    if kind == "socket":
        make_socket(folder)
    else:
        os.mkfifo(folder / "fifo")
    ok(place, "done")
    world.approve("auth")
    assert world.land("auth").kept is None


def make_socket(folder: Path) -> None:
    """Leave a socket in a directory; its address must be short."""
    with contextlib.chdir(folder), socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
