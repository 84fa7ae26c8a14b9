"""The drain: new commits of a branch are published once, whatever moved the branch."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.bus.drain import drain, record_rewrite, record_tip
from gitworker.model.ids import Oid, Ref
from tests.bus.scene import Scene, commit
from tests.conftest import git

REF = Ref("refs/heads/auth/t")
DRAIN = """
import sys
from gitworker.app import open_session
from gitworker.bus.drain import drain
session = open_session()
print("ready", flush=True)
sys.stdin.readline()
drain(session)
"""


@pytest.fixture
def worktree(scene: Scene) -> Path:
    """The worktree of worker auth, with no hook of ours in it at all."""
    place = scene.spawn("auth", "t")
    git(place, "config", "--worktree", "--unset-all", "core.hooksPath")
    git(scene.root, "branch", "side", "main")
    drain(scene.session())
    return place


def drained(scene: Scene) -> list[str]:
    """Drain, and return the commits that were ever published."""
    drain(scene.session())
    return [payload["commit"] for payload in scene.messages("task_progress")]


def by_amend(place: Path) -> None:
    """Commit and amend."""
    commit(place, "a")
    git(place, "commit", "-q", "--amend", "-m", "Amended")


def by_merge(place: Path) -> None:
    """Merge another branch with a merge commit."""
    git(place, "checkout", "-q", "side")
    commit(place, "on-side")
    git(place, "checkout", "-q", "auth/t")
    git(place, "merge", "-q", "--no-ff", "--no-edit", "side")


def by_am(place: Path) -> None:
    """Apply a mail."""
    commit(place, "a")
    mail = git(place, "format-patch", "-1", "--stdout")
    git(place, "reset", "-q", "--hard", "HEAD~1")
    git(place, "am", "-q", input=mail + "\n")


def by_cherry_pick(place: Path) -> None:
    """Pick a commit of another branch."""
    git(place, "checkout", "-q", "side")
    oid = commit(place, "on-side")
    git(place, "checkout", "-q", "auth/t")
    git(place, "cherry-pick", oid)


def by_rebase(place: Path) -> None:
    """Commit and rebase by force."""
    commit(place, "a")
    git(place, "rebase", "-q", "--force-rebase", "HEAD~1")


def by_reset(place: Path) -> None:
    """Reset the branch to a commit that was made elsewhere."""
    git(place, "checkout", "-q", "--detach")
    oid = commit(place, "a")
    git(place, "checkout", "-q", "auth/t")
    git(place, "reset", "-q", "--hard", oid)


def by_no_verify(place: Path) -> None:
    """Commit past the hooks."""
    commit(place, "a", "--no-verify")


def by_plumbing(place: Path) -> None:
    """Make the commit and move the branch by plumbing."""
    oid = git(place, "commit-tree", "-m", "Plumbed", "-p", "HEAD", "HEAD^{tree}")
    git(place, "update-ref", REF, oid)


def by_pygit2(place: Path) -> None:
    """Commit through libgit2, which runs no hooks."""
    program = (
        "import pygit2, sys\nr = pygit2.Repository(sys.argv[1])\ns = pygit2.Signature('A', 'a@x')\n"
        "r.create_commit('HEAD', s, s, 'By pygit2', r.head.peel().tree_id, [r.head.target])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)


def by_gitpython(place: Path) -> None:
    """Commit through GitPython's index."""
    program = "import git, sys\ngit.Repo(sys.argv[1]).index.commit('By GitPython')\n"
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)


def by_commit(place: Path) -> None:
    """Commit twice."""
    commit(place, "a")
    commit(place, "b")


