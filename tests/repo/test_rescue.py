"""A rescue ref keeps the tip and all uncommitted work, and touches nothing."""

from pathlib import Path

import pytest

from fixtures.repos import Repo, lines, tree_bytes
from gitworker.model.ids import Oid, TaskId, WorkerId
from gitworker.repo.plumbing.git import Git
from gitworker.repo.rescue.rescue_refs import (
    RescueRef,
    list_rescues,
    rescue,
    rescue_tips,
    rescue_worktree_only_commits,
    unpack,
)

WORKER, TASK = WorkerId("auth"), TaskId("task")


@pytest.fixture
def work(tmp_path: Path) -> Repo:
    """A worker's worktree with one commit of its own."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("base", {"f": lines(9), "g": lines(9), ".gitignore": "*.log\n"})
    work = repo.worktree(tmp_path / "work", "-b", "auth/task")
    work.commit("own", {"own": "1\n"})
    return work


def save(work: Repo, tip: str = "auth/task", task: TaskId = TASK) -> RescueRef:
    """Rescue; require that index, files and branches are as before."""
    admin = Path(work.git("rev-parse", "--absolute-git-dir"))
    work.git("status")  # refreshes the index once, so that ours can be seen not to
    before = (tree_bytes(work.root), tree_bytes(admin), work.git("for-each-ref", "refs/heads"))
    saved = rescue(
        Git(str(work.root)), worker=WORKER, task=task, tip=Oid(work.head(tip)),
        worktree=str(work.root),
    )  # fmt: skip
    assert (tree_bytes(work.root), tree_bytes(admin)) == before[:2]
    assert work.git("for-each-ref", "refs/heads") == before[2]
    return saved


def test_a_clean_worktree_keeps_its_tip(work: Repo) -> None:
    """With nothing uncommitted the ref points at the tip itself; once more gives the same ref."""
    saved = save(work)
    assert saved == RescueRef(saved.ref, Oid(work.head()), WORKER, TASK, 1)
    assert saved.ref == "refs/worker/rescue/auth/task/1"
    assert save(work) == saved


def test_numbers_count_up(work: Repo) -> None:
    """Each different state gets the next number, past nine too, each task its own."""
    for number in range(1, 12):
        work.write({"f": f"{number}\n"})
        assert save(work).number == number
    assert save(work, task=TaskId("other")).number == 1
    git = Git(str(work.root))
    assert [one.number for one in list_rescues(git, task=TASK)] == list(range(1, 12))
    assert len(list_rescues(git, worker=WORKER)) == 12
    assert list_rescues(git, worker=WorkerId("unknown")) == ()


def test_a_task_without_rescues_costs_no_process(
    work: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of the refs show that a task has no rescue; packed ones are found all the same."""
    save(work)
    git, other = Git(str(work.root)), TaskId("other")
    monkeypatch.setenv("GITWORKER_TRACE", str(tmp_path / "trace"))
    for _ in range(2):
        assert list_rescues(git, task=other) == list_rescues(git, worker=WORKER, task=other) == ()
        assert not (tmp_path / "trace").exists()
        work.git("pack-refs", "--all")
    assert (
        len(list_rescues(git, task=TASK)) == len(list_rescues(git, worker=WORKER, task=TASK)) == 1
    )


def test_uncommitted_work_is_a_stash(work: Repo) -> None:
    """`git stash apply` restores staged, unstaged and untracked work, but no ignored files."""
    work.write({"f": "staged\n", "staged": "s\n"})
    work.git("add", "f", "staged")
    work.write({"f": "dirty\n", "g": "dirty\n", "deep/untracked": "u\n", "my.log": "secret\n"})
    (work.root / "own").unlink()
    saved = save(work)
    tip = work.head()
    assert work.git("rev-parse", f"{saved.oid}^1") == tip
    assert work.git("show", f"{saved.oid}^2:f") == "staged"
    names = work.git("ls-tree", "-r", "--name-only", saved.oid).split()
    assert names == [".gitignore", "deep/untracked", "f", "g", "staged"]
    work.git("reset", "-q", "--hard")
    work.git("clean", "-fdq")
    work.git("stash", "apply", "-q", "--index", saved.oid)
    assert (work.root / "f").read_text() == "dirty\n"
    assert (work.root / "deep/untracked").read_text() == "u\n"
    assert not (work.root / "own").exists()
    assert work.git("show", ":f") == "staged"


