"""Start the questions to git before click is loaded, so that git works during the imports."""

from __future__ import annotations

import os

from gitworker.cli.command_list import ALIASES, COMMANDS
from gitworker.errors import GitWorkerError
from gitworker.paths import require_repository, state_paths
from gitworker.repo.plumbing.opening import OpeningAnswers, ask, read_kept_target

TYPE_CHECKING = False  # `typing` costs 2 ms, which would delay the questions
if TYPE_CHECKING:
    from collections.abc import Sequence

WITHOUT_REPOSITORY = frozenset({"completion", "config", "help", "shell-init", "validate"})
HELP = frozenset({"-h", "--help"})


def prefetch_opening(words: Sequence[str]) -> OpeningAnswers | None:
    """Start git's questions if the command needs a repository; else return None.

    Guesses from the words alone. `app.open_session` asks later if nothing was started here.
    """
    verb = words[0] if words else ""
    known = verb in ALIASES or any(verb in section for section in COMMANDS.values())
    if not known or verb in WITHOUT_REPOSITORY or HELP.intersection(words):
        return None
    if os.environ.get("_GIT_WORKER_COMPLETE"):
        return None
    try:
        repository = require_repository()
        return ask(repository, os.environ, kept=read_kept_target(state_paths(repository)))
    except GitWorkerError:  # the command reports it
        return None
