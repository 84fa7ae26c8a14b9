"""What one command works with: the repository, its places, the store, the settings, who asks."""

import os
from typing import NamedTuple

from gitworker.config import Settings
from gitworker.errors import Refused
from gitworker.model.ids import Ref
from gitworker.paths import Repository, StatePaths, regular
from gitworker.repo.plumbing.git import Git
from gitworker.store.api import Store

ROOT_NOTE = "worktree-root"  # in the state directory: which directory of the main checkout is ours
OTHER_ROOT = "worker-worktrees"  # where `worktrees` is git's or the project's


class Session(NamedTuple):
    """Opened once per command by `gitworker.app`, handed to every use case.

    `main_top` is the root of the main worktree (the directory of a bare repository), `target` the
    full name of the target branch, `git_config` git's own settings by lower-case key, `note` what
    the opening itself has to tell a person.
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
    note: str = ""

    @property
    def scratch_dir(self) -> str:
        """Return the directory of our own scratch worktree."""
        return f"{self.paths.root}/scratch"

    @property
    def has_default_root(self) -> bool:
        """Tell whether nobody has set where worktrees are made."""
        return self.settings.worktree_root == Settings().worktree_root

    @property
    def noted_root(self) -> str | None:
        """Return the directory inside the main checkout that was marked as ours, if any is.

        A note that names no directory inside it is damaged and counts as none.
        """
        note = f"{self.paths.root}/{ROOT_NOTE}"
        try:
            with open(note, encoding="utf-8", errors="surrogateescape", opener=regular) as file:
                noted = file.read().removesuffix("\n")
        except OSError:
            return None
        return noted if is_inside_name(noted) else None

    @property
    def worktree_root(self) -> str:
        """Return the directory that workers' worktrees are made in, an absolute path.

        A relative one starts at the repository, `~` is the user's home. In a bare repository
        `worktrees` is git's own directory of admin directories, in another the project may have
        files there.
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
        """Return the lock file of whatever moves the target or a worker's branch."""
        return f"{self.paths.locks}/landing"

    @property
    def queue_lock(self) -> str:
        """Return the lock file of the landing queue, held while its windows are verified."""
        return f"{self.paths.locks}/queue"

    @property
    def worktree_lock(self) -> str:
        """Return the lock file of whatever adds or removes worktrees."""
        return f"{self.paths.locks}/worktrees"


def is_inside_name(name: str) -> bool:
    """Tell whether a relative path names something inside the directory that it starts at."""
    parts = name.split("/")
    return "\0" not in name and "\n" not in name and not {"", ".", "..", ".git"} & {*parts}


def missing_target(session: Session) -> Refused:
    """Return the refusal of whatever needs the target where that branch has no commit."""
    name = session.target.removeprefix("refs/heads/")
    if session.git.find_oid("HEAD") is None:
        return Refused(
            f"the target branch {name} has no commit yet",
            "git commit --allow-empty -m Start   (or: git config worker.target BRANCH)",
            code="no_target",
        )
    return Refused(
        f"there is no branch {name}, which is the target that work lands on",
        "git config worker.target NAME",
        code="no_target",
        detail=f"or make it: git branch {name} COMMIT",
    )
