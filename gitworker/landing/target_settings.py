"""The settings that a commit of the target brings, as they are to count once it is the target."""

import os

from gitworker.config import FILE_NAME, Settings, load_settings
from gitworker.errors import Invalid
from gitworker.landing.rules_verify import declared_environment
from gitworker.model.ids import Oid
from gitworker.repo.git import failure_of
from gitworker.session import Session

ABSENT = ("does not exist in", "exists on disk, but not in")  # git's own words for no such path


def settings_at(session: Session, commit: Oid) -> Settings:
    """Return the settings with a commit's `.gitworker.toml`; raise Invalid for a wrong one.

    Raises GitFailed for one that cannot be read: without it nothing would be verified.
    """
    args = ("cat-file", "blob", f"{commit}:{FILE_NAME}")
    shown = session.git.run(*args, ok=(0, 128))
    text = shown.out.decode("utf-8", "replace") if shown.status == 0 else None
    if shown.status != 0 and not any(words in shown.complaint for words in ABSENT):
        if session.git.text("ls-tree", "--object-only", commit, "--", f"{FILE_NAME}/"):
            raise Invalid(f"{FILE_NAME} is a directory")
        raise failure_of(args, shown)
    settings = load_settings(file_text=text, git_config=session.git_config, env=os.environ)
    declared_environment(settings.verify_env, os.environ)
    return settings


def changes_settings(session: Session, old: Oid, new: Oid) -> bool:
    """Tell whether two commits differ in their `.gitworker.toml`."""
    done = session.git.run(
        "diff-tree", "--quiet", "--no-ext-diff", old, new, "--", FILE_NAME, ok=(0, 1)
    )
    return done.status == 1
