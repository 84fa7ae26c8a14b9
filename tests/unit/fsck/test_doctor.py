"""doctor: its findings in sound and broken repositories, and their output."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.app import open_session, remove_excludes
from gitworker.errors import Unavailable
from gitworker.fsck.doctor import (
    Doctor,
    json_doctor,
    read_doctor,
    read_doctor_without_session,
    render_doctor,
)
from gitworker.fsck.finding import Finding, Level, fail, ok, warn
from gitworker.fsck.quick.state_directory import check_file_system
from gitworker.liveness.process_origin import this_origin
from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.paths import require_repository
from gitworker.processes.table import find_process
from gitworker.session import Session
from gitworker.store.operations import begin_operation
from gitworker.store.payloads.payload import Unreadable
from gitworker.store.sqlite.database import Database
from gitworker.store.workers import set_process
from tests.conftest import git
from tests.unit.observe.conftest import NOW_MS
from tests.unit.observe.scene import landed, spawned, working

PAGE = 4096
SHOWN = Doctor(
    (
        ok("git", "git 2.47.3"),
        warn("hooks", "a \x1b name\n", "git worker hooks install"),
        fail("history", "main: 12 landed, and a long sentence on the fault of one"),
    )
)


def found(doctor: Doctor, check: str) -> list[tuple[str, str, str | None]]:
    """Return the findings of one check."""
    return [(f.level.value, f.message, f.hint or None) for f in doctor.findings if f.code == check]


def complaints(session: Session) -> list[Finding]:
    """Return doctor's complaints."""
    return [one for one in read_doctor(session).findings if one.level is not Level.OK]


def test_screen() -> None:
    """Each finding is a line, with its hint below, and the total at the end."""
    assert render_doctor(SHOWN, width=50, color=False) == (
        "ok    git         git 2.47.3\n"
        "warn  hooks       a \\x1b name\\n\n"
        "                  → git worker hooks install\n"
        "fail  history     main: 12 landed, and a long sen…\n"
        "\n"
        "1 problem, 1 warning"
    )
    assert "\x1b[31mfail\x1b[0m  history" in render_doctor(SHOWN, width=None, color=True)
    well = Doctor((ok("git", "git 2.47.3"),))
    assert render_doctor(well, width=None, color=False).endswith(
        "\n\nall 1 checks passed; the state of the work: git worker status"
    )
    assert (well.is_healthy, SHOWN.is_healthy) == (True, False)


def test_json() -> None:
    """The document has every finding as fields."""
    document = json_doctor(SHOWN)
    assert document["healthy"] is False
    assert document["findings"][1] == {
        "level": "warn", "check": "hooks", "message": "a \x1b name\n",
        "hint": "git worker hooks install",
    }  # fmt: skip


def test_sound_repository(session: Session) -> None:
    """A repository with work and landings has no complaint."""
    working(session, "auth", "skills")
    landed(session, "docs", "guide")
    doctor = read_doctor(session)
    assert [one for one in doctor.findings if one.level is not Level.OK] == []
    assert found(doctor, "worktrees") == [("ok", "1 in use, all in place", None)]
    assert found(doctor, "history") == [
        ("ok", "main: 1 landing, all in place, linear history", None)
    ]
    assert len(doctor.findings) == 19


def test_fresh_repository(session: Session) -> None:
    """A repository without workers is sound too."""
    doctor = read_doctor(session)
    assert doctor.is_healthy
    assert found(doctor, "log") == [("ok", "no transitions.jsonl yet", None)]
    assert found(doctor, "hooks") == [("ok", "not needed yet", None)]
    assert found(doctor, "beater") == [("ok", "not needed now", None)]


def test_state_directory_open_to_others(session: Session) -> None:
    """A state directory that others may read is a warning."""
    os.chmod(session.paths.root, 0o755)
    (level, message, hint) = found(read_doctor(session), "state")[0]
    assert level == "warn"
    assert "mode 0755" in message
    assert hint == f"chmod 700 {session.paths.root}"


