"""The settings as they are now, for a process that runs longer than a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.config import load_settings
from gitworker.errors import GitWorkerError
from gitworker.paths import require_repository
from gitworker.repo.hooks.user_hooks import config_files, sources_seen
from gitworker.repo.plumbing.opening import ask, usual_targets
from gitworker.store.target import find_target

if TYPE_CHECKING:
    from gitworker.config import Settings
    from gitworker.paths import StatePaths
    from gitworker.store.api import Store

LOOK_EVERY_MS = 2000


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


class SettingsWatch:
    """Read the settings again once one of their files has changed: a look is a few stat(2).

    Files are those of git's configuration and of the target's tip, whose commit has a settings
    file. A change in a file that git's configuration includes is not noticed.
    """

    def __init__(self, paths: StatePaths, store: Store) -> None:
        self._paths = paths
        self._store = store
        self._files = _settings_files(os.path.dirname(paths.root), find_target(store))
        self._stamps = sources_seen(self._files)
        self._due_mono_ms = 0

    def look(self) -> Settings | None:
        """Return the settings if they may have changed; None within two seconds of a look."""
        now = clock.monotonic_ms()
        if now < self._due_mono_ms:
            return None
        self._due_mono_ms = now + LOOK_EVERY_MS
        stamps = sources_seen(self._files)
        if stamps == self._stamps:
            return None
        settings = read_current_settings(self._paths, self._store)
        if settings is not None:  # otherwise the next look tries again
            self._stamps = stamps
        return settings


def _settings_files(common_dir: str, target: str | None) -> list[str]:
    """Return the files on which the settings depend; some of them may not exist."""
    names = ["packed-refs", "reftable/tables.list", target or "HEAD"]
    return [*config_files(common_dir), *(f"{common_dir}/{name}" for name in names)]
