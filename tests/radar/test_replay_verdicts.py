"""Conflicts with the target are those of `git rebase`; skipping and the cache change none."""

import contextlib
import os
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines
from gitworker.app import open_session
from gitworker.model.ids import Oid
from gitworker.radar.pair_verdicts import judge
from gitworker.radar.replay_verdicts import judge_rebases
from gitworker.repo.replay.merge_pairs import UNNAMED
from gitworker.session import Session
from tests.branches.branching import Branching
from tests.repo.rebase_oracle import rebase_outcome

DATA = Path(os.environ.get("GITWORKER_DATA") or Path(__file__).parents[3] / "shared" / "data")
SCALE = float(os.environ.get("GITWORKER_TEST_SCALE") or 1)
SEEDS = 2
BRANCHES = 10
REAL_BRANCHES = 40


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a base commit on main, from which `topic` branches off."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": lines(20), "g": "g\n", "lib/a": lines(9), "lib/b": "b\n"})
    repo.git("branch", "topic")
    return repo


def session_of(repo: Repo) -> Session:
    """Open a session in a repository."""
    with contextlib.chdir(repo.root):
        return open_session()


def on(repo: Repo, branch: str, *steps: dict[str, str | None]) -> Oid:
    """Commit each step on a branch; return the tip, with HEAD back on main."""
    repo.git("checkout", "-q", branch)
    for files in steps:
        repo.commit(f"step of {branch}", dict(files))
    tip = repo.head()
    repo.git("checkout", "-q", "main")
    return Oid(tip)


def answers(repo: Repo, tip: Oid) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths in conflict by a rebase and by a merge; the rebase must be git's own."""
    session, target = session_of(repo), Oid(repo.head("main"))
    rebased = judge_rebases(session, [tip], target=target).files[target, tip]
    assert rebased == conflict_of(repo, target, tip)
    return rebased, judge(session, [(target, tip)], target=target).files[target, tip]


def conflict_of(repo: Repo, target: str, tip: str) -> tuple[str, ...]:
    """Rebase for real; return the paths at which it stops, or `?` for a conflict of no file."""
    worktree = repo.root.parent / "oracle"
    oracle = Repo(worktree)
    if not worktree.exists():
        repo.git("worktree", "add", "-q", "--detach", str(worktree), target)
    outcome = rebase_outcome(oracle, target, tip)
    return outcome.paths or ((UNNAMED,) if outcome.stopped else ())


def test_a_conflict_that_a_merge_misses(repo: Repo) -> None:
    """A change that a later commit reverts does not conflict in a merge, but stops a rebase."""
    tip = on(repo, "topic", {"f": lines(20, {3: "x"})}, {"f": lines(20), "g": "new\n"})
    on(repo, "main", {"f": lines(20, {3: "y"})})
    assert answers(repo, tip) == (("f",), ())


def test_a_conflict_that_only_a_merge_has(repo: Repo) -> None:
    """A commit that the target has already, and has changed since, is dropped by a rebase."""
    tip = on(repo, "topic", {"f": lines(20, {3: "x"})}, {"g": "new\n"})
    on(repo, "main", {"f": lines(20, {3: "x"})}, {"f": lines(20, {3: "changed again"})})
    assert answers(repo, tip) == ((), ("f",))


def test_what_cannot_overlap_is_not_replayed(repo: Repo) -> None:
    """Only a branch with a commit that touches a change of the target is replayed, and once."""
    apart = on(repo, "topic", {"n": "1\n"}, {"n": None, "g": "1\n"})
    repo.git("checkout", "-q", "-b", "near", "main")
    near = on(repo, "near", {"g": "1\n"}, {"lib/b": "new\n"}, {"lib/b": "b\n"})
    on(repo, "main", {"lib/b": "target\n"})
    session, target = session_of(repo), Oid(repo.head("main"))
    first = judge_rebases(session, [apart, near], target=target)
    assert (first.merged, first.skipped, first.cached) == (1, 1, 0)
    assert first.files == {(target, apart): (), (target, near): ("lib/b",)}
    again = judge_rebases(session, [near, apart], target=target)
    assert again == first._replace(merged=0, skipped=0, cached=2)


