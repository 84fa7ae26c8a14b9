"""The logs as history in git: one commit for each change, on its own ref, safe from races."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from gitworker.bus.files.logs_in_git import commit_logs
from gitworker.bus.limits.send_limits import Limits
from gitworker.bus.send import MessageDraft, send
from gitworker.model.ref_names import LOG
from gitworker.repo.plumbing.git import GitFailed
from gitworker.session import Session
from tests.bus.scene import Scene
from tests.conftest import git


@pytest.fixture
def session(scene: Scene) -> Session:
    """A session of hq."""
    return scene.session()


def say(session: Session, name: str) -> None:
    """Publish one message."""
    send(
        session.store, MessageDraft("x-note", id=name), sender="hq", task=None,
        blobs=session.paths.blobs, limits=Limits(),
    )  # fmt: skip


def logged(scene: Scene, revision: str = LOG) -> list[str]:
    """Return the ids of the messages in the bus.jsonl of a commit."""
    text = git(scene.root, "show", f"{revision}:bus.jsonl")
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_each_change_is_a_commit(scene: Scene, session: Session) -> None:
    """An export commits new lines on top of the last commit, as git's user, and none twice."""
    before = git(scene.root, "branch", "-av"), git(scene.root, "status", "--porcelain")
    say(session, "a")
    first = commit_logs(session)
    assert first.is_new
    assert commit_logs(session) == first._replace(is_new=False)
    say(session, "b")
    second = commit_logs(session)
    assert logged(scene, first.oid) == ["a"]
    assert logged(scene) == ["a", "b"]
    commits = git(scene.root, "log", "--format=%H %an %ae %P", LOG).splitlines()
    assert commits == [
        f"{second.oid} Ada Tester ada@example.org {first.oid}",
        f"{first.oid} Ada Tester ada@example.org",
    ]
    assert git(scene.root, "ls-tree", "--name-only", LOG).split() == [
        "bus.jsonl", "transitions.jsonl",
    ]  # fmt: skip
    assert git(scene.root, "branch", "-av") == before[0]
    assert git(scene.root, "status", "--porcelain") == before[1]
    git(scene.root, "fsck", "--strict")


def test_exports_may_race(scene: Scene) -> None:
    """Parallel exports make one chain of commits, each with all lines of its parent."""
    barrier = threading.Barrier(4)

    def export(session: Session, name: str) -> None:
        barrier.wait()
        for number in range(3):
            say(session, f"{name}{number}")
            commit_logs(session)

    sessions = {name: scene.session() for name in "abcd"}
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(export, session, name) for name, session in sessions.items()]:
            done.result()
    assert not commit_logs(scene.session()).is_new
    commits = git(scene.root, "rev-list", "--reverse", LOG).split()
    seen = [logged(scene, commit) for commit in commits]
    assert len(seen[-1]) == 12
    assert all(later[: len(sooner)] == sooner for sooner, later in pairwise(seen))


def test_archives_stay_in_the_history(scene: Scene, session: Session) -> None:
    """Archives are part of the tree, even after the files were removed."""
    for name in ("bus-1-2.jsonl.gz", "bus-3-4.jsonl.gz"):
        Path(session.paths.archive, name).write_bytes(name.encode())
        Path(session.paths.archive, ".bus-9.partial").write_bytes(b"half")
        commit_logs(session)
        Path(session.paths.archive, name).unlink()
    names = git(scene.root, "ls-tree", "--name-only", f"{LOG}:archive").split()
    assert names == ["bus-1-2.jsonl.gz", "bus-3-4.jsonl.gz"]
    assert git(scene.root, "show", f"{LOG}:archive/{names[0]}") == names[0]
    assert not commit_logs(session).is_new


def test_it_can_be_pushed(scene: Scene, session: Session, tmp_path: Path) -> None:
    """The history can be pushed to another repository."""
    git(tmp_path, "init", "-q", "--bare", "there")
    say(session, "a")
    commit = commit_logs(session)
    git(scene.root, "push", "-q", str(tmp_path / "there"), LOG)
    assert git(tmp_path / "there", "rev-parse", LOG) == commit.oid


def test_an_unknown_user_is_reported(scene: Scene, session: Session, hermetic: Path) -> None:
    """If git has no identity for the commit, its own message is shown and no ref is made."""
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    with pytest.raises(GitFailed, match="commit-tree"):
        commit_logs(session)
    assert git(scene.root, "for-each-ref", LOG) == ""


def test_a_repository_with_an_odd_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line feeds, quotes and backslashes in the repository's path do no harm."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    root = tmp_path / 'a\nb "c" \\n ü'
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "Start")
    scene = Scene(root)
    session = scene.session()
    say(session, "a")
    commit_logs(session)
    assert logged(scene) == ["a"]
