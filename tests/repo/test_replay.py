"""Replay gives the same result as `git rebase` in every constructed case that ever failed."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fixtures.repos import Content, Repo, lines
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.replay.rebase_plan import NeedsRebase
from gitworker.repo.replay.replay import ReplayConflict, Replayed, ReplayResult, replay
from gitworker.repo.replay.replay_cache import ReplayCache
from tests.repo.rebase_oracle import assert_same, predicted

BASE: dict[str, Content] = {
    "f": lines(20),
    "g": lines(9),
    "lib/one.c": lines(30, {1: "one"}),
    "lib/two.c": lines(30, {2: "two"}),
    "lib/three.c": lines(30, {3: "three"}),
    "bin.dat": bytes(range(256)) * 4,
    "run.sh": "#!/bin/sh\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a base commit; `topic` branches off it, HEAD is on main."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", BASE)
    repo.git("branch", "topic")
    return repo


def on(repo: Repo, branch: str, *steps: Mapping[str, Content]) -> str:
    """Commit each step's files on a branch; return the tip, with HEAD back on main."""
    repo.git("checkout", "-q", branch)
    for number, files in enumerate(steps):
        repo.commit(f"{branch} {number}", files)
    tip = repo.head()
    repo.git("checkout", "-q", "main")
    return tip


def test_a_branch_on_the_target_is_unchanged(repo: Repo) -> None:
    """A linear branch whose base is the target is returned unchanged."""
    topic = on(repo, "topic", {"f": "1\n"}, {"f": "2\n"})
    result = assert_same(repo, repo.head("main"), topic)
    assert result == Replayed(Oid(topic), (), unchanged=True)


def test_a_branch_behind_the_target_becomes_the_target(repo: Repo) -> None:
    """A branch without a commit of its own ends at the target."""
    topic = repo.head("topic")
    target = on(repo, "main", {"f": "1\n"})
    result = assert_same(repo, target, topic)
    assert result == Replayed(Oid(target), (), unchanged=False)


def test_a_commit_is_never_older_than_its_parent(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committer's date is now, for each replay, or the date of a target from the future."""
    topic = on(repo, "topic", {"f": "1\n"}, {"f": "2\n"})
    memory, dates = ReplayCache(), []
    for number, committed, now_s in ((1, 3_000_000_000, 100), (2, 1_000_000_000, 3_500_000_000)):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{committed} +0000")
        target = on(repo, "main", {"new": f"{number}\n"})
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(now_s * 1000))
        result = replay(
            Git(str(repo.root)), target=Oid(target), topic=Oid(topic), memory=memory,
            scratch_dir=str(repo.root / ".git"),
        )  # fmt: skip
        assert isinstance(result, Replayed)
        dates += repo.git("log", "--format=%ct", f"{target}..{result.new}").split()
    assert dates == ["3000000000"] * 2 + ["3500000000"] * 2


def test_picks_record_the_outcome_of_each_commit(repo: Repo) -> None:
    """Every commit is listed with its new id, and new ids are the branch's commits in order."""
    topic = on(repo, "topic", {"f": lines(20, {1: "x"})}, {"g": lines(9, {1: "y"})})
    target = on(repo, "main", {"new": "n\n"})
    result = assert_same(repo, target, topic)
    assert isinstance(result, Replayed)
    made = repo.git("rev-list", "--reverse", f"{target}..{result.new}").split()
    old = repo.git("rev-list", "--reverse", f"main..{topic}").split()
    assert [(pick.old, pick.new) for pick in result.picks] == list(zip(old, made, strict=True))
    assert [pick.subject for pick in result.picks] == ["topic 0", "topic 1"]


def test_a_conflict_names_commit_and_paths(repo: Repo) -> None:
    """The first commit that does not fit is named with all its conflicting paths."""
    topic = on(repo, "topic", {"new": "n\n"}, {"f": lines(20, {3: "x"}), "g": lines(9, {3: "x"})})
    target = on(repo, "main", {"f": lines(20, {3: "y"}), "g": lines(9, {3: "y"})})
    result = assert_same(repo, target, topic)
    assert result == ReplayConflict(Oid(topic), "topic 1", ("f", "g"))


