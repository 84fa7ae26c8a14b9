"""Verdicts on pairs of commits: the conflicts of both; skipping and the cache change none."""

import contextlib
import os
from itertools import chain, combinations
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines
from gitworker.app import open_session
from gitworker.model.ids import Oid
from gitworker.radar import pair_verdicts
from gitworker.radar.pair_verdicts import find_ahead, judge, pair_of, prune
from gitworker.radar.radar import conflicting_pairs
from gitworker.radar.rules_radar import Pair
from gitworker.session import Session
from tests.branches.branching import Branching
from tests.repo.merge_oracle import merge_outcome, merged, own_outcome

DATA = Path(os.environ.get("GITWORKER_DATA") or Path(__file__).parents[3] / "shared" / "data")
SCALE = float(os.environ.get("GITWORKER_TEST_SCALE") or 1)
SEEDS = 4
BRANCHES = 12
REAL_BRANCHES = 40
SAMPLED = 25
NO_MODE = "000000 "
AT_3 = lines(20, {3: "early"})
MOVED = {"moved/a": lines(9), "moved/b": "b\n"}

Files = dict[str, str | None]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a base commit on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": lines(20), "g": "g\n", "lib/a": lines(9), "lib/b": "b\n"})
    return repo


def session_of(repo: Repo) -> Session:
    """Open a session in a repository."""
    with contextlib.chdir(repo.root):
        return open_session()


def side(repo: Repo, files: Files, start: str = "main") -> Oid:
    """Commit files on a detached HEAD; return the tip, with HEAD back on main."""
    repo.git("checkout", "-q", "--detach", start)
    tip = Oid(repo.commit("side", dict(files)))
    repo.git("checkout", "-q", "main")
    return tip


def all_pairs(target: Oid, tips: list[Oid]) -> list[Pair]:
    """Return every pair of tips and each with the target, in the form of the cache."""
    return [pair_of(one, other, target=target) for one, other in combinations([target, *tips], 2)]


