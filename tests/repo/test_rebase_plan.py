"""The quick method for rebase's list of commits gives the same list as git's own commands."""

import subprocess
from pathlib import Path

import pytest

from fixtures.repos import RandomHistory, Repo, lines
from gitworker.model.ids import Oid
from gitworker.repo.history.diffs import diff_commits
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.rebase_plan import COMPARED_AT_MOST, RebasePlan, load_plan
from gitworker.repo.replay.replay_cache import ReplayCache
from tests.repo.rebase_oracle import assert_same

SEEDS = 6


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a base commit; `topic` branches off it, HEAD is on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": lines(20), "g": lines(9)})
    repo.git("branch", "topic")
    return repo


def plan(
    repo: Repo, target: str = "main", topic: str = "topic", *, memory: ReplayCache | None = None
) -> RebasePlan:
    """Return the plan of a rebase."""
    git = Git(str(repo.root))
    tips = Oid(repo.head(target)), Oid(repo.head(topic))
    return load_plan(git, target=tips[0], topic=tips[1], memory=memory)


def assert_as_listed(repo: Repo, target: str = "main", topic: str = "topic") -> RebasePlan:
    """Require that a plan equals merge-base and rebase's own rev-list; return it."""
    found = plan(repo, target, topic)
    bases = repo.run("merge-base", "--all", target, topic).stdout.decode().split()
    merges = repo.git("rev-list", "--merges", f"{target}..{topic}")
    assert (list(found.bases), found.is_linear) == (bases, not merges)
    if found.is_unchanged:
        return found
    options = ("--reverse", "--topo-order", "--no-merges", "--right-only")
    for commits, option in ((found.commits, "--cherry-mark"), (found.todo, "--cherry-pick")):
        listed = repo.git("rev-list", *options, option, f"{target}...{topic}").split()
        assert [commit.oid for commit in commits] == [oid.lstrip("=+") for oid in listed]
    return found


def on(repo: Repo, branch: str, *steps: dict[str, str | bytes | None]) -> None:
    """Commit each step's files on a branch, with HEAD back on main."""
    repo.git("checkout", "-q", branch)
    for number, files in enumerate(steps):
        repo.commit(f"{branch} {number}", files)
    repo.git("checkout", "-q", "main")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_pair_of_a_random_history_is_listed(tmp_path: Path, seed: int) -> None:
    """Ahead, behind, equal, diverged: bases, order and the commits of the target equal git's."""
    repo = Repo.make(tmp_path / "repo")
    RandomHistory(repo, seed).build()
    repo.git("merge", "-q", "-s", "ours", "-m", "merge", "topic")
    commits = repo.git("rev-list", "--all").split()
    memory = ReplayCache()
    for target in commits[::2]:
        for topic in commits:
            found = assert_as_listed(repo, target, topic)
            assert plan(repo, target, topic, memory=memory) == found


