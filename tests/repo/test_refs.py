"""Refs move only from their expected commits."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import (
    change_refs,
    create_ref,
    delete_branch,
    find_head_ref,
    find_ref,
    is_ancestor,
    move_ref,
    read_refs,
)

TOPIC = Ref("refs/heads/topic")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with two commits on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("one")
    repo.commit("two")
    return repo


def test_a_ref_lives_by_compare_and_set(repo: Repo) -> None:
    """Made, moved and deleted from the expected state; anything else is a Conflict."""
    git, old, new = Git(str(repo.root)), Oid(repo.head("main~1")), Oid(repo.head())
    create_ref(git, TOPIC, old, reason="test")
    with pytest.raises(Conflict):
        create_ref(git, TOPIC, old, reason="test")
    with pytest.raises(Conflict):
        move_ref(git, TOPIC, old=new, new=old, reason="test")
    move_ref(git, TOPIC, old=old, new=new, reason="because")
    assert repo.git("reflog", "-1", "--format=%gs", "topic") == "because"
    with pytest.raises(Conflict):
        delete_branch(git, TOPIC, old)
    assert find_ref(git, TOPIC) == new
    delete_branch(git, TOPIC, new)
    delete_branch(git, TOPIC, new)
    assert find_ref(git, TOPIC) is None


def test_many_refs_are_read_at_once(repo: Repo) -> None:
    """Patterns select; ids are the refs' own."""
    repo.git("branch", "auth/one")
    repo.git("tag", "t")
    git = Git(str(repo.root))
    assert set(read_refs(git, ["refs/heads/"])) == {"refs/heads/main", "refs/heads/auth/one"}
    assert read_refs(git, ["refs/heads/auth/"]) == {Ref("refs/heads/auth/one"): repo.head()}
    assert read_refs(git, ["refs/none/"]) == {}


def test_head_and_ancestry(repo: Repo) -> None:
    """HEAD's branch is None if HEAD is detached; a commit contains itself."""
    git, old, new = Git(str(repo.root)), Oid(repo.head("main~1")), Oid(repo.head())
    assert find_head_ref(git) == "refs/heads/main"
    repo.git("checkout", "-q", "--detach")
    assert find_head_ref(git) is None
    assert is_ancestor(git, old, new)
    assert is_ancestor(git, new, new)
    assert not is_ancestor(git, new, old)


def test_several_change_at_once(repo: Repo) -> None:
    """Several refs are created and deleted in one command; if one of them fails, none changes."""
    git, tip = Git(str(repo.root)), repo.head()
    made = [f"create refs/heads/a/{number} {tip}" for number in range(3)]
    assert change_refs(git, made, reason="test")
    assert len(read_refs(git, ["refs/heads/a/"])) == 3
    deletions = [f"delete refs/heads/a/{number} {tip}" for number in range(2)]
    assert not change_refs(git, [*deletions, f"create refs/heads/a/2 {tip}"], reason="test")
    assert len(read_refs(git, ["refs/heads/a/"])) == 3
    assert change_refs(git, deletions, reason="test")
    assert list(read_refs(git, ["refs/heads/a/"])) == ["refs/heads/a/2"]
