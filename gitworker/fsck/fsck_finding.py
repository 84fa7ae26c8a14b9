"""One inconsistency: what, where, and what mends it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gitworker.session import Session

Mend = Callable[[Session], None]


@dataclass(frozen=True, slots=True)
class FsckFinding:
    """`code` names the kind, `where` a ref, path, worker or row, `what` says it in a sentence.

    `help` is what `--repair` does where there is a `mend`, else a command that a person runs.
    """

    code: str
    where: str
    what: str
    help: str
    mend: Mend | None = field(default=None, compare=False)
    locks_itself: bool = False  # else it is done under the lock of worktrees too
