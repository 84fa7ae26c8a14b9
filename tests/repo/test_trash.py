"""A tree in the trash is restored byte for byte, at whatever step the move was killed."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines, tree_bytes
from gitworker.errors import Refused
from gitworker.proc import spawn_detached
from gitworker.repo.rescue import trash
from gitworker.repo.rescue.trash import (
    TrashEntry,
    list_trash,
    move_to_trash,
    repair_trash,
    restore_from_trash,
)
from tests.repo.killing import run_killed

State = tuple[dict[str, bytes], dict[str, bytes], str]


class Removal:
    """A worktree in the middle of a rebase, with work of every kind."""

    def __init__(self, tmp_path: Path) -> None:
        self.repo = Repo.make(tmp_path / "repo")
        self.repo.commit("base", {"f": lines(9), "g": lines(9), ".gitignore": "*.log\n"})
        self.root = tmp_path / "worktrees"
        self.work = self.repo.worktree(self.root / "task", "-b", "auth/task")
        self.work.commit("one", {"f": lines(9, {1: "one"})})
        self.work.commit("two", {"h": "two\n"})
        self.repo.commit("main", {"f": lines(9, {1: "main"})})
        self.work.run("rebase", "main")
        staged = {"g": "staged\n", "new": "staged\n"}
        self.work.write(staged)
        self.work.git("add", "g", "new")
        self.work.write({"g": "dirty\n", "untracked/u": "u\n", "my.log": "ignored\n"})
        (self.work.root / "link").symlink_to("nowhere")
        self.admin = self.work.git("rev-parse", "--absolute-git-dir")
        self.trash_root = str(self.root / ".trash")

    def state(self) -> State:
        """Return every byte of tree and admin directory, and git's status."""
        status = self.work.git("status", "--porcelain", "--ignored")
        return tree_bytes(self.work.root), tree_bytes(Path(self.admin)), status

    def remove(self) -> TrashEntry:
        """Move the worktree into the trash."""
        return move_to_trash(
            worktree=str(self.work.root), admin_dir=self.admin, trash_root=self.trash_root,
            name="auth/task", stamp="20260101T000000", branch="refs/heads/auth/task",
        )  # fmt: skip


@pytest.fixture
def removal(tmp_path: Path) -> Removal:
    """A worktree to remove."""
    return Removal(tmp_path)


REMOVE = """
import sys
from gitworker.repo.rescue.trash import move_to_trash
worktree, admin_dir, trash_root = sys.argv[1:]
move_to_trash(worktree=worktree, admin_dir=admin_dir, trash_root=trash_root, name="auth/task",
              stamp="20260101T000000", branch="refs/heads/auth/task")
"""
RESTORE = """
import sys
from gitworker.repo.rescue.trash import list_trash, restore_from_trash
restore_from_trash(list_trash(sys.argv[1])[0])
"""


def test_a_removed_worktree_is_restored_byte_for_byte(removal: Removal) -> None:
    """Index, staged, untracked and ignored files and the open rebase are as they were."""
    before = removal.state()
    entry = removal.remove()
    assert not removal.work.root.exists()
    assert not Path(removal.admin).exists()
    assert list_trash(removal.trash_root) == (entry,)
    assert len(removal.repo.git("worktree", "list").splitlines()) == 1
    assert restore_from_trash(entry) == str(removal.work.root)
    assert removal.state() == before
    assert list_trash(removal.trash_root) == ()
    removal.work.git("checkout", "-q", "--theirs", "f")
    removal.work.git("add", "--all")
    removal.work.git("-c", "core.editor=true", "rebase", "--continue")