@pytest.mark.parametrize(
    ("mounts", "level", "message"),
    [
        ("srv:/x / nfs4 rw 0 0\n", "fail", "the state directory is on nfs4"),
        ("/dev/sda / ext4 rw 0 0\n", "ok", "file system ext4"),
        ("", "ok", "file system of an unknown type"),
        (None, "ok", "the type of the file system is unknown"),
    ],
)
def test_file_system(
    session: Session, tmp_path: Path, mounts: str | None, level: str, message: str
) -> None:
    """A network file system fails; an unknown type is not a complaint."""
    path = tmp_path / "mounts"
    if mounts is not None:
        path.write_text(mounts)
    (finding,) = check_file_system(session.repository, mounts=str(path))
    assert finding.level == level
    assert finding.message.startswith(message)


def test_link(session: Session, repository: Path) -> None:
    """A link that is missing or wrong is a warning with its repair."""
    link = repository / ".worker-state"
    link.unlink()
    assert found(read_doctor(session), "link")[0][0::2] == ("warn", "git worker init")
    link.write_text("mine")
    (level, message, _) = found(read_doctor(session), "link")[0]
    assert (level, message) == (
        "warn", f"{session.main_top}/.worker-state does not point to the state directory",
    )  # fmt: skip


def test_excludes(session: Session, repository: Path) -> None:
    """Excludes that are missing, or overridden, are reported."""
    remove_excludes(session.repository.common_dir)
    (repository / "worktrees").mkdir()
    (level, message, _) = found(read_doctor(session), "excludes")[0]
    assert level == "warn"
    assert message == "git would add .worker-state, worktrees/task/ to a commit"


