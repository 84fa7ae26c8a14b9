"""The changes of many commits, by one `git diff-tree --stdin`: paths, modes and blobs."""

from collections.abc import Sequence

from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.path_changes import GITLINK, Change

# A file that never exists: diff-tree would read the whole index, and it needs none of it.
NO_INDEX = "gitworker-no-index"


def diff_commits(
    git: Git, requests: Sequence[str], *, known: dict[str, tuple[Change, ...]] | None = None
) -> list[tuple[Change, ...]] | None:
    """Return the changes of each request in order, sorted as git sorts them, without renames.

    A request is a commit, which is compared with its parent, or `<commit> <other>`. git remembers
    that other parent for later requests of the same commit, so such a request comes last. A root
    commit adds all its files. Returns None if a commit is a merge or does not exist. `known` holds
    the changes of commits from earlier calls; new ones are added to it.
    """
    known = {} if known is None else known
    missing = [request for request in dict.fromkeys(requests) if request not in known]
    answered = _ask(git, missing) if missing else []
    if answered is None:
        return None
    fresh = dict(zip(missing, answered, strict=True))
    known.update((commit, changes) for commit, changes in fresh.items() if " " not in commit)
    return [fresh[one] if one in fresh else known[one] for one in requests]


def _ask(git: Git, requests: Sequence[str]) -> list[tuple[Change, ...]] | None:
    out = git.run(
        "diff-tree", "--stdin", "--root", "-m", "--always", "-r", "-z", "--raw", "--no-renames",
        "--ignore-submodules=none",
        stdin="".join(f"{request}\n" for request in requests).encode(),
        env={"GIT_INDEX_FILE": f"{require_repository(git.directory).common_dir}/{NO_INDEX}"},
    ).text  # fmt: skip
    found: list[list[Change]] = []
    headers = []
    fields = iter(out.split("\0"))
    for field in fields:
        if field.startswith(":"):
            found[-1].append(_parse(field, next(fields)))
        elif field:
            headers.append(field)
            found.append([])
    if headers != [request.partition(" ")[0] for request in requests]:
        return None  # git prints one header for each parent of a merge
    return [tuple(changes) for changes in found]


def changed_files(git: Git, *, base: Oid, tip: Oid) -> list[str]:
    """Return the files that a branch changed since it left `base`; none without a merge base."""
    done = git.run(
        "diff-tree", "--merge-base", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff",
        "--no-textconv", base, tip, ok=(0, 128),
        env={"GIT_INDEX_FILE": f"{require_repository(git.directory).common_dir}/{NO_INDEX}"},
    )  # fmt: skip
    return [name for name in done.text.split("\0") if name]


def is_submodule(change: Change) -> bool:
    """Return whether a change adds, moves or removes a submodule."""
    return GITLINK in (change.old_mode, change.new_mode)


def _parse(raw: str, path: str) -> Change:
    old_mode, new_mode, old_oid, new_oid, status = raw[1:].split(" ")
    return Change(status, old_mode, new_mode, Oid(new_oid), path, Oid(old_oid))
