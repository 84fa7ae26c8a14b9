"""Renaming a branch as its user would, with its reflog, its settings and its checkouts."""

from gitworker.errors import Conflict, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.repo.git import Git, GitFailed
from gitworker.repo.refs import find_ref, is_ancestor


def rename_branch(git: Git, old: Ref, new: Ref, *, tip: Oid | None = None) -> None:
    """Rename a branch by git itself: reflog, `branch.*` settings and checkouts go along.

    With `tip` it must be there, and whatever is committed meanwhile goes along too. Raises Conflict
    where it is not, Refused where git does not allow the name.
    """
    if tip is not None and find_ref(git, old) != tip:
        raise _moved(old, tip)
    names = (old.removeprefix("refs/heads/"), new.removeprefix("refs/heads/"))
    try:
        git.run("branch", "--no-color", "-m", "--", *names)
    except GitFailed as failure:
        raise Refused(
            f"git does not rename {names[0]} to {names[1]}",
            f"git branch -m {names[0]} {names[1]}",
            code="rename_refused",
            detail=failure.detail,
        ) from failure
    now = find_ref(git, new)
    if now is None or (tip is not None and not is_ancestor(git, tip, now)):
        raise _moved(new, tip)


def _moved(ref: Ref, tip: Oid | None) -> Conflict:
    expected = "" if tip is None else f", expected at {tip[:12]}"
    return Conflict(
        f"{ref} was moved by somebody else{expected}", f"git reflog show {ref}", code="ref_moved"
    )
