"""Replaying against `git rebase` on generated histories and on real ones."""

import os
from pathlib import Path

import pytest

from fixtures.repos import RandomHistory, Repo
from tests.repo.rebase_oracle import assert_same

PROJECT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("GITWORKER_DATA") or PROJECT.parent / "shared" / "data")
SCALE = float(os.environ.get("GITWORKER_TEST_SCALE") or 1)
BRANCHES = 40
SEEDS = 12
WHOLE = 10  # the scale at which every branch is taken


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_history_comes_out_as_in_rebase(tmp_path: Path, seed: int) -> None:
    """Edits, renames, directory moves, deletions and duplicates at random: the same outcome."""
    repo = Repo.make(tmp_path / "repo")
    assert_same(repo, *RandomHistory(repo, seed).build())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS, SEEDS + int(30 * SCALE)))
def test_many_random_histories_come_out_as_in_rebase(tmp_path: Path, seed: int) -> None:
    """The same, for more seeds."""
    repo = Repo.make(tmp_path / "repo")
    assert_same(repo, *RandomHistory(repo, seed).build())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flask", "pre-commit"])
def test_real_topic_branches_come_out_as_in_rebase(tmp_path: Path, name: str) -> None:
    """Branches that people once merged: verdict, trees, text and paths are those of rebase."""
    bundle = DATA / f"{name}.bundle"
    if not bundle.is_file():
        pytest.skip(f"no {bundle}: set GITWORKER_DATA to a directory that has it")
    repo = Repo(tmp_path / "repo")
    Repo(tmp_path).git("clone", "-q", "--no-checkout", str(bundle), str(repo.root))
    repo.git("checkout", "-q", "--detach")
    merges = [
        line.split() for line in repo.git("rev-list", "--merges", "--parents", "HEAD").splitlines()
    ]
    pairs = [(first, second) for _, first, second in (row for row in merges if len(row) == 3)]
    wanted = len(pairs) if SCALE >= WHOLE else max(1, int(BRANCHES * SCALE))
    for target, topic in pairs[:: max(1, len(pairs) // wanted)][:wanted]:
        assert_same(repo, target, topic)