def test_remembered_facts_are_not_asked_again(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second plan of the same command asks git only about commits that are new to it."""
    repo.commit("on main", {"g": lines(3)})
    repo.git("checkout", "-q", "topic")
    repo.commit("ours", {"f": lines(3)})
    memory = ReplayCache()
    found = plan(repo, memory=memory)
    own, theirs = repo.head("topic"), repo.head("main")
    assert set(memory.changes) == {own, theirs}
    trace = tmp_path / "trace"
    trace.touch()
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    git = Git(str(repo.root))
    assert diff_commits(git, [theirs, own], known=memory.changes) == diff_commits(
        git, [theirs, own]
    )
    assert len(trace.read_text().splitlines()) == 1
    assert plan(repo, memory=memory) == found


def test_old_dates_hide_nothing(repo: Repo) -> None:
    """If the target's commits are dated long before the fork, the fork point is still found."""
    fork = on_date(repo, 2_000_000_000, parents=[repo.head()])
    tip = fork
    for number in range(20):
        tip = on_date(repo, 1_000 + number, parents=[tip])
    on(repo, "topic", {"own": "1\n"})
    tree = repo.git("rev-parse", "topic^{tree}")
    repo.git("branch", "-qf", "topic", on_date(repo, 2_000_000_001, parents=[fork], tree=tree))
    found = assert_as_listed(repo, tip)
    assert (found.bases, len(found.commits)) == ((fork,), 1)


def on_date(repo: Repo, seconds: int, *, parents: list[str], tree: str | None = None) -> str:
    """Make a commit that was committed at a given second, with the tree of main or another."""
    tree = tree or repo.git("rev-parse", "main^{tree}")
    head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    head += [f"{role} A <a@e.org> {seconds} +0000" for role in ("author", "committer")]
    return repo.raw_commit("\n".join([*head, "", "subject", ""]).encode())


EQUAL: dict[str, tuple[dict[str, str | bytes | None], dict[str, str | bytes | None]]] = {
    "the same patch": ({"f": lines(20, {1: "x"})}, {"f": lines(20, {1: "x"})}),
    "names that differ by a space": ({"a b": "1\n"}, {"ab": "1\n"}),
    "white space": ({"f": lines(20, {1: " x"})}, {"f": lines(20, {1: "x  "})}),
    "nothing": ({}, {}),
    "one path more": ({"f": "1\n"}, {"f": "1\n", "g": "1\n"}),
    "other content": ({"f": "1\n"}, {"f": "2\n"}),
    "a deletion": ({"f": None}, {"f": None}),
    "binary": ({"new": b"\0\1"}, {"new": b"\0\1"}),
}


@pytest.mark.parametrize("name", sorted(EQUAL))
def test_patches_of_the_target_are_marked_as_git_marks_them(repo: Repo, name: str) -> None:
    """Git compares patches of the same paths; patches of other paths are surely different."""
    topic, target = EQUAL[name]
    on(repo, "topic", topic, {"own": "1\n"})
    on(repo, "main", {"before": "1\n"}, target, {"after": "1\n"})
    assert_same(repo, repo.head("main"), repo.head("topic"))
    if topic:
        assert_as_listed(repo)


def test_an_empty_commit_is_kept_if_the_target_has_one(repo: Repo) -> None:
    """Rebase keeps a commit that was empty, in a line, beside a merge and as a root."""
    on(repo, "topic", {}, {"own": "1\n"})
    repo.git("branch", "side", "topic~1")
    on(repo, "side", {"side": "1\n"}, {})
    on(repo, "main", {}, {"after": "1\n"})
    assert_same(repo, repo.head("main"), repo.head("topic"))
    repo.git("checkout", "-q", "topic")
    repo.git("merge", "-q", "--no-edit", "side")
    on(repo, "topic", {})
    assert_same(repo, repo.head("main"), repo.head("topic"))
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.git("rm", "-rqf", ".")
    repo.commit("empty root")
    repo.commit("more", {"alone": "1\n"})
    repo.git("checkout", "-q", "main")
    assert_same(repo, repo.head("main"), repo.head("alone"))


def test_a_patch_that_came_by_a_merge_is_marked(repo: Repo) -> None:
    """The target's own commits are those of its merged branches too, older ones included."""
    repo.commit("later", {"later": "1\n"})
    repo.git("branch", "-qf", "side", "topic")
    repo.git("branch", "-qf", "topic", "main")
    on(repo, "topic", {"f": lines(20, {1: "x"})}, {"g": "1\n"})
    on(repo, "side", {"f": lines(20, {1: "x"})})
    repo.git("merge", "-q", "--no-edit", "side")
    found = assert_as_listed(repo)
    assert (len(found.commits), len(found.todo)) == (2, 1)


def test_a_submodule_that_settings_ignore_is_ignored(repo: Repo) -> None:
    """A patch whose submodule does not count is found among the target's."""
    repo.commit("modules", {".gitmodules": '[submodule "s"]\n\tpath = sub\n\tignore = all\n'})
    repo.git("branch", "-qf", "topic", "main")
    for branch, extra in (("topic", "1" * 40), ("main", None)):
        repo.git("checkout", "-q", branch)
        if extra:
            repo.git("update-index", "--add", "--cacheinfo", f"160000,{extra},sub")
        repo.write({"f": lines(20, {1: "x"})})
        repo.git("add", "f")
        repo.git("commit", "-qm", branch)
    assert_as_listed(repo)


def test_many_commits_on_the_target_are_left_to_git(repo: Repo) -> None:
    """With more target commits than we read ourselves, equal commits are still found."""
    on(repo, "topic", {"f": lines(20, {1: "x"})}, {"g": "1\n"})
    on(repo, "main", {"f": lines(20, {1: "x"})})
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@e.org> {1_800_000_000 + number} +0000\n"
        f"data 1\nx\n{'from refs/heads/main^0' if number == 0 else ''}\n"
        for number in range(COMPARED_AT_MOST)
    )
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=repo.root, input=stream.encode(), check=True
    )
    found = assert_as_listed(repo)
    assert (len(found.commits), len(found.todo)) == (2, 1)


def test_a_replacement_does_not_count(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replace ref that gives a commit two parents leaves the topic a line, as it will land."""
    on(repo, "topic", {"f": "1\n"}, {"f": "2\n"})
    on(repo, "main", {"g": "1\n"})
    repo.git("replace", "--graft", "topic", "topic~1", "main")
    monkeypatch.setenv("GIT_NO_REPLACE_OBJECTS", "1")  # for the oracle
    found = assert_as_listed(repo)
    assert found.is_linear