def test_bare_repository(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare repository needs neither link nor excludes."""
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    monkeypatch.chdir(bare)
    doctor = read_doctor(open_session())
    assert doctor.is_healthy
    assert found(doctor, "link") == found(doctor, "excludes") == []


def test_interrupted_operation(session: Session) -> None:
    """An unfinished operation is reported with its step."""
    with session.store.write() as writer:
        begin_operation(writer, "merge", worker="auth", task="t", actor="hq",
                        now=NOW_MS - 60_000, data=Unreadable("{}"))  # fmt: skip
    assert found(read_doctor(session), "operations") == [
        ("warn", "merge of auth has been at step begun for 1m", "git worker recover")
    ]


def test_broken_log(session: Session) -> None:
    """A log that breaks a rule fails, with line and rule; a torn last line is not read."""
    spawned(session, "auth", "skills")
    log = Path(session.paths.root) / "transitions.jsonl"
    with log.open("a") as file:
        file.write('{"torn": ')
    assert found(read_doctor(session), "log") == [
        ("ok", "transitions.jsonl follows every rule", None)
    ]
    with log.open("a") as file:
        file.write("\n")
    (level, message, hint) = found(read_doctor(session), "log")[0]
    assert level == "fail"
    assert "of transitions.jsonl violates " in message
    assert hint == f"git worker validate {log}"


def test_deleted_worktree(session: Session) -> None:
    """A deleted worktree is reported."""
    worker = spawned(session, "auth", "skills")
    assert worker.worktree is not None
    shutil.rmtree(worker.worktree)
    message = f"the worktree of auth is not at {worker.worktree}: deleted, moved or unmounted"
    ((level, shown, hint),) = found(read_doctor(session), "worktrees")
    assert (level, shown) == ("fail", message)
    assert hint.startswith("git worker cancel auth && git worker undo   # ")


def test_worktree_that_git_forgot(session: Session) -> None:
    """A worktree without its admin directory is reported with the repair."""
    worker = spawned(session, "auth", "skills")
    assert worker.admin_dir is not None
    shutil.rmtree(worker.admin_dir)
    (level, message, hint) = found(read_doctor(session), "worktrees")[0]
    complaint = (
        f"git no longer knows the worktree {worker.worktree}: {worker.admin_dir} does not exist"
    )
    assert (level, message, hint) == ("fail", complaint, "git worker fsck --repair")


def test_worktree_off_the_record(session: Session) -> None:
    """A worktree without a row is an orphan, and its worker lacks one; a missing one is named."""
    worker = spawned(session, "auth", "skills")
    assert worker.worktree is not None
    with session.store.write() as writer:
        writer.run("workers.set_worktree", worker="auth", worktree=None, admin_dir=None)
    os.makedirs(f"{session.worktree_root}/stray")
    assert found(read_doctor(session), "worktrees") == [
        ("fail", "auth holds a task but has no worktree", "git worker cancel auth"),
        ("warn", f"worktree {worker.worktree} belongs to no worker",
         f"git worktree remove {worker.worktree}"),
        ("warn", f"directory {session.worktree_root}/stray belongs to no worker",
         f"ls -la {session.worktree_root}/stray"),
    ]  # fmt: skip
    shutil.rmtree(worker.worktree)
    assert found(read_doctor(session), "worktrees")[1] == (
        "warn", f"git lists {worker.worktree}, which does not exist and belongs to no worker",
        f"git worktree remove {worker.worktree}",
    )  # fmt: skip


def test_deleted_branch(session: Session, repository: Path) -> None:
    """A missing branch is reported with the command that restores its last known tip."""
    worker = spawned(session, "auth", "skills")
    git(repository, "update-ref", "-d", "refs/heads/auth/skills")
    assert found(read_doctor(session), "branches") == [
        ("fail", "branch auth/skills of auth does not exist", "git worker fsck --repair")
    ]
    with session.store.write() as writer:
        writer.run("tips.forget", ref=ref_of(Branch(worker.branch or "")))
    assert found(read_doctor(session), "branches")[0][2] == "git worker cancel auth"


def test_hooks(session: Session) -> None:
    """Changed or missing hook scripts, and worktrees without them, are warnings."""
    worker = spawned(session, "auth", "skills")
    hooks = Path(session.paths.hooks)
    hooks.chmod(0o755)
    (hooks / "mine").write_text("#!/bin/sh\n")
    assert found(read_doctor(session), "hooks") == [
        ("warn", "hook scripts are missing or changed: mine", "git worker hooks install")
    ]
    (hooks / "mine").unlink()
    os.utime(hooks, ns=(1, 1))
    assert found(read_doctor(session), "hooks")[0][1].startswith("the hook scripts are outdated")
    shutil.rmtree(hooks)
    assert found(read_doctor(session), "hooks")[0][1] == "gitworker's hook scripts are missing"
    assert worker.worktree is not None
    git(worker.worktree, "config", "--worktree", "--unset", "core.hooksPath", check=False)
    for name in git(
        worker.worktree, "config", "--worktree", "--name-only", "--get-regexp", "include",
        check=False,
    ).splitlines():  # fmt: skip
        git(worker.worktree, "config", "--worktree", "--unset-all", name)
    assert found(read_doctor(session), "hooks")[-1][1] == (
        "gitworker's hooks do not run in the worktree of auth"
    )


def test_heartbeat_daemon(session: Session) -> None:
    """A running process without a heartbeat daemon is a warning."""
    working(session, "auth", "skills")
    own = find_process(os.getpid())
    assert own is not None
    with session.store.write() as writer:
        set_process(writer, "auth", pid=own.pid, start=own.start, origin=this_origin())
    (level, message, _) = found(read_doctor(session), "beater")[0]
    assert level == "warn"
    assert message == (
        f"no heartbeat daemon is running for auth, whose process ({own.pid}) is alive"
    )


def rewrite_database(session: Session, change: Callable[[bytes], bytes]) -> Path:
    """Move everything into the one database file, close it, change its bytes; return its path."""
    path = Path(session.paths.database)
    database = session.store
    assert isinstance(database, Database)
    database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    database.close()
    data = path.read_bytes()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    path.write_bytes(change(data))
    return path


def lose_free_pages(data: bytes) -> bytes:
    """Return a database whose header counts free pages that are not on its list."""
    return data[:36] + (7).to_bytes(4, "big") + data[40:]


def lose_a_page(data: bytes) -> bytes:
    """Return a database in which a page of messages has become invalid."""
    start = data.rindex(b"task_assign") // PAGE * PAGE
    return data[:start] + b"\xff" * PAGE + data[start + PAGE :]


def open_session_at(session: Session) -> Session:
    """Return the session with its database opened again, without a check of the schema."""
    return session._replace(store=Database(session.paths.database))


def record_landing(session: Session, old: str, new: str, target: str = "refs/heads/main") -> None:
    """Record a landing that another version of the program may have made."""
    with session.store.write() as writer:
        writer.run("landings.insert", operation=1, worker="auth", task="t", branch="auth/t",
                   target_ref=target, target_old=Oid(old), target_new=Oid(new), branch_old=new,
                   now=NOW_MS)  # fmt: skip


def test_target_moved_by_force(session: Session, repository: Path) -> None:
    """A landing that is no longer in the target fails."""
    landed(session, "auth", "skills")
    tip = git(repository, "rev-parse", "main")
    git(repository, "reset", "-q", "--hard", "main~1")
    (level, message, hint) = found(read_doctor(session), "history")[0]
    assert level == "fail"
    assert message == (
        f"main: {tip[:10]} of auth (skills) is no longer in the target:"
        " the branch was moved by force"
    )
    assert hint == "git reflog show refs/heads/main"


def test_landed_merge(session: Session, repository: Path) -> None:
    """A merge commit within a landing fails; a user's merge commit does not."""
    old = git(repository, "rev-parse", "main")
    git(repository, "switch", "-qc", "side")
    git(repository, "commit", "-qm", "Side", "--allow-empty")
    git(repository, "switch", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    merge = git(repository, "rev-parse", "main")
    git(repository, "commit", "-qm", "Next", "--allow-empty")
    record_landing(session, merge, git(repository, "rev-parse", "main"))
    assert found(read_doctor(session), "history")[0][0] == "ok"
    record_landing(session, old, git(repository, "rev-parse", "main"))
    assert [message for _, message, _ in found(read_doctor(session), "history")] == [
        f"main: {git(repository, 'rev-parse', 'main')[:10]} of auth (t)"
        f" contains the merge commit {merge[:10]}"
    ]


def test_missing_target(session: Session, repository: Path) -> None:
    """A missing target fails, with the command that restores it."""
    tip = git(repository, "rev-parse", "main")
    record_landing(session, tip, tip, target="refs/heads/old")
    assert found(read_doctor(session), "history") == [
        ("fail", "branch old does not exist, but has 1 landing on record", f"git branch old {tip}")
    ]


def test_damage_inside_the_database(session: Session) -> None:
    """Damage in a database that still opens fails, and every other check runs."""
    landed(session, "auth", "skills")
    path = rewrite_database(session, lose_a_page)
    doctor = read_doctor(open_session_at(session))
    (level, message, hint) = found(doctor, "database")[0]
    assert level == "fail"
    assert message.startswith(f"{path} is damaged: ")
    assert hint is not None
    assert hint.startswith("keep a copy of ")
    assert found(doctor, "git")[0][0] == found(doctor, "excludes")[0][0] == "ok"


def test_complaint_of_the_quick_check(session: Session) -> None:
    """A complaint of SQLite's own check is reported; the rest of the database still works."""
    spawned(session, "auth", "skills")
    rewrite_database(session, lose_free_pages)
    (level, message, _) = found(read_doctor(open_session_at(session)), "database")[0]
    assert level == "fail"
    assert "is damaged: *** in database main ***" in message


def test_no_database_at_all(session: Session) -> None:
    """If the file is not a database, every check that does not need it still runs."""
    rewrite_database(session, lambda data: b"no database" * 500)
    with pytest.raises(Unavailable) as caught:
        open_session()
    doctor = read_doctor_without_session(session.repository, caught.value)
    (level, message, hint) = found(doctor, "database")[0]
    assert level == "fail"
    assert "is damaged" in message
    assert hint == "keep a copy of the state directory, then: sqlite3 bus.db .recover"
    assert found(doctor, "state")[0][0] == "ok"
    assert not doctor.is_healthy


def test_check_that_cannot_be_made(session: Session) -> None:
    """A check that raises is a failure itself and stops no other."""
    os.mkdir(f"{session.paths.root}/transitions.jsonl")
    doctor = read_doctor(session)
    assert found(doctor, "log") == [
        ("fail", f"{session.paths.root}/transitions.jsonl: Is a directory", None)
    ]
    assert found(doctor, "history")[0][0] == "ok"


def test_worktrees_made_elsewhere(session: Session, tmp_path: Path) -> None:
    """Worktrees outside the repository need no exclude."""
    settings = session.settings._replace(worktree_root=str(tmp_path / "trees"))
    doctor = read_doctor(session._replace(settings=settings))
    assert found(doctor, "excludes") == [("ok", "our files are excluded", None)]


def test_newer_schema(session: Session) -> None:
    """A newer schema fails with the error's own hint."""
    error = Unavailable("written by a newer gitworker", "pip install …", code="newer_schema")
    doctor = read_doctor_without_session(session.repository, error)
    assert found(doctor, "database") == [("fail", "written by a newer gitworker", "pip install …")]


def test_repository_without_gitworker(repository: Path) -> None:
    """A repository without gitworker has no failure."""
    error = Unavailable("not set up", "git worker init", code="not_initialised")
    doctor = read_doctor_without_session(require_repository(str(repository), {}), error)
    assert doctor.is_healthy
    assert found(doctor, "state") == []
    assert found(doctor, "database") == [("warn", "not set up", "git worker init")]


def test_missing_state_directory(session: Session) -> None:
    """A missing state directory is a failure, and so is the check that needs it."""
    shutil.rmtree(session.paths.root)
    doctor = read_doctor(session)
    assert found(doctor, "state") == [
        ("fail", f"the state directory {session.paths.root} does not exist", "git worker init")
    ]
    assert not doctor.is_healthy
    assert complaints(session) != []


def test_checkouts_of_the_target(session: Session, repository: Path, tmp_path: Path) -> None:
    """Leftovers of a killed git in the target's checkout, and a second checkout, are reported."""
    well = [("ok", "work lands on main", None)]
    lock = repository / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (NOW_MS // 1000, NOW_MS // 1000))
    assert found(read_doctor(session), "target") == well
    os.utime(lock, (NOW_MS // 1000 - 120, NOW_MS // 1000 - 120))
    ((level, message, hint),) = found(read_doctor(session), "target")
    assert (level, message) == ("warn", f"{lock} is 2m old, probably left by a killed git")
    assert hint == f"rm {lock}   # if no git command is running"
    lock.unlink()
    assert found(read_doctor(session), "target") == well
    second = tmp_path / "second"
    git(repository, "worktree", "add", "-q", "--force", str(second), "main")
    ((level, _, hint),) = found(read_doctor(session), "target")
    assert (level, hint) == ("warn", f"git -C {second} switch --detach")


def test_no_target(session: Session, repository: Path) -> None:
    """A missing target is a failure with the command that names another."""
    git(repository, "branch", "-m", "main", "trunk")
    ((level, _, hint),) = found(read_doctor(session), "target")
    assert (level, hint.partition("   # or ")[0]) == ("fail", "git config worker.target <name>")


def test_settings_with_errors(session: Session) -> None:
    """An error in the target's file is a problem, a mistyped key of git config a warning."""
    root = Path(session.main_top)
    (root / ".gitworker.toml").write_text("[verify]\ncommand = ['make']\n")
    git(root, "add", ".gitworker.toml")
    git(root, "commit", "-qm", "Settings")
    git(root, "config", "worker.merge.windw", "3")
    git(root, "config", "worker.other-program", "3")
    opened = open_session(str(root), env={})
    assert found(read_doctor(opened), "settings") == [
        ("fail", ".gitworker.toml of the target has an unknown setting: verify.command; did you"
         " mean verify.commands?; nothing lands until it is corrected",
         "git commit .gitworker.toml   # on main, corrected"),
        ("warn", "worker.merge.windw (git config, local) is not a setting; did you mean"
         " merge.window?",
         "git config --local --unset-all worker.merge.windw"),
    ]  # fmt: skip
    opened.store.close()


def test_a_changed_configuration(session: Session) -> None:
    """A setting that changes no hook is no finding; another place of the user's hooks is one."""
    spawned(session, "auth", "skills")
    git(session.main_top, "config", "worker.merge.window", "3")
    assert found(read_doctor(session), "hooks") == [("ok", "in place", None)]
    git(session.main_top, "config", "core.hooksPath", ".hooks")
    assert found(read_doctor(session), "hooks")[0][1] == "the hook scripts are outdated"
