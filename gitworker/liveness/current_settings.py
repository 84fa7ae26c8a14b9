"""The settings as they are now, for a process that runs longer than a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.config import load_settings
from gitworker.errors import GitWorkerError
from gitworker.paths import require_repository
from gitworker.repo.plumbing.opening import ask, usual_targets
from gitworker.store.target import find_target

if TYPE_CHECKING:
    from gitworker.config import Settings
    from gitworker.paths import StatePaths
    from gitworker.store.api import Store


def read_current_settings(paths: StatePaths, store: Store) -> Settings | None:
    """Read the settings by two git processes; return None if they cannot be read now."""
    try:
        target = find_target(store)
        repository = require_repository(os.path.dirname(paths.root), {})
        answers = ask(repository, os.environ, kept=target or "")
        try:
            git_config = answers.settings()
            text = answers.target([target] if target else usual_targets(git_config)).settings
        finally:
            answers.abandon()
        return load_settings(file_text=text, git_config=git_config, env=os.environ)
    except (GitWorkerError, OSError):
        return None