def test_a_merge_program_does_not_run(repo: Repo, tmp_path: Path) -> None:
    """A branch whose files have a merge program of the user's is merged as text instead."""
    repo.git("config", "merge.mine.driver", f"touch {tmp_path}/ran; exit 1")
    on(repo, "main", {".gitattributes": "f merge=mine\n"})
    repo.git("branch", "-f", "topic", "main")
    clash = on(repo, "topic", {"f": lines(20, {3: "x"})})
    repo.git("checkout", "-q", "-b", "other", "main")
    clean = on(repo, "other", {"f": lines(20, {15: "x"})})
    on(repo, "main", {"f": lines(20, {3: "y"})})
    session, target = session_of(repo), Oid(repo.head("main"))
    found = judge_rebases(session, [clash, clean], target=target)
    assert found.files == {(target, clash): ("f",), (target, clean): ()}
    assert not (tmp_path / "ran").exists()


def test_a_branch_that_git_cannot_rebase(repo: Repo) -> None:
    """A branch that git cannot rebase stays unknown, with git's message; others are known."""
    broken = on(repo, "topic", {"f": lines(20, {3: "x"})})
    repo.git("checkout", "-q", "-b", "other", "main")
    whole = on(repo, "other", {"f": lines(20, {3: "z"})})
    on(repo, "main", {"f": lines(20, {3: "y"})})
    blob = repo.git("rev-parse", f"{broken}:f")
    (repo.root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    session, target = session_of(repo), Oid(repo.head("main"))
    found = judge_rebases(session, [broken, whole], target=target)
    assert found.files == {(target, whole): ("f",)}
    assert blob in found.complaint


def check(repo: Repo, tips: list[Oid]) -> None:
    """Require the answers of `git rebase` for every tip."""
    session, target = session_of(repo), Oid(repo.head("main"))
    found = judge_rebases(session, tips, target=target)
    for tip in tips:
        paths = found.files.get((target, tip))
        if paths is not None:  # git 2.39 has pairs that it dies of
            assert paths == conflict_of(repo, target, tip), tip
    assert len(found.files) > len(tips) * 0.9


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_branches(tmp_path: Path, seed: int) -> None:
    """Edits, renames, moved directories, merges and branches on others: the paths of a rebase."""
    repo = Repo.make(tmp_path / "repo")
    check(repo, Branching(seed).build(repo, BRANCHES))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, SEEDS + int(20 * SCALE), 10))
def test_many_random_branches(tmp_path: Path, first: int) -> None:
    """The same, for more seeds."""
    for seed in range(first, first + 10):
        repo = Repo.make(tmp_path / f"{seed}" / "repo")
        check(repo, Branching(seed).build(repo, BRANCHES))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flask", "pre-commit"])
def test_real_branches(tmp_path: Path, name: str) -> None:
    """Topic branches that people once merged: the paths of a rebase onto the target."""
    bundle = DATA / f"{name}.bundle"
    if not bundle.is_file():
        pytest.skip(f"no {bundle}: set GITWORKER_DATA to a directory that has it")
    repo = Repo(tmp_path / "repo")
    Repo(tmp_path).git("clone", "-q", "--no-checkout", str(bundle), str(repo.root))
    repo.git("checkout", "-q", "--detach")
    rows = repo.git("rev-list", "--first-parent", "--merges", "--parents", "HEAD").splitlines()
    merges = [line.split() for line in rows[20 : 20 + int(REAL_BRANCHES * SCALE)]]
    repo.git("branch", "-f", "main", merges[len(merges) // 2][1])
    check(repo, [Oid(parents[2]) for parents in merges if len(parents) == 3])