def test_it_is_restored_to_another_place_too(removal: Removal, tmp_path: Path) -> None:
    """At another place, and if its admin name is taken, git finds its way."""
    before = removal.work.git("status", "--porcelain", "--ignored")
    entry = removal.remove()
    removal.repo.worktree(tmp_path / "other" / "task", "--detach")
    place = restore_from_trash(entry, worktree=str(tmp_path / "back"))
    assert Repo(Path(place)).git("status", "--porcelain", "--ignored") == before
    listed = removal.repo.git("worktree", "list", "--porcelain")
    assert f"worktree {tmp_path / 'back'}" in listed
    assert f"worktree {tmp_path / 'other' / 'task'}" in listed


@pytest.mark.parametrize("point", ["trash-recorded", "trash-admin", "trash-tree"])
def test_a_killed_removal_is_finished(removal: Removal, point: str) -> None:
    """Killed between any two steps, repair finishes, and the restored tree is complete."""
    before = removal.state()
    run_killed(point, REMOVE, str(removal.work.root), removal.admin, removal.trash_root)
    [entry] = repair_trash(removal.trash_root)
    assert repair_trash(removal.trash_root) == ()
    assert not removal.work.root.exists()
    restore_from_trash(entry)
    assert removal.state() == before


@pytest.mark.parametrize("point", ["restore-recorded", "restore-tree", "restore-admin"])
def test_a_killed_restoration_is_finished(removal: Removal, point: str) -> None:
    """Killed between any two steps, repair brings the worktree back whole."""
    before = removal.state()
    removal.remove()
    run_killed(point, RESTORE, removal.trash_root)
    assert len(repair_trash(removal.trash_root)) == 1
    assert removal.state() == before
    assert repair_trash(removal.trash_root) == ()
    assert os.listdir(removal.trash_root) == []


@pytest.mark.parametrize("point", ["restore-recorded", "restore-tree"])
def test_a_killed_restoration_gives_way(removal: Removal, tmp_path: Path, point: str) -> None:
    """If another worktree got its admin name after the kill, each has its own in the end."""
    before = removal.work.git("status", "--porcelain", "--ignored")
    removal.remove()
    run_killed(point, RESTORE, removal.trash_root)
    other = removal.repo.worktree(tmp_path / "other" / removal.work.root.name, "--detach")
    assert other.git("rev-parse", "--absolute-git-dir") == removal.admin
    assert len(repair_trash(removal.trash_root)) == 1
    assert removal.work.git("status", "--porcelain", "--ignored") == before
    assert other.git("status", "--porcelain") == ""
    assert removal.work.git("rev-parse", "--absolute-git-dir") != removal.admin


def test_an_occupied_place_is_refused(removal: Removal) -> None:
    """A file at its old place is not overwritten."""
    entry = removal.remove()
    removal.work.root.mkdir()
    with pytest.raises(Refused):
        restore_from_trash(entry)
    assert list_trash(removal.trash_root) == (entry,)


def test_a_locked_worktree_is_refused(removal: Removal) -> None:
    """A lock that the user put on a worktree is respected."""
    removal.repo.git("worktree", "lock", str(removal.work.root))
    before = removal.state()
    with pytest.raises(Refused):
        removal.remove()
    assert removal.state() == before


