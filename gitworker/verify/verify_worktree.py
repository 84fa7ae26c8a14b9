"""Verify worktrees: a pool of slots, each a detached worktree that holds exactly one commit.

The worktree of a slot is `<worktree root>/.verify/<n>`, not below `.git`, since jest finds no
tests. Its lock, the process that runs in it, and the index as our last checkout wrote it are in
`<state>/verify/`. The lock is a flock that no verify command inherits, but git does: a slot is free
when its user and its checkout have ended, and the next user ends the commands that were left
running. A damaged worktree is made again.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

from gitworker.clock import boot_id, sleep
from gitworker.errors import GitWorkerError, Refused, Unavailable, as_gitworker_error
from gitworker.model.ids import Oid, Ref
from gitworker.paths import open_regular, require_repository
from gitworker.processes.table import is_running
from gitworker.repo.plumbing.disk import OWNER_ALL, copy_index, make_own_directory, remove_tree
from gitworker.repo.plumbing.git import PAUSES_S, Git, GitFailed
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.replay.scratch_rebase import NEUTRAL
from gitworker.repo.status.checkout_status import open_operation
from gitworker.repo.worktrees.ownership import OwnershipClaim, find_flaw, require_checkout
from gitworker.repo.worktrees.worktree_list import (
    busy_branches,
    detached_head,
    find_admin_dir,
    is_contention,
    worktree_of,
)
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.verify.rules_verify import TREE_VARIABLE
from gitworker.verify.run_processes import RunProcesses, end_orphans
from gitworker.verify.verify_repair import (
    empty_submodules,
    open_directory,
    read_bytes,
    remove_nested,
    restore_access,
    settings_of,
)

SLOTS_AT_MOST = 256
Lend = Callable[[str, Oid], bool]  # makes a detached worktree at a path, or returns False
ROOT_NAME = ".verify"
MARK = "# gitworker verifies here; none of this is the project's\n*\n"
# The index must record our own checkout, whatever settings the commands have changed since.
TRUE_INDEX = (
    *NEUTRAL,
    "core.trustctime=true",
    "core.checkStat=default",
    "core.splitIndex=false",
    "core.untrackedCache=false",
)


class Slot:
    """A verify worktree that is reserved for us until `release`."""

    def __init__(self, session: Session, number: int, lock: int) -> None:
        self.number = number
        self.tree = f"{verify_root(session)}/{number}"
        self.log = ""  # of the run that begins next
        self._session = session._replace(git=session.git.holding(lock))
        self._lock = lock
        self._beside = f"{_lock_root(session)}/{number}"
        self._admin: str | None = None  # known after `prepare`, or from a killed user

    def prepare(self, commit: Oid, *, lend: Lend | None = None) -> None:
        """Bring the worktree to exactly that commit, clean except for the files of verify.keep.

        It costs as much as git's checkout of the difference. If no worktree exists yet, `lend` may
        supply one. Raises Unavailable if no worktree can be made.
        """
        git = self._session.git.at(self.tree)
        _ready_root(self._session)
        try:
            self._update(git, commit)
        except (GitWorkerError, OSError):
            self._rebuild(commit, lend)
        if os.path.lexists(f"{self.tree}/.gitmodules"):
            from gitworker.repo.worktrees.submodules import (
                populate_submodules,  # 3 ms, only for a repository with submodules
            )

            populate_submodules(self._main(), self.tree)
        admin = self._admin = require_repository(self.tree).git_dir
        if detached_head(git, admin) != commit:
            raise Unavailable(
                f"the verify worktree {self.tree} is not at {commit[:12]}",
                f"rm -rf {quoted(self.tree)}",
            )
        copy_index(f"{admin}/index", f"{self._beside}.index.tmp")
        os.replace(f"{self._beside}.index.tmp", f"{self._beside}.index")

    def record(self, family: RunProcesses) -> None:
        """Record the process that is about to run here and its log, for readers and later users."""
        with open(f"{self._beside}.run", "w", encoding="utf-8", opener=open_regular) as file:
            file.write(f"{family.leader} {family.start or '-'} {boot_id() or '-'}\n{self.log}\n")

    def forget(self) -> None:
        """Delete the record: the process has ended."""
        with suppress(FileNotFoundError):
            os.unlink(f"{self._beside}.run")

    def release(self) -> None:
        """Release the worktree; safe to repeat."""
        if self._lock >= 0:
            with suppress(GitWorkerError, OSError):
                self._release_branch()
            os.close(self._lock)
            self._lock = -1

    def _release_branch(self) -> None:
        """Leave a branch that the commands have switched to: no other worktree could use it.

        A worktree in which a rebase or bisect holds a branch is made again.
        """
        admin = self._admin
        if admin is None or worktree_of(admin) != os.path.realpath(self.tree):
            return
        git = Git(admin, git_dir=admin)
        if any(find_ref(git, Ref(name)) for name in busy_branches(admin)):
            self.discard()
        elif detached_head(git, admin) is None:
            git.run("update-ref", "--no-deref", "HEAD", "HEAD^0", settings=NEUTRAL)

    def discard(self) -> None:
        """Delete the worktree; it is made again when it is needed.

        A worktree at a former value of the setting worktree.root is deleted too, if it is proved to
        belong to this repository: a copied repository still names the original's worktree.
        """
        common_dir = self._session.repository.common_dir
        former = os.fsdecode(read_bytes(f"{self._beside}.settings").partition(b"\0")[0])
        places = [self.tree]
        if f"/{ROOT_NAME}/" in former and former != self.tree:
            admin = find_admin_dir(common_dir, former)
            if find_flaw(OwnershipClaim(common_dir, former, admin)) is None:
                places.append(former)
        for tree in places:
            admin = find_admin_dir(common_dir, tree)
            remove_tree(tree)
            if admin is not None:
                remove_tree(admin)
        remove_tree(f"{self._beside}.index")

    def end_orphans(self) -> bool:
        """End the processes that a killed user left running; return True if none is left."""
        try:
            with open(
                f"{self._beside}.run", encoding="utf-8", errors="replace", opener=open_regular
            ) as file:
                words = file.readline().split()
        except FileNotFoundError:
            return True
        self._admin = find_admin_dir(self._session.repository.common_dir, self.tree)
        if len(words) == 3 and words[0].isdigit() and words[2] == (boot_id() or "-"):
            start = words[1] if words[1].isdigit() else None
            if not end_orphans(RunProcesses(int(words[0]), start, self.tree)):
                return False
        self.forget()
        return True

    def _main(self) -> Git:
        """Return git in the main worktree, from which settings and submodules are copied."""
        return self._session.git.at(self._session.main_top)

    def _update(self, git: Git, commit: Oid) -> None:
        """Check the difference out; raise an error if the worktree is not usable."""
        open_directory(self.tree)
        repository = require_repository(self.tree)
        admin = require_checkout(self._main(), self.tree)
        if (
            repository.top != os.path.realpath(self.tree)
            or not repository.is_linked
            or settings_of(repository) != read_bytes(f"{self._beside}.settings")
        ):
            raise Unavailable(f"{self.tree} is not a verify worktree of this repository")
        for name in ("index.lock", "HEAD.lock"):  # no other process works here
            with suppress(FileNotFoundError):
                os.unlink(f"{admin}/{name}")
        copy_index(f"{self._beside}.index", f"{admin}/index.kept")
        os.replace(f"{admin}/index.kept", f"{admin}/index")
        remove_nested(git)
        try:
            self._switch(git, commit)
        except GitFailed:  # a directory is not writable
            restore_access(self.tree)
            self._switch(git, commit)
        if open_operation(admin) is not None:  # an operation that a checkout does not end
            raise Unavailable(f"an operation is open in {self.tree}")
        empty_submodules(git, self.tree, admin)

    def _switch(self, git: Git, commit: Oid) -> None:
        """Check the commit out without any untracked file.

        The clean comes first, since an untracked .gitattributes would affect the checkout, and a
        link may have replaced a directory. A checkout prints a warning about files that it cannot
        remove, such as those in a submodule that the commit does not have: then clean again.
        """
        self._clean(git)
        done = git.run(
            "checkout", "--quiet", "--force", "--detach", commit, settings=self._settings()
        )
        if done.err:
            self._clean(git)

    def _clean(self, git: Git) -> None:
        excluded = [
            f"--exclude={pattern}" for pattern in self._session.settings.verify_keep if pattern
        ]
        git.run("clean", "-ffdxq", *excluded, settings=TRUE_INDEX)

    def _settings(self) -> tuple[str, ...]:
        workers = self._session.settings.checkout_workers
        return (*TRUE_INDEX, f"checkout.workers={workers}") if workers else TRUE_INDEX

    def _rebuild(self, commit: Oid, lend: Lend | None) -> None:
        """Make the worktree again; the rest of a broken one is deleted first."""
        try:
            self.discard()
            if lend is None or not self._borrow(commit, lend):
                self._add(commit)
            with open(f"{self._beside}.settings", "wb", opener=open_regular) as file:
                file.write(settings_of(require_repository(self.tree)))
        except (GitFailed, OSError) as failure:
            with suppress(OSError):
                self.discard()
            raise _unavailable(self.tree, as_gitworker_error(failure)) from failure

    def _borrow(self, commit: Oid, lend: Lend) -> bool:
        """Take a prepared worktree from the pool; return True if it is usable."""
        try:
            if not lend(self.tree, commit):
                return False
            git = self._session.git.at(self.tree)
            # Ignored files of a parked worktree need not be kept.
            git.run("clean", "-ffdxq", settings=TRUE_INDEX)
            git.run("update-index", "--no-split-index", "--no-untracked-cache", settings=TRUE_INDEX)
        except (GitWorkerError, OSError):
            self.discard()
            return False
        return True

    def _add(self, commit: Oid) -> None:
        for pause_s in (*PAUSES_S, None):
            try:
                self._main().run(
                    "worktree", "add", "--quiet", "--detach", "--force", "--", self.tree, commit,
                    settings=self._settings(),
                )  # fmt: skip
                return
            except GitFailed as failure:
                if pause_s is None or not is_contention(failure):
                    raise
                sleep(pause_s)


def take_slot(session: Session) -> Slot:
    """Return the first unused verify worktree; raise Unavailable if all are in use."""
    root = _lock_root(session)
    try:
        os.makedirs(root, mode=OWNER_ALL, exist_ok=True)
        for number in range(1, SLOTS_AT_MOST + 1):
            slot = _try_slot(session, number)
            if slot is not None:
                return slot
    except OSError as error:
        raise _unavailable(root, as_gitworker_error(error)) from error
    raise Unavailable(f"all {SLOTS_AT_MOST} verify worktrees are in use", "git worker status")


def idle_slots(session: Session) -> list[Slot]:
    """Return the verify worktrees that exist and are unused, all reserved until released."""
    try:
        names = os.listdir(_lock_root(session))
    except FileNotFoundError:
        return []
    numbers = sorted(int(stem) for name in names if (stem := name.partition(".")[0]).isdigit())
    found = [_try_slot(session, number) for number in dict.fromkeys(numbers)]
    return [slot for slot in found if slot is not None]


def running_logs(session: Session) -> list[str]:
    """Return the logs of the runs whose first process is alive, in any order; takes no lock."""
    root, boot, logs = _lock_root(session), boot_id() or "-", []
    for name in os.listdir(root) if os.path.isdir(root) else ():
        text = os.fsdecode(read_bytes(f"{root}/{name}")) if name.endswith(".run") else ""
        line, _, log = text.partition("\n")
        words = line.split()
        if len(words) == 3 and words[0].isdigit() and words[2] == boot and log.endswith("\n"):
            start = words[1] if words[1].isdigit() else None
            if is_running(int(words[0]), start) is not False:
                logs.append(log.removesuffix("\n"))
    return logs


def verify_root(session: Session) -> str:
    """Return the directory of the verify worktrees."""
    return session.shelf(ROOT_NAME)


def require_outside(session: Session) -> None:
    """Raise Refused for a command that verify runs itself: it would wait for its own end."""
    if os.environ.get(TREE_VARIABLE, "").startswith(f"{verify_root(session)}/"):
        raise Refused(
            "a verify command can neither verify nor land in its own repository",
            "remove git worker merge and git worker verify from verify.commands",
            code="inside_verify",
        )


def _lock_root(session: Session) -> str:
    return f"{session.paths.root}/verify"


def _try_slot(session: Session, number: int) -> Slot | None:
    """Take one slot if it is free and its processes can be ended."""
    lock = os.open(
        f"{_lock_root(session)}/{number}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    slot = Slot(session, number, lock)
    if slot.end_orphans():
        return slot
    slot.release()
    return None


def _ready_root(session: Session) -> None:
    """Make the directory; its own `.gitignore` hides it from the project's git."""
    root = verify_root(session)
    try:
        make_own_directory(root)
        with (
            suppress(FileExistsError),
            open(f"{root}/.gitignore", "x", encoding="utf-8", opener=open_regular) as file,
        ):
            file.write(MARK)
    except OSError as error:
        raise _unavailable(root, as_gitworker_error(error)) from error


def _unavailable(path: str, error: GitWorkerError) -> Unavailable:
    full = "No space left" in error.detail or error.code == "disk"
    return Unavailable(
        f"cannot make the verify worktree {path}: {error.message}",
        "df -h" if full else "git worker doctor",
        code="disk" if full else "unavailable",
        detail=error.detail,
    )