def test_a_prediction_keeps_no_object(repo: Repo) -> None:
    """A predicted replay writes nothing into the repository, with or without a conflict."""
    topic = on(repo, "topic", {"f": lines(20, {3: "x"})}, {"f": lines(20, {3: "x", 9: "z"})})
    target = on(repo, "main", {"f": lines(20, {15: "y"})})
    clashing = on(repo, "main", {"f": lines(20, {9: "y"})})
    before = repo.git("count-objects", "-v")
    assert predicted(repo, target, topic) is None
    assert predicted(repo, clashing, topic) == ReplayConflict(Oid(topic), "topic 1", ("f",))
    assert repo.git("count-objects", "-v") == before


def test_a_prediction_without_programs(repo: Repo) -> None:
    """A prediction that would need the user's merge program is refused if none may run."""
    repo.git("config", "merge.mine.driver", "false")
    on(repo, "main", {".gitattributes": "f merge=mine\n"})
    repo.git("branch", "-f", "topic", "main")
    topic = on(repo, "topic", {"f": lines(20, {3: "x"})})
    target = on(repo, "main", {"f": lines(20, {15: "y"})})
    with pytest.raises(NeedsRebase):
        predicted(repo, target, topic, runs_programs=False)
    assert predicted(repo, target, topic) == ReplayConflict(Oid(topic), "topic 0", ("f",))


def directory_rename(repo: Repo) -> tuple[str, str]:
    """The target renames a directory; the topic adds to the old one and edits in it."""
    repo.git("mv", "lib", "src")
    target = on(repo, "main", {})
    edits = {"lib/four.c": lines(5), "lib/one.c": lines(30, {1: "one", 20: "x"})}
    return target, on(repo, "topic", edits)


def rename_rename(repo: Repo) -> tuple[str, str]:
    """Both sides rename one file, to different names."""
    repo.git("mv", "f", "f-main")
    target = on(repo, "main", {})
    repo.git("checkout", "-q", "topic")
    repo.git("mv", "f", "f-topic")
    return target, on(repo, "topic", {})


def rename_and_edit(repo: Repo) -> tuple[str, str]:
    """The topic renames a file that the target edits."""
    repo.git("checkout", "-q", "topic")
    repo.git("mv", "f", "deep-f")
    topic = on(repo, "topic", {"deep-f": lines(20, {1: "x"})})
    return on(repo, "main", {"f": lines(20, {15: "y"})}), topic


def mode_change(repo: Repo) -> tuple[str, str]:
    """One side makes a file executable, the other edits it."""
    repo.git("checkout", "-q", "topic")
    repo.git("update-index", "--chmod=+x", "run.sh")
    repo.git("commit", "-qm", "mode")
    repo.git("reset", "-q", "--hard")
    repo.git("checkout", "-q", "main")
    return on(repo, "main", {"run.sh": "#!/bin/sh\ntrue\n"}), repo.head("topic")


def symlink(repo: Repo) -> tuple[str, str]:
    """The topic turns a file into a link while the target edits another."""
    repo.git("checkout", "-q", "topic")
    (repo.root / "g").unlink()
    (repo.root / "g").symlink_to("f")
    target = _second(repo)
    return target, repo.head("topic")


def _second(repo: Repo) -> str:
    repo.commit("link")
    repo.git("checkout", "-q", "main")
    return on(repo, "main", {"f": lines(20, {4: "z"})})


def symlink_conflict(repo: Repo) -> tuple[str, str]:
    """One side turns a file into a link, the other edits that file."""
    repo.git("checkout", "-q", "topic")
    (repo.root / "f").unlink()
    (repo.root / "f").symlink_to("g")
    target = _second(repo)
    return target, repo.head("topic")


def binary_conflict(repo: Repo) -> tuple[str, str]:
    """Both sides change a binary file."""
    topic = on(repo, "topic", {"bin.dat": bytes(range(256)) * 5})
    return on(repo, "main", {"bin.dat": bytes(range(256)) * 6}), topic