def test_another_file_system_is_refused(removal: Removal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename that would have to copy is refused before anything moves."""
    before = removal.state()
    monkeypatch.setattr(trash, "device_of", lambda path: len(path))
    with pytest.raises(Refused) as caught:
        removal.remove()
    monkeypatch.undo()
    assert caught.value.code == "cross_device"
    assert removal.state() == before


def test_one_name_can_be_removed_twice(removal: Removal) -> None:
    """Two entries of one stamp and name have two places; the later one is found by name."""
    removal.remove()
    again = removal.repo.worktree(removal.root / "task", "-b", "auth/again")
    second = move_to_trash(
        worktree=str(again.root), admin_dir=again.git("rev-parse", "--absolute-git-dir"),
        trash_root=removal.trash_root, name="auth/task", stamp="20260101T000000",
    )  # fmt: skip
    assert list_trash(removal.trash_root, name="auth/task")[-1] == second
    assert list_trash(removal.trash_root, name="unknown/nothing") == ()


@pytest.fixture
def clean(removal: Removal) -> TrashEntry:
    """A removed worktree that holds nothing but its commit, one of its directories read-only."""
    tree = removal.repo.worktree(removal.root / "clean", "-b", "auth/clean")
    tree.commit("deep", {"deep/file": "x\n"})
    (tree.root / "deep").chmod(0o555)
    return move_to_trash(
        worktree=str(tree.root), admin_dir=tree.git("rev-parse", "--absolute-git-dir"),
        trash_root=removal.trash_root, name="auth/clean", stamp="20260101T000000",
    )  # fmt: skip


def test_deletion_continues_in_the_background(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean entry is deleted in the background; read-only directories do not stop that."""
    discard(removal, clean, monkeypatch)
    assert os.listdir(removal.trash_root) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsyncObjectFiles", "true"), ("trace2.eventTarget", "2"),
        ("trace2.normalTarget", "2"), ("trace2.perfTarget", "2"),
    ],
)  # fmt: skip
def test_warnings_of_git_are_no_content(
    removal: Removal,
    clean: TrashEntry,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    value: str,
) -> None:
    """A setting for which every git writes to standard error keeps no clean entry."""
    removal.repo.git("config", "--global", key, value)
    Path(f"{clean.admin}/HEAD").write_text(f"{removal.repo.git('rev-parse', 'auth/clean')}\n")
    discard(removal, clean, monkeypatch)
    assert os.listdir(removal.trash_root) == []


