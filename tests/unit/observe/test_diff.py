"""diff of a range: since a hand-in, since a verdict, and of work that is not committed."""

from pathlib import Path

import pytest

from gitworker.errors import NotFound
from gitworker.model.ids import Oid
from gitworker.observe.workers.diff import (
    BY_COMMIT,
    REBASED,
    REQUEST,
    REVIEW,
    Diff,
    DiffOptions,
    json_diff,
    read_diff,
)
from gitworker.review.comments.send import reject
from gitworker.session import Session
from gitworker.store.workers import Worker, set_returned
from tests.conftest import git
from tests.unit.observe.scene import commit, in_review, worker, working

NAMES = DiffOptions(names=True)


def names(session: Session, auth: Worker, **options: object) -> list[str]:
    """Return the names of the files that a diff shows."""
    return read_diff(session, auth, NAMES._replace(**options)).text.split()  # type: ignore[arg-type]


def rejected(session: Session) -> Worker:
    """Return a worker whose one commit was sent back."""
    in_review(session, "auth", "skills")
    reject(session, "auth", note="more")
    return worker(session, "auth")


def rebased(repository: Path, auth: Worker, file: str) -> None:
    """Commit on the target, and move the branch onto it with the files of both."""
    (repository / file).write_text("target\n")
    git(repository, "add", file)
    git(repository, "commit", "-qm", "Elsewhere")
    assert auth.worktree is not None
    git(auth.worktree, "rebase", "-q", "-X", "theirs", "main")


def test_paths(session: Session) -> None:
    """Paths select files, from the top of the repository."""
    auth = working(session, "auth", "skills")
    for name in ("a.txt", "b.txt"):
        commit(auth, name)
    assert names(session, auth) == ["a.txt", "b.txt"]
    assert names(session, auth, paths=("b.txt",)) == ["b.txt"]
    assert names(session, auth, paths=(":!b.txt",)) == ["a.txt"]


def test_since_the_request(session: Session) -> None:
    """Later commits are shown alone; before the first hand-in there is nothing to compare."""
    early = working(session, "early", "early")
    with pytest.raises(NotFound, match="the work of early was not handed in yet"):
        read_diff(session, early, DiffOptions(since=REQUEST))
    auth = in_review(session, "auth", "skills")
    assert names(session, auth, since=REQUEST) == []
    commit(auth, "later.txt")
    assert names(session, auth, since=REQUEST) == ["later.txt"]
    with pytest.raises(NotFound, match="the work of auth was not judged yet"):
        read_diff(session, auth, DiffOptions(since=REVIEW))


def test_since_the_review(session: Session) -> None:
    """The judged commit is that of the return, and afterwards that of the newest review."""
    auth = rejected(session)
    judged = git(auth.worktree or "", "rev-parse", "HEAD")
    commit(auth, "fix.txt")
    found = read_diff(session, auth, NAMES._replace(since=REVIEW))
    assert (found.text, found.since, found.note) == ("fix.txt\n", judged, "")
    with session.store.write() as writer:
        writer.run("workers.clear_returned", worker="auth")
    assert names(session, worker(session, "auth"), since=REVIEW) == ["fix.txt"]
    amended = auth._replace(returned_tip=Oid(git(auth.worktree or "", "rev-parse", "HEAD")))
    git(auth.worktree or "", "commit", "-q", "--amend", "-m", "Other words")
    assert names(session, amended, since=REVIEW) == []


def test_since_a_review_before_a_rebase(session: Session, repository: Path) -> None:
    """After a rebase the changes of the target are left out."""
    auth = rejected(session)
    rebased(repository, auth, "elsewhere.txt")
    commit(auth, "fix.txt")
    found = read_diff(session, auth, NAMES._replace(since=REVIEW))
    assert (found.text, found.note) == ("fix.txt\n", REBASED)
    assert json_diff(found)["note"] == REBASED


def test_since_a_review_before_a_rebase_with_conflicts(session: Session, repository: Path) -> None:
    """After a rebase with conflicts the commits are compared one by one."""
    auth = rejected(session)
    rebased(repository, auth, "skills.txt")
    found = read_diff(session, auth, DiffOptions(since=REVIEW, color=True))
    assert found.note == BY_COMMIT
    assert "Add skills.txt" in found.text
    assert found.is_painted


def test_since_a_commit_that_is_gone(session: Session) -> None:
    """A judged commit that no longer exists is named."""
    auth = rejected(session)
    with session.store.write() as writer:
        set_returned(writer, "auth", reason="withdrawn", tip="1" * 40, detail={})
    with pytest.raises(NotFound, match="commit 1111111111 cannot be compared with auth/skills"):
        read_diff(session, worker(session, "auth"), DiffOptions(since=REVIEW))
    assert auth.returned_tip != "1" * 40


def test_uncommitted(session: Session) -> None:
    """Uncommitted work is shown with its new files, and the index stays as it is."""
    auth = working(session, "auth", "skills")
    commit(auth, "done.txt")
    place = Path(auth.worktree or "")
    (place / "README").write_text("changed\n")
    (place / "new.txt").write_text("new\n")
    (place / "staged.txt").write_text("staged\n")
    (place / "left.o").write_text("ignored\n")
    git(place, "add", "staged.txt")
    before = git(place, "status", "--porcelain")
    assert names(session, auth, uncommitted=True) == ["README", "new.txt", "staged.txt"]
    assert names(session, auth, uncommitted=True, paths=("*.txt",)) == ["new.txt", "staged.txt"]
    found: Diff = read_diff(session, auth, DiffOptions(uncommitted=True))
    assert "+changed" in found.text
    assert "+new\n" in found.text
    assert git(place, "status", "--porcelain") == before
    assert names(session, auth) == ["done.txt"]


def test_uncommitted_without_a_worktree(session: Session) -> None:
    """A worker without a worktree has no uncommitted work."""
    auth = working(session, "auth", "skills")._replace(worktree=None, admin_dir=None)
    with pytest.raises(NotFound, match="worker auth has no worktree"):
        read_diff(session, auth, DiffOptions(uncommitted=True))