def binary_clean(repo: Repo) -> tuple[str, str]:
    """Only the topic changes a binary file."""
    topic = on(repo, "topic", {"bin.dat": b"\0\1\2\n" * 99})
    return on(repo, "main", {"f": "1\n"}), topic


def delete_modify(repo: Repo) -> tuple[str, str]:
    """One side deletes a file that the other edits."""
    topic = on(repo, "topic", {"g": None})
    return on(repo, "main", {"g": lines(9, {1: "x"})}), topic


def directory_file(repo: Repo) -> tuple[str, str]:
    """One side adds a file at a path at which the other adds a directory."""
    topic = on(repo, "topic", {"place": "file\n"})
    return on(repo, "main", {"place/inside": "file\n"}), topic


def add_add(repo: Repo) -> tuple[str, str]:
    """Both sides add one file with different content."""
    topic = on(repo, "topic", {"new": "topic\n"})
    return on(repo, "main", {"new": "main\n"}), topic


def merge_in_branch(repo: Repo) -> tuple[str, str]:
    """The topic merged the target in the middle, with a side branch of its own."""
    on(repo, "topic", {"f": lines(20, {1: "x"})})
    on(repo, "main", {"g": lines(9, {1: "m"})})
    repo.git("checkout", "-q", "-b", "side", "topic")
    repo.commit("side", {"side": "s\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.git("merge", "-q", "--no-edit", "side")
    topic = on(repo, "topic", {"f": lines(20, {1: "x", 9: "y"})})
    return on(repo, "main", {"g": lines(9, {1: "m", 8: "n"})}), topic


def merge_on_target(repo: Repo) -> tuple[str, str]:
    """The topic starts at the target and holds a merge: it is flattened."""
    repo.git("checkout", "-q", "-b", "side", "topic")
    repo.commit("side", {"side": "s\n"})
    on(repo, "topic", {"f": lines(20, {1: "x"})})
    repo.git("checkout", "-q", "topic")
    repo.git("merge", "-q", "--no-edit", "side")
    return repo.head("main"), on(repo, "topic", {"g": "1\n"})


def already_upstream(repo: Repo) -> tuple[str, str]:
    """The target has one of the topic's commits already."""
    topic = on(repo, "topic", {"f": lines(20, {1: "x"})}, {"g": lines(9, {1: "y"})})
    on(repo, "main", {"new": "n\n"})
    repo.git("cherry-pick", f"{topic}~1")
    return repo.head("main"), topic


def becomes_empty(repo: Repo) -> tuple[str, str]:
    """The target has two of the topic's commits in one commit: they become empty."""
    topic = on(
        repo,
        "topic",
        {"f": lines(20, {1: "x"})},
        {"f": lines(20, {1: "x", 9: "y"})},
        {"g": lines(9, {1: "z"})},
    )
    return on(repo, "main", {"f": lines(20, {1: "x", 9: "y"}), "new": "n\n"}), topic


def started_empty(repo: Repo) -> tuple[str, str]:
    """The topic holds commits that are empty from the start: they stay."""
    topic = on(repo, "topic", {}, {"f": lines(20, {1: "x"})}, {})
    return on(repo, "main", {"new": "n\n"}), topic


def fast_forwarded_after_drop(repo: Repo) -> tuple[str, str]:
    """The first commit is the target itself, the rest stand on it with a merge between."""
    first = on(repo, "topic", {"f": lines(20, {1: "x"})})
    repo.git("merge", "-q", "--ff-only", first)
    repo.git("checkout", "-q", "-b", "side", first)
    repo.commit("side", {"side": "s\n"})
    repo.git("checkout", "-q", "topic")
    repo.commit("own", {"own": "o\n"})
    repo.git("merge", "-q", "--no-edit", "side")
    repo.git("checkout", "-q", "main")
    return first, repo.head("topic")


def root_commit(repo: Repo) -> tuple[str, str]:
    """The topic has a history of its own, root commit included."""
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.git("rm", "-rqf", ".")
    repo.commit("root", {"alone": "1\n"})
    repo.commit("more", {"alone": "1\n2\n", "f2": "x\n"})
    topic = repo.head()
    repo.git("checkout", "-q", "main")
    return repo.head("main"), topic


def root_conflict(repo: Repo) -> tuple[str, str]:
    """A root commit adds a file that the target has with other content."""
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.git("rm", "-rqf", ".")
    repo.commit("root", {"f": "other\n"})
    topic = repo.head()
    repo.git("checkout", "-q", "main")
    return repo.head("main"), topic


def empty_root(repo: Repo) -> tuple[str, str]:
    """A root commit without a file is empty from the start."""
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.git("rm", "-rqf", ".")
    repo.commit("empty root")
    repo.commit("more", {"alone": "1\n"})
    topic = repo.head()
    repo.git("checkout", "-q", "main")
    return repo.head("main"), topic


def odd_names(repo: Repo) -> tuple[str, str]:
    """Paths with a space, a newline, a quote and bytes that are no UTF-8."""
    name = b'o\xe9 dd\n"x'.decode("utf-8", "surrogateescape")
    topic = on(repo, "topic", {f"d {name}/{name}": "1\n", "\ttab": "t\n"})
    return on(repo, "main", {f"d {name}/{name}": "2\n"}), topic


def many_merge_bases(repo: Repo) -> tuple[str, str]:
    """A criss-cross: target and topic have two merge bases."""
    one = on(repo, "topic", {"f": lines(20, {1: "x"})})
    two = on(repo, "main", {"g": lines(9, {1: "y"})})
    repo.git("merge", "-q", "--no-edit", one)
    repo.git("checkout", "-q", "topic")
    repo.git("merge", "-q", "--no-edit", two)
    topic = on(repo, "topic", {"f": lines(20, {1: "x", 9: "z"})})
    return on(repo, "main", {"g": lines(9, {1: "y", 7: "z"})}), topic


CASES: list[Callable[[Repo], tuple[str, str]]] = [
    directory_rename, rename_rename, rename_and_edit, mode_change, symlink, symlink_conflict,
    binary_conflict, binary_clean, delete_modify, directory_file, add_add, merge_in_branch,
    merge_on_target, already_upstream, becomes_empty, started_empty, fast_forwarded_after_drop,
    root_commit, root_conflict, empty_root, odd_names, many_merge_bases,
]  # fmt: skip


@pytest.mark.parametrize("build", CASES, ids=lambda case: case.__name__)
def test_a_constructed_case_comes_out_as_in_rebase(
    repo: Repo, build: Callable[[Repo], tuple[str, str]]
) -> None:
    """Verdict, trees, authors, messages and conflicting paths are those of `git rebase`."""
    assert_same(repo, *build(repo))


def test_dropped_commits_are_listed_without_a_new_id(repo: Repo) -> None:
    """A commit that the target has already, or that became empty, has no new id."""
    target, topic = already_upstream(repo)
    result = assert_same(repo, target, topic)
    assert isinstance(result, Replayed)
    assert [pick.new is None for pick in result.picks] == [True, False]


def test_a_submodule_pointer_follows(repo: Repo, tmp_path: Path) -> None:
    """A submodule's commit changed on one side is taken; changed on both it conflicts."""
    module = Repo.make(tmp_path / "module")
    commits = [module.commit(f"m{number}", {"m": f"{number}\n"}) for number in range(3)]

    def point(branch: str, commit: str) -> str:
        repo.git("checkout", "-q", branch)
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        repo.git("commit", "-qm", f"{branch} sub")
        repo.git("checkout", "-q", "main")
        return repo.head(branch)

    point("main", commits[0])
    repo.git("branch", "-qf", "topic", "main")
    topic = point("topic", commits[1])
    assert_same(repo, on_bare(repo, {"other": "1\n"}), topic)
    result = assert_same(repo, point("main", commits[2]), topic)
    assert isinstance(result, ReplayConflict)
    assert result.paths == ("sub",)


def on_bare(repo: Repo, files: Mapping[str, str]) -> str:
    """Commit files on main without touching other entries of the index."""
    for name, text in files.items():
        (repo.root / name).write_text(text)
        repo.git("add", name)
    repo.git("commit", "-qm", "plain")
    return repo.head()


def test_a_bare_repository_is_replayed_in(repo: Repo, tmp_path: Path) -> None:
    """No worktree is needed."""
    topic = on(repo, "topic", {"f": lines(20, {1: "x"})})
    target = on(repo, "main", {"f": lines(20, {15: "y"})})
    bare = tmp_path / "bare.git"
    repo.git("clone", "-q", "--bare", str(repo.root), str(bare))
    result = replay(
        Git(str(bare)), target=Oid(target), topic=Oid(topic), scratch_dir=str(tmp_path / "s")
    )
    assert isinstance(result, Replayed)
    assert Repo(bare).git("show", f"{result.new}:f") == lines(20, {1: "x", 15: "y"}).strip()


def test_a_sha256_repository_is_replayed_in(tmp_path: Path) -> None:
    """Ids of 64 digits work throughout."""
    repo = Repo.make(tmp_path / "repo", "--object-format=sha256")
    repo.commit("base", BASE)
    repo.git("branch", "topic")
    topic = on(repo, "topic", {"f": lines(20, {1: "x"})})
    assert_same(repo, on(repo, "main", {"f": lines(20, {15: "y"})}), topic)


def test_the_private_directory_is_removed(repo: Repo, tmp_path: Path) -> None:
    """Nothing stays in the scratch directory after a replay in memory."""
    topic = on(repo, "topic", {"f": lines(20, {1: "x"})})
    assert_same(repo, on(repo, "main", {"f": lines(20, {15: "y"})}), topic)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_missing_commit_is_an_error(repo: Repo, tmp_path: Path) -> None:
    """An id that names nothing raises GitFailed and not a verdict."""
    with pytest.raises(GitFailed):
        replay(
            Git(str(repo.root)), target=Oid("1" * 40), topic=Oid(repo.head()),
            scratch_dir=str(tmp_path / "s"),
        )  # fmt: skip


def test_nothing_is_written_but_the_new_commits(repo: Repo, tmp_path: Path) -> None:
    """No synthetic commit gets into the repository, and of a replay that stops no commit at all."""
    on(repo, "topic", {"f": lines(20, {3: "x"})}, {"g": lines(9, {3: "x"})})
    before = commits_in(repo)
    target = on(repo, "main", {"new": "n\n"})
    result = assert_same(repo, target, repo.head("topic~1"))
    assert isinstance(result, Replayed)
    result = replay_here(repo, tmp_path, target, repo.head("topic"))
    assert isinstance(result, Replayed)
    made = {pick.new for pick in result.picks}
    assert commits_in(repo) >= before | made
    known = commits_in(repo)
    target = on(repo, "main", {"g": lines(9, {3: "y"})})
    assert isinstance(replay_here(repo, tmp_path, target, repo.head("topic")), ReplayConflict)
    assert commits_in(repo) == known | {target}


def commits_in(repo: Repo) -> set[str]:
    """Return every commit in the object database, reachable or not."""
    objects = repo.git(
        "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"
    )
    return {line.split()[0] for line in objects.splitlines() if line.endswith(" commit")}


def replay_here(repo: Repo, tmp_path: Path, target: str, topic: str) -> ReplayResult:
    """Replay in the repository."""
    git = Git(str(repo.root))
    return replay(git, target=Oid(target), topic=Oid(topic), scratch_dir=str(tmp_path / "s"))


def test_one_process_per_commit(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes are expensive: six, one per replayed commit, and one to compare patches."""
    steps = [{"f": lines(20, {number: "x"})} for number in range(5)]
    topic = on(repo, "topic", *steps)
    target = on(repo, "main", {"new": "n\n"})
    near = on(repo, "main", {"f": lines(20, {15: "y"})})
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))

    def processes(onto: str, tip: str) -> int:
        trace.write_text("")
        replay_here(repo, tmp_path, onto, repo.head(tip))
        return len(trace.read_text().splitlines())

    assert [processes(target, f"{topic}~4"), processes(target, topic)] == [7, 11]
    assert processes(near, topic) == 12
    assert processes(repo.head("topic~5"), topic) == 1
