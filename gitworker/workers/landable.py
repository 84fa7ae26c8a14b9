"""Work is accepted only if git can check out each of its commits."""

from collections.abc import Sequence

from gitworker.errors import Refused
from gitworker.model.ids import Oid
from gitworker.repo.tree_check import find_bad_tree
from gitworker.session import Session


def require_landable(session: Session, worker: str, tips: Sequence[Oid], *, base: Oid) -> None:
    """Raise Refused if a commit in `base..tips` has a tree that git's index refuses.

    On the target it would block every later landing, and every clone of the repository.
    """
    bad = find_bad_tree(session.git, tips, base=base)
    if bad is None:
        return
    entry = f"the entry `{bad.path}`: " if bad.path else ""
    raise Refused(
        f"{worker} cannot land, since git cannot check out commit {bad.commit[:12]}:"
        f" {entry}{bad.reason}",
        f"git reset --soft {bad.commit[:12]}^   (in its worktree; then commit again)",
        code="unsafe_tree",
    )