@pytest.mark.parametrize("late", ["untracked", "deep/file"])
def test_a_late_write_is_not_deleted(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """A file that was made or changed after the check keeps the whole entry in the trash."""
    (Path(clean.tree) / "deep").chmod(0o755)
    (Path(clean.tree) / late).write_text("late\n")
    discard(removal, clean, monkeypatch)
    assert list_trash(removal.trash_root) == (clean,)
    assert (Path(clean.tree) / late).read_text() == "late\n"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_hidden_by_a_flag_is_not_deleted(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    """A file that the index hides counts by its content; unchanged or absent it keeps nothing."""
    common_dir = removal.repo.git("rev-parse", "--absolute-git-dir")
    index = {**os.environ, "GIT_DIR": common_dir, "GIT_INDEX_FILE": f"{clean.admin}/index"}
    argv = ["git", "update-index", flag, "f", "g"]
    subprocess.run(argv, cwd=clean.tree, env=index, check=True)
    (Path(clean.tree) / "g").unlink()
    (Path(clean.tree) / "f").write_text("mine\n")
    discard(removal, clean, monkeypatch)
    assert list_trash(removal.trash_root) == (clean,)
    Repo(removal.repo.root).git("--work-tree", clean.tree, "checkout", "auth/clean", "--", "f")
    discard(removal, clean, monkeypatch)
    assert os.listdir(removal.trash_root) == []


def test_a_commit_that_only_its_head_holds_is_not_deleted(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A detached HEAD keeps the entry while no ref leads to its commit."""
    tip, tree = (removal.repo.git("rev-parse", f"auth/clean{suffix}") for suffix in ("", "^{tree}"))
    lost = removal.repo.git("commit-tree", "-p", tip, "-m", "an experiment", tree)
    (Path(clean.admin) / "HEAD").write_text(f"{lost}\n")
    discard(removal, clean, monkeypatch)
    assert list_trash(removal.trash_root) == (clean,)
    removal.repo.git("branch", "kept", lost)
    discard(removal, clean, monkeypatch)
    assert os.listdir(removal.trash_root) == []


def test_a_commit_that_its_own_ref_holds_is_not_deleted(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ref in refs/worktree/ keeps the entry while no other leads to its commit."""
    tip, tree = (removal.repo.git("rev-parse", f"auth/clean{suffix}") for suffix in ("", "^{tree}"))
    lost = removal.repo.git("commit-tree", "-p", tip, "-m", "an experiment", tree)
    own = Path(clean.admin) / "refs" / "worktree" / "mine"
    own.parent.mkdir(parents=True)
    own.write_text(f"{lost}\n")
    discard(removal, clean, monkeypatch)
    assert list_trash(removal.trash_root) == (clean,)
    removal.repo.git("branch", "kept", lost)
    discard(removal, clean, monkeypatch)
    assert os.listdir(removal.trash_root) == []


def test_ignored_files_keep_an_entry_for_a_week(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry with ignored files can be restored for seven days; the next deletion deletes it."""
    (Path(clean.tree) / "secret.log").write_text("the only copy\n")
    discard(removal, clean, monkeypatch)
    assert list_trash(removal.trash_root) == (clean,)
    mark = Path(clean.path) / trash.LANDED
    for days in (0, 6.9):
        age(mark, days)
        discard(removal, removal.remove(), monkeypatch)
        assert clean in list_trash(removal.trash_root)
        restore_from_trash(list_trash(removal.trash_root, name="auth/task")[0])
    age(mark, 7.1)
    (Path(clean.tree) / "late").write_text("written meanwhile\n")
    dirty = removal.remove()
    discard(removal, dirty, monkeypatch)
    assert clean in list_trash(removal.trash_root)
    (Path(clean.tree) / "late").unlink()
    discard(removal, dirty, monkeypatch)
    assert list_trash(removal.trash_root) == (dirty,)


def test_old_marks_can_be_passed_by(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a clock has jumped, entries that seem to have waited for a week stay."""
    (Path(clean.tree) / "secret.log").write_text("the only copy\n")
    discard(removal, clean, monkeypatch)
    age(Path(clean.path) / trash.LANDED, 8)
    other = removal.remove()
    discard(removal, other, monkeypatch, keep_marked=True)
    assert clean in list_trash(removal.trash_root)
    discard(removal, other, monkeypatch)
    assert clean not in list_trash(removal.trash_root)


def test_an_entry_on_its_way_back_is_not_deleted(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that an undo has claimed is not deleted, however old its mark is."""
    (Path(clean.tree) / "secret.log").write_text("the only copy\n")
    discard(removal, clean, monkeypatch)
    age(Path(clean.path) / trash.LANDED, 8)
    claimed = trash._claim(clean)
    discard(removal, removal.remove(), monkeypatch)
    assert (Path(claimed.tree) / "secret.log").exists()


def test_a_look_leaves_no_lock(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An entry restored during the check of a deletion can be used at once."""
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    os.mkfifo(gate)
    os.mkfifo(begun)
    attributes = Path(removal.repo.git("rev-parse", "--absolute-git-dir"), "info", "attributes")
    attributes.write_text("deep/file filter=slow\n")
    slow = f"test -e {gate}-off || {{ echo >{begun}; cat {gate}; }}; cat"
    removal.repo.git("config", "filter.slow.clean", slow)
    os.utime(Path(clean.tree, "deep/file"), (1, 1))  # git must read it again
    pid = begin_discard(removal, clean, monkeypatch)
    begun.read_text()
    Path(f"{gate}-off").touch()
    back = Repo(Path(restore_from_trash(clean)))
    gate.write_text("")
    os.waitpid(pid, 0)
    back.commit("late", {"late": "x\n"})


@pytest.mark.parametrize("script", ["DELETE", "DELETE_CLEAN"])
def test_a_deletion_stops_at_a_mount_inside(
    removal: Removal, clean: TrashEntry, tmp_path: Path, script: str
) -> None:
    """A directory of the host that is mounted in a worktree keeps its files."""
    host, inside = tmp_path / "host", Path(clean.tree) / "data.log"
    host.mkdir()
    (host / "precious").write_text("the host's\n")
    inside.mkdir()
    tip = removal.repo.git("rev-parse", "auth/clean")
    (Path(clean.path) / trash.LANDED).write_text(f"{tip}\n")
    age(Path(clean.path) / trash.LANDED, 8)
    git_dir = removal.repo.git("rev-parse", "--absolute-git-dir")
    program = 'mount --bind "$1" "$2" || exit 77; shift 2; exec /bin/sh -c "$@"'
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "/bin/sh", "-c", program, "sh", host, inside,
         getattr(trash, script), "sh", clean.path, tip],
        check=False, env={**os.environ, "GIT_DIR": git_dir},
    )  # fmt: skip
    assert (host / "precious").exists()
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    assert (Path(clean.tree) / "f").exists()


def age(file: Path, days: float) -> None:
    """Make a file as old as that."""
    then = time.time() - days * 24 * 3600
    os.utime(file, (then, then))


def test_a_killed_deletion_is_resumed(
    removal: Removal, clean: TrashEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repair deletes the rest of a killed deletion, but not while that deletion may still run."""
    doomed = Path(removal.trash_root) / f"{trash.DOOMED}auth"
    os.rename(clean.path, doomed)
    assert repair_trash(removal.trash_root) == ()
    assert doomed.is_dir()
    monkeypatch.setattr(trash, "RESUMED_AFTER_S", -1)
    pids: list[int] = []
    collect_jobs(pids, monkeypatch)
    repair_trash(removal.trash_root)
    os.waitpid(pids[0], 0)
    assert os.listdir(removal.trash_root) == []


def collect_jobs(pids: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Note the pid of each background job that is started from now on."""

    def start(argv: list[str], **place: object) -> int:
        pids.append(spawn_detached(argv, **place))
        return pids[-1]

    monkeypatch.setattr("gitworker.proc.spawn_detached", start)


def discard(
    removal: Removal,
    entry: TrashEntry,
    monkeypatch: pytest.MonkeyPatch,
    *,
    keep_marked: bool = False,
) -> None:
    """Let the entry be deleted if it is clean, and wait for the process that does it."""
    os.waitpid(begin_discard(removal, entry, monkeypatch, keep_marked=keep_marked), 0)


def begin_discard(
    removal: Removal,
    entry: TrashEntry,
    monkeypatch: pytest.MonkeyPatch,
    *,
    keep_marked: bool = False,
) -> int:
    """Begin to delete the entry if it is clean; return the process that does it."""
    pids: list[int] = []
    collect_jobs(pids, monkeypatch)
    common_dir = removal.repo.git("rev-parse", "--absolute-git-dir")
    tip = removal.repo.git("rev-parse", "auth/clean")
    trash.delete_clean_in_background([(entry, tip)], common_dir, keep_marked=keep_marked)
    return pids[0]


def test_a_foreign_directory_in_the_trash_is_left_alone(removal: Removal) -> None:
    """An entry without a record of ours is neither listed nor repaired."""
    foreign = Path(removal.trash_root) / "mine"
    foreign.mkdir(parents=True)
    (foreign / "record").write_text("not ours")
    assert list_trash(removal.trash_root) == ()
    assert repair_trash(removal.trash_root) == ()
    assert foreign.exists()


def test_one_entry_stops_no_other(removal: Removal, tmp_path: Path) -> None:
    """An entry whose removal cannot be finished waits, and the others are repaired."""
    entry = removal.remove()
    stuck = tmp_path / "worktrees" / ".trash" / "0-first"
    stuck.mkdir()
    record = json.loads((Path(entry.path) / "record").read_text())
    for path, facts in (
        (stuck, {"name": "stuck", "worktree": "/proc/self", "state": "removing"}),
        (Path(entry.path), {"state": "removing"}),
    ):
        (path / "record").write_text(json.dumps({**record, "admin_dir": "/nowhere", **facts}))
    assert [one.name for one in repair_trash(removal.trash_root)] == ["auth/task"]
    assert repair_trash(removal.trash_root) == ()
