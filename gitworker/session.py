"""What one command works with: the repository, its places, the store, the settings, who asks."""

from typing import NamedTuple

from gitworker.config import Settings
from gitworker.model.ids import Ref
from gitworker.paths import Repository, StatePaths
from gitworker.repo.git import Git
from gitworker.store.api import Store


class Session(NamedTuple):
    """Opened once per command by `gitworker.app`, handed to every use case.

    `main_top` is the root of the main worktree (the directory of a bare repository), `target` the
    full name of the target branch, `git_config` git's own settings by lower-case key.
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

    @property
    def scratch_dir(self) -> str:
        """Return the directory of our own scratch worktree."""
        return f"{self.paths.root}/scratch"

    @property
    def worktree_root(self) -> str:
        """Return the directory that workers' worktrees are made in.

        In a bare repository `worktrees` is git's own directory of admin directories.
        """
        template = self.settings.worktree_root
        if self.main_top == self.repository.common_dir and template == Settings().worktree_root:
            template = "{repository}/worker-worktrees"
        return template.format(repository=self.main_top)

    @property
    def landing_lock(self) -> str:
        """Return the lock file of whatever moves the target or a worker's branch."""
        return f"{self.paths.locks}/landing"

    @property
    def worktree_lock(self) -> str:
        """Return the lock file of whatever adds or removes worktrees."""
        return f"{self.paths.locks}/worktrees"
