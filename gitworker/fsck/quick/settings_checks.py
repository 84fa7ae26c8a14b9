"""The check of the settings: no source has an error, and no key is mistyped."""

from collections.abc import Iterator

from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.paths import Repository
from gitworker.settings.effective_settings import effective_settings
from gitworker.settings.gather import gather_settings


def check_settings(repository: Repository) -> Iterator[Finding]:
    """Check the target's file, git config and the environment."""
    place = gather_settings(repository.top or repository.common_dir)
    errors = effective_settings(place.sources).errors
    for message, hint, is_harmless in errors:
        yield (warn if is_harmless else fail)("settings", message, hint)
    if not errors:
        yield ok("settings", "every setting is known and valid")
