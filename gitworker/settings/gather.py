"""Gather the sources of the settings. Works before `init` and with errors in every source."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from gitworker.bus.caller.identity import caller_identity
from gitworker.config import config_key, variable_of
from gitworker.errors import GitWorkerError
from gitworker.model.ids import Branch
from gitworker.model.ref_names import ref_of
from gitworker.paths import require_repository, state_paths
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.opening import read_settings, usual_targets
from gitworker.repo.plumbing.refs import find_ref
from gitworker.settings.effective_settings import OURS, ConfigValue, Sources
from gitworker.store.backend import open_store
from gitworker.store.target import find_target


class SettingsPlace(NamedTuple):
    """A repository's settings: git, the caller, the sources, and the names of its remotes."""

    git: Git
    actor: str
    sources: Sources
    remotes: frozenset[str]


def gather_settings(
    directory: str | None = None,
    identity: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> SettingsPlace:
    """Read the sources of the settings of a directory's repository; nothing is created."""
    env = os.environ if environment is None else environment
    repository = require_repository(directory, env)
    git = Git(repository.top or repository.common_dir)
    entries = _read_config(git, own=f"{repository.common_dir}/config")
    config = {entry.key: entry.text for entry in entries}
    recorded = _find_recorded(state_paths(repository).database)
    named = env.get(variable_of("target")) or config.get(config_key("target"))
    names = [name for name in (named, recorded) if name] or usual_targets(config)
    tips = ((name, find_ref(git, ref_of(Branch(name)))) for name in names)
    target, tip = next(((name, tip) for name, tip in tips if tip), (names[0], None))
    return SettingsPlace(
        git=git,
        actor=caller_identity(repository, identity, env),
        sources=Sources(
            recorded=recorded,
            target=target,
            file_text=(read_settings(git, tip) if tip else None) or "",
            config=tuple(entry for entry in entries if entry.key.startswith(OURS)),
            env=env,
        ),
        remotes=frozenset(
            key.removeprefix("remote.").removesuffix(".url")
            for key in config
            if key.startswith("remote.") and key.endswith(".url")
        ),
    )


def _find_recorded(database: str) -> str:
    """Return the recorded target, "" without a usable database."""
    if not os.path.exists(database):
        return ""
    try:
        store = open_store(database)
    except GitWorkerError:  # the other settings can be shown, and corrected
        return ""
    try:
        return find_target(store) or ""
    finally:
        store.close()


def _read_config(git: Git, *, own: str) -> list[ConfigValue]:
    """Return every entry of git config, the one that wins last; `own` is the repository's file."""
    fields = git.text("config", "--list", "-z", "--show-scope", "--show-origin").split("\0")
    found = []
    for scope, source, entry in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        key, separator, text = entry.partition("\n")
        value = text if separator else "true"  # a key alone is true (git-config(1))
        found.append(ConfigValue(scope, _find_file(git.directory, source, own), key, value))
    return found


def _find_file(directory: str, source: str, own: str) -> str:
    """Return the absolute path of an origin, "" for the repository's own file or for no file."""
    if not source.startswith("file:"):
        return ""
    path = os.path.realpath(os.path.join(directory, source.removeprefix("file:")))
    return "" if path == own else path