def test_an_unmerged_index_is_rescued(work: Repo) -> None:
    """A conflict in progress is no obstacle: the files with their markers are kept."""
    work.git("checkout", "-q", "-b", "other", "main")
    work.commit("other", {"own": "other\n"})
    work.git("checkout", "-q", "auth/task")
    work.run("merge", "other")
    saved = save(work)
    assert "<<<<<<<" in work.git("show", f"{saved.oid}:own")


def test_the_sides_of_a_conflict_are_kept(work: Repo) -> None:
    """Blobs that only an unmerged index has are led to by the ref, each by its stage and path."""
    blobs = [work.git("hash-object", "-w", "--stdin", input=side) for side in (b"b", b"o", b"t")]
    sides = [f"100644 {oid} {stage}\td/f\0" for stage, oid in enumerate(blobs, 1)]
    work.git("update-index", "-z", "--index-info", input="".join(sides).encode())
    saved = save(work)
    conflict = work.git("rev-parse", f"{saved.oid}^2^2^{{tree}}")
    listed = work.git("ls-tree", "-r", "--format=%(path) %(objectname)", conflict).splitlines()
    assert listed == [f"{stage}/d/f {oid}" for stage, oid in enumerate(blobs, 1)]


def test_restored_work_is_rescued_once(work: Repo) -> None:
    """A state that an earlier rescue has gets its ref again, though another came between."""
    first = save(work)
    work.write({"f": "1\n"})
    assert save(work).number == 2
    work.git("checkout", "-q", "--", "f")
    assert save(work) == first


def test_uncommitted_work_is_unpacked(work: Repo) -> None:
    """A rescue is restored into a clean worktree, index and files, and never over a file."""
    work.write({"f": "staged\n"}).git("add", "f")
    work.write({"f": "then changed\n", "new": "untracked\n"})
    before = (tree_bytes(work.root), work.git("ls-files", "--stage"))
    saved, tip = save(work), Oid(work.head())
    work.git("reset", "-q", "--hard")
    here = Git(str(work.root))
    assert not unpack(here, saved.oid, tip=tip)  # `new` is in the way
    assert work.git("status", "--porcelain") == "?? new"
    (work.root / "new").unlink()
    assert not unpack(here, tip, tip=tip)
    assert unpack(here, saved.oid, tip=tip)
    assert (tree_bytes(work.root), work.git("ls-files", "--stage")) == before


def test_loose_commits_are_kept_together(work: Repo) -> None:
    """Commits that only HEAD was at are kept under one ref; without such commits no ref is made."""
    git, admin = Git(str(work.root.parent / "repo")), work.git("rev-parse", "--absolute-git-dir")

    def keep() -> RescueRef | None:
        return rescue_worktree_only_commits(git, worker=WORKER, task=TASK, admin_dir=admin)

    assert keep() is None
    dropped = []
    for name in ("one", "two"):
        dropped.append(work.commit(name, {name: "1\n"}))
        work.git("reset", "-q", "--hard", "HEAD~1")
    saved = keep()
    assert saved is not None
    assert set(work.git("rev-parse", f"{saved.oid}^@").split()) == set(dropped)
    assert keep() is None


def test_the_commits_of_an_open_rebase_are_kept(work: Repo) -> None:
    """Commits that a rebase has picked so far are reachable, though no branch has them yet."""
    work.commit("two", {"f": "mine\n"})
    work.git("checkout", "-q", "-b", "target", "main")
    work.commit("target", {"f": "other\n"})
    work.git("checkout", "-q", "auth/task")
    work.run("rebase", "target")
    picked = work.head()
    saved = save(work)
    assert work.run("merge-base", "--is-ancestor", picked, saved.oid).returncode == 0
    assert work.run("merge-base", "--is-ancestor", "auth/task", saved.oid).returncode == 0
    work.git("reset", "-q", "--hard")
    clean = save(work)
    assert work.run("merge-base", "--is-ancestor", picked, clean.oid).returncode == 0


