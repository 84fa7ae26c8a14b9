"""Find work in a removed worktree that the commit, which should keep it, does not contain.

Files may have changed between the snapshot and the rename into the trash, a repository inside is
in no commit of the outer one, and a full disk leaves files out. So before an entry is deleted for
good, it is compared byte for byte. Ignored files do not count. After a week, bytes that git's
conversions strip from a file do not count either.
"""

import os

from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.rescue.worktree_commits import find_worktree_only_commits
from gitworker.repo.status.converted_files import find_converted
from gitworker.repo.status.path_changes import GITLINK
from gitworker.repo.status.tracked_files import find_file


def find_unsaved(
    git: Git, entry: str, commit: Oid, *, common_dir: str, exactly: bool = True
) -> str:
    """Describe the content of a trash entry that would be lost; return "" if nothing would.

    `entry` is its directory; `git` runs in the main checkout. The whole worktree is read. Without
    `exactly` a file counts as kept if git reports it as unchanged.
    """
    tree, admin = f"{entry}/tree", f"{entry}/admin"
    if not os.path.isdir(tree):
        return ""
    here = git.at(tree)
    try:
        with private_directory(entry, "look-") as private:
            env = {
                "GIT_DIR": admin,
                "GIT_COMMON_DIR": common_dir,
                "GIT_WORK_TREE": tree,
                "GIT_INDEX_FILE": f"{private}/index",
            }
            here.run("read-tree", commit, env=env)
            path = _find_repository(here, env) or _find_file(here, env)
            if path:
                return f"{path}, which no ref keeps"
            path = find_converted(here, env, scratch_dir=private) if exactly else ""
            if path:
                return f"bytes of {path} that git strips, so no ref keeps them"
        return (
            "commits that no ref reaches"
            if find_worktree_only_commits(git, admin, log=False)
            else ""
        )
    except (GitFailed, OSError):
        return "files that git cannot compare with the kept commit"


def _find_repository(here: Git, env: dict[str, str]) -> str:
    """Return a repository inside the worktree; the outer commit keeps only its commit id.

    A submodule's repository is in the admin directory and was kept when the worktree was removed.
    """
    for entry in here.run("ls-files", "--stage", "-z", env=env).text.split("\0"):
        path = entry.partition("\t")[2]
        place = f"{here.directory}/{path}/.git"
        if not entry.startswith(GITLINK) or find_file(here.directory, path) is None:
            continue
        if os.path.lexists(place) and not _is_submodule(place):
            return f"the repository {path}"
    return ""


def _is_submodule(place: str) -> bool:
    if not os.path.isfile(place):
        return False
    with open(place, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
        return "/modules/" in file.read()


def _find_file(here: Git, env: dict[str, str]) -> str:
    here.run("update-index", "-q", "--refresh", env=env, ok=(0, 1))
    changed = here.run(
        "diff-files", "--name-only", "--diff-filter=d", "--ignore-submodules=all", "-z", env=env
    ).text
    others = here.run("ls-files", "--others", "--exclude-standard", "-z", env=env).text
    path = (changed or others).partition("\0")[0]
    return path and f"the file {path}"