def check(repo: Repo, tips: list[Oid], *, sampled: int) -> tuple[int, int]:
    """Require verdicts of merges without the target's own conflicts; return the counts.

    All are compared with plain merges in memory. For a sample, and for a sample of the verdicts
    that have fewer files, real merges of the pair and of its sides with the target decide.
    """
    session = session_of(repo)
    target = Oid(repo.head("main"))
    wanted = all_pairs(target, list(dict.fromkeys(tips)))
    found = judge(session, wanted, target=target)
    plain = merged(repo, *wanted)
    crashing = set(wanted) - plain.files.keys()  # git 2.39 has pairs that it dies of
    assert len(crashing) < len(wanted) / 10, plain.complaint
    fewer = []
    for pair, files in plain.files.items():
        if found.files[pair] != files:
            assert set(found.files[pair]) < set(files), pair
            fewer.append(pair)
    step = max(1, len(wanted) // sampled)
    for pair in {*sorted(plain.files)[::step], *sorted(fewer)[:: max(1, len(fewer) // sampled)]}:
        if any(entry.startswith(NO_MODE) for entry in chain(*plain.conflicts[pair].values())):
            continue  # git 2.39 writes an index that it cannot read
        assert found.files[pair] == own_outcome(repo, *pair, target=target), pair
    return found.merged, found.skipped


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_branches(tmp_path: Path, seed: int) -> None:
    """Whatever two branches do to each other: nothing that is skipped conflicts."""
    repo = Repo.make(tmp_path / "repo")
    merges, skipped = check(repo, Branching(seed).build(repo, BRANCHES), sampled=3)
    assert merges
    assert skipped


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, SEEDS + int(50 * SCALE), 10))
def test_many_random_branches(tmp_path: Path, first: int) -> None:
    """The same, for more branches and seeds."""
    for seed in range(first, first + 10):
        repo = Repo.make(tmp_path / f"{seed}" / "repo")
        check(repo, Branching(seed).build(repo, BRANCHES), sampled=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flask", "pre-commit"])
def test_real_branches(tmp_path: Path, name: str) -> None:
    """Topic branches that people once merged: verdicts and paths are those of `git merge`."""
    bundle = DATA / f"{name}.bundle"
    if not bundle.is_file():
        pytest.skip(f"no {bundle}: set GITWORKER_DATA to a directory that has it")
    repo = Repo(tmp_path / "repo")
    Repo(tmp_path).git("clone", "-q", "--no-checkout", str(bundle), str(repo.root))
    repo.git("checkout", "-q", "--detach")
    rows = repo.git("rev-list", "--first-parent", "--merges", "--parents", "HEAD").splitlines()
    merges = [line.split() for line in rows[20 : 20 + int(REAL_BRANCHES * SCALE)]]
    repo.git("branch", "-f", "main", merges[len(merges) // 2][1])
    tips = [Oid(parents[2]) for parents in merges if len(parents) == 3]
    _, skipped = check(repo, tips, sampled=SAMPLED)
    assert skipped


def test_every_verdict_is_kept(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time nothing is merged and no process starts; a new tip costs its own pairs."""
    tips = [side(repo, {"f": lines(20, {at: f"{at}"}), f"n{at}": "n\n"}) for at in (1, 1, 9)]
    tips[1] = side(repo, {"f": lines(20, {1: "other"})})
    session, target = session_of(repo), Oid(repo.head("main"))
    first = judge(session, all_pairs(target, tips), target=target)
    assert (first.merged, first.skipped, first.cached) == (3, 3, 0)
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    again = judge(session, all_pairs(target, tips), target=target)
    assert again == first._replace(merged=0, skipped=0, cached=6)
    assert not trace.exists()
    more = [*tips, side(repo, {"f": lines(20, {1: "third"})})]
    third = judge(session, all_pairs(target, more), target=target)
    assert (third.merged, third.skipped, third.cached) == (3, 1, 6)
    started = trace.read_text()
    assert (started.count(" diff-tree "), started.count(" merge-tree ")) == (1, 1)


def test_only_cached_verdicts(repo: Repo) -> None:
    """A query without computation gets cached verdicts; a commit never conflicts with itself."""
    one, other = side(repo, {"f": "1\n"}), side(repo, {"f": "2\n"})
    session, target = session_of(repo), Oid(repo.head("main"))
    assert conflicting_pairs(session, [one, other], target=target, compute=False) == set()
    assert conflicting_pairs(session, [one, target, other, one], target=target) == {
        (0, 2), (2, 3),
    }  # fmt: skip
    assert conflicting_pairs(session, [one, other], target=target, compute=False) == {(0, 1)}
    assert conflicting_pairs(session, [], target=target) == set()


def test_commits_that_the_target_has_already(repo: Repo) -> None:
    """A commit that the target contains is not ahead, and conflicts with others like the target."""
    old = Oid(repo.head("main"))
    other = side(repo, {"f": "2\n"})
    landed = Oid(repo.commit("landed", {"f": "1\n"}))
    repo.commit("on top", {"g": "1\n"})
    session, target = session_of(repo), Oid(repo.head("main"))
    assert find_ahead(session, target=target, tips=[landed, other]) == {other}
    assert conflicting_pairs(session, [landed, other, old, target], target=target) == {
        (0, 1), (1, 3),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("early", "trunk", "late", "files"),
    [
        ({"f": AT_3}, {"f": lines(20, {3: "t"})}, {"g": "late\n"}, ()),
        ({"f": AT_3, "g": "1\n"}, {"f": lines(20, {3: "t"})}, {"g": "2\n"}, ("g",)),
        ({"f": AT_3}, {"f": None}, {"g": "late\n"}, ()),
        ({"f": None}, {"f": lines(20, {3: "t"})}, {"lib/b": "late\n"}, ()),
        ({"n": "1\n", "g": "1\n"}, {"n": "2\n"}, {"g": "2\n"}, ("g",)),
        ({"n": "1\n"}, {"n/file": "2\n"}, {"lib/b": "late\n"}, ()),
        ({"lib/new": "1\n"}, {"lib/a": None, "lib/b": None, **MOVED}, {"g": "late\n"}, ()),
        ({"f": AT_3}, {"f": lines(20, {3: "t"})}, {"f": lines(20, {3: "late"})}, ("f",)),
        ({"f": AT_3}, {"f": None, "moved": lines(20)}, {"moved": lines(20, {3: "l"})}, ("moved",)),
        ({"f": None, "moved": AT_3}, {}, {"f": lines(20, {3: "late"})}, ("moved",)),
        ({"f": None, "moved": AT_3}, {"f": lines(20, {3: "t"})}, {"g": "late\n"}, ()),
    ],
)  # fmt: skip
def test_conflicts_with_the_target_alone(
    repo: Repo, early: Files, trunk: Files, late: Files, files: tuple[str, ...]
) -> None:
    """A pair has only the conflicts to which both branches contribute, not those of the target."""
    one = side(repo, early)
    repo.commit("of the target", {**trunk, "more": "1\n"})
    other = side(repo, late)
    repo.commit("later", {"more": "2\n"})
    session, target = session_of(repo), Oid(repo.head("main"))
    pair = pair_of(one, other, target=target)
    assert judge(session, [pair], target=target).files == {pair: files}
    assert own_outcome(repo, *pair, target=target) == files


def test_a_branch_that_changes_everything(repo: Repo) -> None:
    """A branch with too many changes to keep is merged with every other."""
    blob = repo.git("hash-object", "-w", "f")
    many = "".join(f"100644 {blob}\tmany/{at}\n" for at in range(pair_verdicts.CHANGES_AT_MOST))
    repo.git("checkout", "-q", "--detach", "main")
    repo.git("update-index", "--index-info", input=f"{many}100644 {blob}\th\n".encode())
    repo.git("commit", "-q", "-m", "everything")
    big = Oid(repo.head())
    repo.git("checkout", "-q", "--force", "main")
    apart, near = side(repo, {"x": "1\n"}), side(repo, {"h": "2\n"})
    session, target = session_of(repo), Oid(repo.head("main"))
    found = judge(session, all_pairs(target, [big, apart, near]), target=target)
    assert (found.merged, found.skipped) == (3, 3)
    assert found.files[pair_of(big, near, target=target)] == ("h",)
    assert found.files[pair_of(big, apart, target=target)] == ()


@pytest.mark.parametrize("where", ["target", "branch", "info"])
def test_attributes_hold(repo: Repo, where: str) -> None:
    """merge=union of the target, of a branch itself, or of the repository is obeyed."""
    if where == "target":
        repo.commit("attributes", {".gitattributes": "f merge=union\n"})
    elif where == "info":
        (repo.root / ".git/info").mkdir(exist_ok=True)
        (repo.root / ".git/info/attributes").write_text("f merge=union\n")
    extra: dict[str, str | None] = (
        {".gitattributes": "f merge=union\n"} if where == "branch" else {}
    )
    tips = [side(repo, {"f": f"{name}\n{lines(20)}", **extra}) for name in ("one", "two")]
    plain = side(repo, {"f": f"three\n{lines(20)}"})
    session, target = session_of(repo), Oid(repo.head("main"))
    pairs = [pair_of(tips[0], tips[1], target=target)]
    if where != "branch":
        pairs.append(pair_of(tips[0], plain, target=target))
    found = judge(session, pairs, target=target)
    assert found.files == dict.fromkeys(pairs, ())
    assert all(merge_outcome(repo, *pair) == () for pair in pairs)


def test_the_lower_commits_attributes_hold(repo: Repo) -> None:
    """Of two branches of which one has attributes of its own, it is as if merged into the first."""
    own = side(repo, {"f": f"one\n{lines(20)}", ".gitattributes": "f merge=union\n"})
    plain = side(repo, {"f": f"two\n{lines(20)}"})
    session, target = session_of(repo), Oid(repo.head("main"))
    pair = pair_of(own, plain, target=target)
    assert judge(session, [pair], target=target).files == {pair: merge_outcome(repo, *pair)}


def test_verdicts_on_old_commits_are_deleted(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts go with both commits at once, with one of them after a day, and others stay."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", "4000000000000")
    one, two, three = (side(repo, {"f": f"{at}\n"}) for at in range(3))
    session, target = session_of(repo), Oid(repo.head("main"))
    judge(session, all_pairs(target, [one, two, three]), target=target)

    def left(*live: Oid) -> int:
        with session.store.write() as writer:
            prune(writer, targets=[target], live=live)
        known = judge(session, all_pairs(target, [one, two, three]), target=target, compute=False)
        return known.cached

    assert left(one, two, three) == 6
    assert left(one, two) == 6
    assert left(one) == 5
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(4000000000000 + pair_verdicts.KEPT_MS + 1))
    assert left(one) == 1
    with session.store.read() as reader:
        kept = [*reader.rows("radar.forks", target=target)]
    assert [row["tip_oid"] for row in kept] == [one]


def test_a_pair_that_git_cannot_merge(repo: Repo) -> None:
    """A pair that git cannot merge stays unknown, with git's message, and the others are known."""
    one, other = side(repo, {"f": "1\n"}), side(repo, {"f": "2\n"})
    target = Oid(repo.head("main"))
    blob = repo.git("rev-parse", f"{other}:f")
    (repo.root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    session = session_of(repo)
    third = side(repo, {"f": "3\n"})
    found = judge(session, all_pairs(target, [one, other, third]), target=target)
    good = pair_of(one, third, target=target)
    assert found.files[good] == ("f",)
    assert pair_of(one, other, target=target) not in found.files
    assert blob in found.complaint
    assert judge(session, [good], target=target).cached == 1


def test_long_ids(tmp_path: Path) -> None:
    """A repository of sha256 is judged as any other."""
    repo = Repo.make(tmp_path / "repo", "--object-format=sha256")
    repo.commit("base", {"f": lines(20)})
    tips = [side(repo, {"f": lines(20, {3: text})}) for text in "xy"]
    repo.commit("more", {"g": "1\n"})
    assert check(repo, tips, sampled=9) == (1, 2)


@pytest.mark.parametrize("place", ["bare", "linked", "sparse", "inside"])
def test_from_any_directory(repo: Repo, tmp_path: Path, place: str) -> None:
    """In a bare repository, a linked or sparse worktree, a directory: the same verdicts."""
    repo.commit("attributes", {".gitattributes": "f merge=union\n", "lib/g": lines(20)})
    tips = [side(repo, {"f": f"{at}\n{lines(20)}", "lib/g": f"{at}\n"}) for at in range(2)]
    for number, tip in enumerate(tips):
        repo.git("branch", f"b{number}", tip)
    where = repo
    if place == "bare":
        where = Repo(tmp_path / "bare.git")
        repo.git("clone", "-q", "--bare", ".", str(where.root))
    elif place == "linked":
        where = repo.worktree(tmp_path / "linked", "-b", "other", "main")
    elif place == "sparse":
        repo.git("sparse-checkout", "set", "lib")
    else:
        where = Repo(repo.root / "lib")
    session, target = session_of(where), Oid(repo.head("main"))
    pair = pair_of(tips[0], tips[1], target=target)
    assert judge(session, [pair], target=target).files == {pair: ("lib/g",)}


def test_a_partial_clone(repo: Repo, tmp_path: Path) -> None:
    """The blobs that a clone without blobs lacks are fetched; if that fails, the result says so."""
    tips = [side(repo, {"f": lines(20, {at: "x"})}) for at in (2, 15)]
    for number, tip in enumerate(tips):
        repo.git("branch", f"b{number}", tip)
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Repo(tmp_path / "clone")
    url = f"file://{repo.root}"
    repo.git("clone", "-q", "--filter=blob:none", "--no-checkout", url, str(clone.root))
    session, target = session_of(clone), Oid(repo.head("main"))
    pair = pair_of(tips[0], tips[1], target=target)
    clone.git("remote", "set-url", "origin", f"{url}-is-missing")
    lost = judge(session, [pair], target=target)
    assert (lost.files, lost.merged) == ({}, 0)
    assert "is-missing" in lost.complaint
    clone.git("remote", "set-url", "origin", url)
    assert judge(session, [pair], target=target).files == {pair: ()}
