"""The context of one command: the repository, its paths, the store, the settings, the caller."""

from __future__ import annotations

import os
from binascii import crc32
from typing import NamedTuple, Protocol

from gitworker.config import Settings
from gitworker.errors import Refused
from gitworker.model.ids import RESERVED, Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.paths import Repository, StatePaths, open_regular
from gitworker.progress import Progress, ignore
from gitworker.repo.plumbing.git import Git
from gitworker.rules_text import quoted
from gitworker.store.api import Store

ROOT_NOTE = "worktree-root"  # in the state directory: names our directory in the main checkout
OTHER_ROOT = "worker-worktrees"  # if `worktrees` belongs to git or to the project


class LandsOn(Protocol):
    """A worker, or a row of one, whose task may land on the branch of a workstream."""

    @property
    def lands_on(self) -> Ref | None:
        """Return that branch; None for the target."""
        ...


class Session(NamedTuple):
    """The opened repository; `gitworker.app` opens one per command and passes it to every use case.

    `main_top` is the root of the main worktree (the directory of a bare repository), `target` the
    full name of the target branch, `git_config` git's own settings by lower-case key.
    `settings_from` is the target's commit from which `settings` were read. `report` receives the
    events of operations. `other_worker` is the worker of the current worktree if GITWORKER_ID names
    another agent. `is_interactive`: a person at a terminal can answer git's questions and
    watch a transfer. `trunk` is the target of the repository while `target` is the branch of a
    workstream (`aimed_at`).
    """

    repository: Repository
    paths: StatePaths
    main_top: str
    git: Git
    store: Store
    settings: Settings
    target: Ref
    actor: str
    git_config: dict[str, str]
    settings_from: Oid | None = None
    report: Progress = ignore
    is_interactive: bool = False
    other_worker: str | None = None
    trunk: Ref | None = None

    def target_of(self, work: LandsOn) -> Ref:
        """Return the branch on which a worker's task lands: its workstream's, else the target."""
        return work.lands_on or self.trunk or self.target

    def aimed_at(self, ref: Ref | None) -> Session:
        """Return the session with the branch of a workstream as its target; None: without one."""
        trunk = self.trunk or self.target
        return self._replace(target=ref or trunk, trunk=trunk if ref else None)

    @property
    def transfer_report(self) -> Progress | None:
        """Return the receiver of a transfer's progress; None if no person is present."""
        return self.report if self.is_interactive else None

    @property
    def target_name(self) -> str:
        """Return the target branch without `refs/heads/`."""
        return short_name(self.target)

    @property
    def scratch_dir(self) -> str:
        """Return the directory of our own scratch worktree."""
        return f"{self.paths.root}/scratch"

    @property
    def has_default_root(self) -> bool:
        """Return whether the worktree root is the default."""
        return self.settings.worktree_root == Settings().worktree_root

    @property
    def noted_root(self) -> str | None:
        """Return the directory inside the main checkout that is marked as ours, if any.

        A note with another path is damaged and is ignored.
        """
        note = f"{self.paths.root}/{ROOT_NOTE}"
        try:
            with open(
                note, encoding="utf-8", errors="surrogateescape", opener=open_regular
            ) as file:
                noted = file.read().removesuffix("\n")
        except OSError:
            return None
        return noted if is_inside_name(noted) else None

    @property
    def worktree_root(self) -> str:
        """Return the directory of the workers' worktrees, as an absolute path.

        A relative setting begins at the main checkout, `~` is the user's home. In a bare
        repository `worktrees` contains git's admin directories; in another one, the project may
        have files there.
        """
        template = self.settings.worktree_root
        if self.has_default_root and (
            self.main_top == self.repository.common_dir or self.noted_root == OTHER_ROOT
        ):
            template = f"{{repository}}/{OTHER_ROOT}"
        root = os.path.expanduser(template).format(repository=self.main_top)
        return os.path.normpath(os.path.join(self.main_top, root))

    @property
    def landing_lock(self) -> str:
        """Return the lock file for moves of the target or of a worker's branch."""
        return f"{self.paths.locks}/landing"

    @property
    def queue_lock(self) -> str:
        """Return the lock file of the landing queue, held while its windows are verified."""
        return f"{self.paths.locks}/queue"

    @property
    def worktree_lock(self) -> str:
        """Return the lock file for adding or removing worktrees."""
        return f"{self.paths.locks}/worktrees"

    def shelf(self, name: str) -> str:
        """Return the directory of worktrees without a worker; its own if the root may be shared."""
        root = self.worktree_root
        if root.startswith(f"{self.main_top}/"):
            return f"{root}/{name}"
        key = crc32(os.fsencode(self.repository.common_dir))
        return f"{root}/{name}/{os.path.basename(self.main_top)}-{key:08x}"


def is_inside_name(name: str) -> bool:
    """Return whether a relative path stays inside its base directory, outside any `.git`."""
    parts = name.split("/")
    return "\0" not in name and "\n" not in name and not {"", ".", "..", ".git"} & {*parts}


def require_person(session: Session, subject: str, hint: str) -> None:
    """Raise Refused for a worker: only a person, or a program of theirs, changes `subject`."""
    if session.actor not in RESERVED:
        raise Refused(f"worker {session.actor} cannot change {subject}", hint, code="not_allowed")


def missing_target(session: Session) -> Refused:
    """Return the refusal of a command that needs the target if the branch has no commit."""
    name = session.target_name
    if session.trunk is not None:
        return Refused(
            f"the branch {name} of a workstream does not exist", "git worker doctor",
            code="no_target",
        )  # fmt: skip
    if session.git.find_oid("HEAD") is None:
        commit = "git commit --allow-empty -m Start"
        if session.repository.top is None:  # a bare one
            commit = (
                f"git update-ref {quoted(session.target)}"
                ' "$(git commit-tree -m Start "$(git mktree </dev/null)")"'
            )
        return Refused(
            f"the target branch {name} has no commit yet",
            f"{commit}   # or: git config worker.target <branch>",
            code="no_target",
        )
    return Refused(
        f"the target branch {name} does not exist",
        f"git config worker.target <name>   # or create it: git branch {name} <commit>",
        code="no_target",
    )