@pytest.mark.parametrize(
    "setting", ["core.safecrlf=true", "commit.gpgSign=true", "core.autocrlf=input"]
)
def test_no_setting_keeps_work_from_being_rescued(work: Repo, setting: str) -> None:
    """Settings that make `git add` or `git commit` refuse do not matter here."""
    name, _, value = setting.partition("=")
    work.git("config", name, value)
    work.git("config", "gpg.program", "false")
    (work.root / ".gitattributes").write_text("* text=auto\n")
    work.write({"mixed": "a\r\nb\n"})
    assert "mixed" in work.git("ls-tree", "--name-only", save(work).oid)


def test_a_repository_inside_does_not_stop_the_rescue(work: Repo, tmp_path: Path) -> None:
    """An untracked repository, even an empty one, leaves the rest of the work rescued."""
    Repo.make(work.root / "empty")
    Repo.make(work.root / "inner").commit("inner", {"i": "1\n"})
    work.write({"zz": "mine\n"})
    assert "zz" in work.git("ls-tree", "--name-only", save(work).oid).split()


def test_a_change_in_the_tick_of_the_index_is_rescued(work: Repo) -> None:
    """Same size, same time stamp as the index: the changed content is still seen."""
    for number in range(10):
        work.write({"f": f"{number}\n"})
        work.git("add", "f")
        work.write({"f": f"{9 - number}\n"})
        saved = rescue(
            Git(str(work.root)), worker=WORKER, task=TASK, tip=Oid(work.head()),
            worktree=str(work.root),
        )  # fmt: skip
        assert work.git("show", f"{saved.oid}:f") == f"{9 - number}"


def test_without_a_worktree_the_tip_is_kept(work: Repo) -> None:
    """A branch whose worktree was deleted is rescued as well."""
    saved = rescue(
        Git(str(work.root)), worker=WORKER, task=TASK, tip=Oid(work.head("main")), worktree=None
    )
    assert work.head(saved.ref) == work.head("main")


def test_the_first_rescue_starts_one_process(
    work: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the files show that a task has no rescue, git only writes the ref."""
    git, tip = Git(str(work.root)), Oid(work.head())
    monkeypatch.setenv("GITWORKER_TRACE", str(tmp_path / "trace"))
    saved = rescue(git, worker=WORKER, task=TASK, tip=tip, worktree=None)
    assert len((tmp_path / "trace").read_text().splitlines()) == 1
    assert work.head(saved.ref) == tip


@pytest.mark.parametrize("prune", ["--prune", "--no-prune"])
def test_packed_rescues_are_found(work: Repo, prune: str) -> None:
    """A rescue in packed-refs counts like a loose one, and a task's name is not a longer one's."""
    first = save(work)
    save(work, task=TaskId("task-2"))
    work.git("pack-refs", "--all", prune)
    assert save(work) == first
    work.commit("more", {"own": "2\n"})
    assert save(work).number == 2
    assert save(work, task=TaskId("tas")).number == 1


def test_another_ref_backend_is_asked(work: Repo) -> None:
    """With a directory of reftables the files show nothing, and git is asked."""
    first = save(work)
    common = Path(work.git("rev-parse", "--git-common-dir"))
    (common / "reftable").mkdir()
    assert save(work) == first


def test_several_tips_are_rescued_at_once(
    work: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tips of several branches are kept by one process, as each alone would be."""
    git, tip = Git(str(work.root)), Oid(work.head())
    base = Oid(work.head("main"))
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    saved = rescue_tips(git, [(WORKER, TASK, tip), (WorkerId("docs"), TASK, base)])
    assert len(trace.read_text().splitlines()) == 1
    assert tuple(saved) == list_rescues(git)
    assert [(one.worker, one.oid, one.number) for one in saved] == [
        ("auth", tip, 1),
        ("docs", base, 1),
    ]
    again = rescue_tips(git, [(WORKER, TASK, tip), (WorkerId("docs"), TASK, tip)])
    assert again[0] == saved[0]
    assert (again[1].number, again[1].oid) == (2, tip)


def test_tips_are_rescued_against_a_rival(work: Repo) -> None:
    """If one of several refs cannot be made as planned, each tip is kept by itself."""
    git, tip = Git(str(work.root)), Oid(work.head())
    asked = [(WORKER, TASK, tip), (WORKER, TASK, Oid(work.head("main")))]  # the same number twice
    saved = rescue_tips(git, asked)
    assert [one.number for one in saved] == [1, 2]
    assert [one.oid for one in list_rescues(git)] == [tip, work.head("main")]
