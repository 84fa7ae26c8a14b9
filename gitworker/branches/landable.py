"""Refuse work, and starting points, with a commit that git refuses."""

from collections.abc import Sequence

from gitworker.errors import Refused
from gitworker.model.ids import Oid
from gitworker.repo.history.tree_check import find_bad_commit
from gitworker.rules_text import quoted
from gitworker.session import Session


def require_landable(
    session: Session, worker: str, tips: Sequence[Oid], *, base: Oid, worktree: str | None
) -> None:
    """Raise Refused if git refuses a commit in `base..tips`: its header, or a name in its tree.

    On the target it would block every later landing, clone or push of the repository. `worktree`
    has the branch checked out.
    """
    show = "git show --stat {commit}   # write it again without the fault"
    reset = "git -C {place} reset --soft {commit}^   # then commit again"
    place = quoted(worktree or "").replace("{", "{{").replace("}", "}}")
    hint = show if worktree is None else reset.replace("{place}", place)
    _require(session, tips, base=base, action=f"{worker} cannot land", hint=hint)


def require_startable(session: Session, start: str, tip: Oid, *, target: Oid) -> None:
    """Raise Refused if git refuses a commit in `target..tip`: its header, or a name in its tree.

    Work on top of it could never land.
    """
    _require(
        session, [tip], base=target, action=f"no worker can start from {start}",
        hint="git worker spawn --from {commit}^ <worker> <task>",
    )  # fmt: skip


def _require(session: Session, tips: Sequence[Oid], *, base: Oid, action: str, hint: str) -> None:
    bad = find_bad_commit(session.git, tips, base=base)
    if bad is None:
        return
    commit = bad.commit[:12]
    if bad.path is None:
        raise Refused(
            f"{action}, since git's checks refuse commit {commit}: {bad.reason}",
            hint.format(commit=commit),
            code="malformed_commit",
        )
    entry = f"the entry `{bad.path}`: " if bad.path else ""
    raise Refused(
        f"{action}, since git cannot check out commit {commit}: {entry}{bad.reason}",
        hint.format(commit=commit),
        code="unsafe_tree",
    )
