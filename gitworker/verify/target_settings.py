"""The settings of a commit, as they apply once it is the target."""

import os
from collections.abc import Mapping, Sequence

from gitworker.config import FILE_NAME, Settings, load_settings, on_only_remote
from gitworker.errors import Invalid
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.opening import read_settings
from gitworker.repo.status.path_changes import Change
from gitworker.session import Session
from gitworker.verify.rules_verify import declared_environment

OF_TARGET = f"{FILE_NAME} of the target"


def settings_at(session: Session, commit: Oid, *, owner: str = "the target") -> Settings:
    """Return the settings with a commit's `.gitworker.toml`; raise Invalid if it is wrong.

    `owner` names the branch to which the file belongs, for the error. Raises Unavailable or Refused
    if it cannot be read: without it nothing would be verified.
    """
    text = read_settings(session.git, commit)
    settings = load_settings(file_text=text, git_config=session.git_config, env=os.environ)
    in_fleet = session.store.fleet_machine is not None
    settings = on_only_remote(settings, session.git_config, in_fleet=in_fleet)
    if settings.file_faults:
        fault = settings.file_faults[0].replace(OF_TARGET, f"{FILE_NAME} of {owner}", 1)
        raise Invalid(fault, "git worker doctor")
    declared_environment(settings.verify_env, os.environ)
    return settings


def require_valid_file(session: Session) -> None:
    """Raise Invalid if the target's `.gitworker.toml` has an error: nothing may land by it.

    A mistyped key could mean that the verify commands do not run.
    """
    if session.settings.file_faults:
        raise Invalid(session.settings.file_faults[0], "git worker doctor")


def changes_settings(
    session: Session, old: Oid, new: Oid, *, known: Mapping[str, Sequence[Change]]
) -> bool:
    """Return True if two commits differ in their `.gitworker.toml`.

    `known` are changes by `<new> <old>`, as in `ReplayCache`.
    """
    changes = known.get(f"{new} {old}")
    if changes is not None:
        return any(change.path == FILE_NAME for change in changes)
    done = session.git.run(
        "diff-tree", "--quiet", "--no-ext-diff", "--ignore-submodules=none", old, new, "--",
        FILE_NAME, ok=(0, 1),
    )  # fmt: skip
    return done.status == 1