WAYS = [
    by_commit, by_amend, by_merge, by_am, by_cherry_pick, by_rebase, by_reset, by_no_verify,
    by_plumbing, by_pygit2, by_gitpython,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_of_committing_is_published_once(
    scene: Scene, worktree: Path, way: Callable[[Path], None]
) -> None:
    """Without any hook of ours, the new commits of a branch are published, each once, in order."""
    base = git(worktree, "rev-parse", "HEAD")
    way(worktree)
    wanted = git(worktree, "rev-list", "--reverse", "--topo-order", f"{base}..auth/t").splitlines()
    assert wanted
    assert drained(scene) == wanted
    assert drained(scene) == wanted
    heartbeats = scene.execute("SELECT agent_id, current_task FROM heartbeats")
    assert heartbeats == [{"agent_id": "auth", "current_task": "t"}]


def test_the_message_of_a_commit(scene: Scene, worktree: Path) -> None:
    """The message names branch, commit, subject, author and files, from the worker, on its task."""
    oid = commit(worktree, "ünïcode name")
    drain(scene.session())
    (payload,) = scene.messages("task_progress")
    assert payload == {
        "branch": "auth/t", "commit": oid, "subject": "Add ünïcode name",
        "author": "Ada Tester <ada@example.org>", "files_changed": ["ünïcode name"],
        "files_changed_count": 1,
    }  # fmt: skip
    (row,) = scene.execute("SELECT * FROM messages WHERE type = 'task_progress'")
    assert (row["from_agent"], row["correlation_id"]) == ("auth", "t")


def test_a_commit_amended_after_it_was_published(scene: Scene, worktree: Path) -> None:
    """An amended commit is published if its content changed, and not if only its message did."""
    first = commit(worktree, "a")
    assert drained(scene) == [first]
    git(worktree, "commit", "-q", "--amend", "-m", "Other words")
    assert drained(scene) == [first]
    (worktree / "a").write_text("other content")
    git(worktree, "commit", "-qa", "--amend", "-m", "Other content")
    assert drained(scene) == [first, git(worktree, "rev-parse", "HEAD")]


def test_commits_of_the_target_are_not_published(scene: Scene, worktree: Path) -> None:
    """A rebase onto a moved target publishes neither the target's commits nor known patches."""
    own = commit(worktree, "a")
    assert drained(scene) == [own]
    commit(scene.root, "by-others")
    git(worktree, "rebase", "-q", "main")
    new = commit(worktree, "b")
    assert drained(scene) == [own, new]


def test_our_own_rewrites_are_not_published(scene: Scene, worktree: Path) -> None:
    """A tip that we made ourselves is not published; later commits on it are."""
    own = commit(worktree, "a")
    assert drained(scene) == [own]
    git(worktree, "commit", "-q", "--amend", "--allow-empty", "-m", "Replayed", "--no-edit")
    (worktree / "a").write_text("resolved")
    git(worktree, "commit", "-qa", "--amend", "-m", "Replayed")
    new = git(worktree, "rev-parse", "HEAD")
    with scene.session().store.write() as writer:
        record_rewrite(writer, REF, old=Oid(own), new=Oid(new))
    assert drained(scene) == [own]
    later = commit(worktree, "b")
    assert drained(scene) == [own, later]


def test_a_missing_rewrite_hides_no_commit(scene: Scene, worktree: Path) -> None:
    """A recorded rewrite whose commit git has pruned does not hide later commits."""
    own = commit(worktree, "a")
    assert drained(scene) == [own]
    with scene.session().store.write() as writer:
        record_rewrite(writer, REF, old=Oid(own), new=Oid("1" * 40))
    later = commit(worktree, "b")
    assert drained(scene) == [own, later]


def test_a_missing_last_tip_does_not_fail(scene: Scene, worktree: Path) -> None:
    """If the last published tip is no longer in the repository, the whole branch is published."""
    own = commit(worktree, "a")
    with scene.session().store.write() as writer:
        record_tip(writer, REF, Oid("2" * 40))
    assert drained(scene) == [own]


def test_a_deleted_branch_does_not_fail(scene: Scene, worktree: Path) -> None:
    """A deleted branch is passed over, and published again when it is back."""
    git(worktree, "checkout", "-q", "--detach")
    tip = git(worktree, "rev-parse", "HEAD")
    git(worktree, "branch", "-q", "-D", "auth/t")
    assert drained(scene) == []
    git(worktree, "checkout", "-q", "-b", "auth/t", tip)
    own = commit(worktree, "a")
    assert drained(scene) == [own]


def test_parallel_drains_publish_once(scene: Scene, worktree: Path) -> None:
    """Eight parallel drains of the same commits publish every commit once."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", DRAIN], cwd=scene.root, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(8)
    ]  # fmt: skip
    wanted = [commit(worktree, f"f{number}") for number in range(5)]
    commit(scene.root, "by-others")
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdin is not None
        racer.stdout.readline()
        racer.stdin.write("\n")
        racer.stdin.flush()
    assert [racer.wait() for racer in racers] == [0] * 8
    assert [payload["commit"] for payload in scene.messages("task_progress")] == wanted
    assert len(scene.messages("x-target-moved")) == 1


def test_each_foreign_move_of_the_target_is_published(scene: Scene, worktree: Path) -> None:
    """Each move of the target that is not ours is one event, a move back and forth three."""
    old = git(scene.root, "rev-parse", "main")
    new = commit(scene.root, "by-others")
    moves = []
    for tip, last in ((new, old), (new, old), (old, new), (new, old)):
        git(scene.root, "update-ref", "refs/heads/main", tip)
        drain(scene.session())
        if not moves or moves[-1]["to"] != tip:
            moves.append({"ref": "refs/heads/main", "from": last, "to": tip})
    assert scene.messages("x-target-moved") == moves


def test_our_own_landing_is_no_event(scene: Scene, worktree: Path) -> None:
    """A tip of the target that we recorded ourselves is not published as a foreign move."""
    tip = commit(scene.root, "landed")
    with scene.session().store.write() as writer:
        record_tip(writer, Ref("refs/heads/main"), Oid(tip))
    drain(scene.session())
    assert scene.messages("x-target-moved") == []


def test_a_line_in_the_spool_is_a_heartbeat(scene: Scene, worktree: Path) -> None:
    """A hook's line in the spool is a heartbeat of its worker; malformed lines are skipped."""
    session = scene.session()
    admin = git(worktree, "rev-parse", "--absolute-git-dir")
    spool = Path(session.paths.spool)
    (spool / "ring").touch()
    (spool / "hooks").write_text(f"1\tpost-checkout\t{admin}\n\nnonsense\n1\tx\t/nowhere\n")
    (spool / "hooks.99").write_text(f"1\tpost-commit\t{admin}\n")
    drain(session)
    assert scene.execute("SELECT agent_id FROM heartbeats") == [{"agent_id": "auth"}]
    assert list(spool.iterdir()) == []
    drain(session)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    """Draining a directory without a commit does nothing."""
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "-q")
    empty = Scene(root)
    drain(empty.session())
    assert empty.messages("x-target-moved") == []


