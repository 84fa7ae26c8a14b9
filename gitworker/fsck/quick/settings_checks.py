"""The check of the settings: no source has an error, no key and no variable is mistyped."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from gitworker.config import setting_names, variable_of
from gitworker.fsck.finding import Finding, fail, ok, warn
from gitworker.paths import Repository
from gitworker.settings.effective_settings import effective_settings
from gitworker.settings.gather import gather_settings

PREFIX = "GITWORKER_"
# The variables that are no settings. Agents and verify commands inherit most of them from us.
VARIABLES = (
    "BRANCH", "BUS", "CLOCK_MS", "CRASH_AT", "HELD", "HOOKS", "ID", "PROMPT_FILE", "REPOSITORY",
    "SHELL", "STATE", "TASK", "TRACE", "VERIFY", "VERIFY_TREE", "WORKTREE",
)  # fmt: skip
SIMILARITY = 0.8  # of a typo to a name; other programs may have variables with our prefix


def check_settings(repository: Repository) -> Iterator[Finding]:
    """Check the target's file, git config and the environment."""
    place = gather_settings(repository.top or repository.common_dir)
    errors = effective_settings(place.sources).errors
    for message, hint, is_harmless in errors:
        yield (warn if is_harmless else fail)("settings", message, hint)
    typos = list(find_typos(place.sources.env))
    for name, near in typos:
        message = f"the environment variable {name} has no meaning; did you mean {near}?"
        yield warn("settings", message, f"unset {name}")
    if not errors and not typos:
        yield ok("settings", "every setting is known and valid")


def find_typos(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that are almost ours, each with the most similar one that is."""
    known = [*VARIABLES, *(variable_of(name).removeprefix(PREFIX) for name in setting_names())]
    ours = {name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}
    for name in sorted(ours.difference(known)):
        near = get_close_matches(name, known, n=1, cutoff=SIMILARITY)
        if near:
            yield PREFIX + name, PREFIX + near[0]
