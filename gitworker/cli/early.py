"""Asking git before click is loaded: its answers come while the imports go on."""

from __future__ import annotations

import gc
import os

from gitworker.cli.table import ALIASES, COMMANDS
from gitworker.errors import GitWorkerError
from gitworker.paths import require_repository, state_paths
from gitworker.repo.plumbing.opening import Opening, ask, read_kept_target

TYPE_CHECKING = False  # `typing` costs 2 ms, which the questions need not wait for
if TYPE_CHECKING:
    from collections.abc import Sequence

WITHOUT_REPOSITORY = frozenset({"completion", "help", "validate"})
HELP = frozenset({"-h", "--help"})
# The collector finds nothing in the objects of imports, and looking costs 4 % of a short command.
COLLECT_AFTER = 50_000


def ask_early(words: Sequence[str]) -> Opening | None:
    """Start the questions of a command that will need them; None where it needs none.

    A guess by the words alone: what is not asked here is asked by `app.open_session`.
    """
    gc.set_threshold(COLLECT_AFTER)
    verb = words[0] if words else ""
    known = verb in ALIASES or any(verb in section for section in COMMANDS.values())
    if not known or verb in WITHOUT_REPOSITORY or HELP.intersection(words):
        return None
    if os.environ.get("_GIT_WORKER_COMPLETE"):
        return None
    try:
        repository = require_repository()
        return ask(repository, os.environ, kept=read_kept_target(state_paths(repository)))
    except GitWorkerError:  # told where the command meets it
        return None