@pytest.mark.parametrize("part", ["name", "author", "subject"])
def test_bytes_that_are_no_text(scene: Scene, worktree: Path, part: str) -> None:
    """A commit whose file name, author or subject is not UTF-8 is published and blocks nothing."""
    odd = os.fsdecode(b"J\xfcrgen")
    file = odd if part == "name" else "plain"
    (worktree / file).write_text("x")
    git(worktree, "add", "--", file)
    author = odd if part == "author" else "Ada"
    message = odd if part == "subject" else "Plain"
    git(worktree, "commit", "-q", "-m", message, f"--author={author} <ada@example.org>")
    assert len(drained(scene)) == 1
    (payload,) = scene.messages("task_progress")
    assert payload["files_changed_count"] == 1
    if part == "name":
        assert payload["files_changed"] == ["J?rgen"]


def test_a_failing_branch_blocks_no_other(scene: Scene, worktree: Path) -> None:
    """A branch whose commits cannot be published is skipped, and published by a later drain."""
    other = scene.spawn("docs", "u")
    first, second = commit(worktree, "a"), commit(other, "b")
    scene.execute(
        "CREATE TRIGGER no_room BEFORE INSERT ON messages WHEN NEW.from_agent = 'auth'"
        " BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    skipped: list[Ref] = []
    drain(scene.session(), skipped=lambda ref, _: skipped.append(ref))
    assert skipped == [REF]
    assert drained(scene) == [second]
    scene.execute("DROP TRIGGER no_room")
    assert drained(scene) == [second, first]
