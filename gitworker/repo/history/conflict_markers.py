"""Find conflict markers that were committed by mistake."""

from gitworker.model.ids import Oid
from gitworker.paths import require_repository
from gitworker.repo.history.diffs import NO_INDEX
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import read_objects

MARKER = b"<<<<<<< "


def find_marked_files(git: Git, *, base: Oid, tip: Oid) -> tuple[str, ...]:
    """Return the files that a branch changed since it left `base` and that have a marker now.

    Only files whose changed lines contain a marker are read. Without a single merge base the result
    is empty.
    """
    done = git.run(
        "diff-tree", "--merge-base", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff",
        "--no-textconv", "--diff-filter=d", "--ignore-submodules=all", f"-G^{MARKER.decode()}",
        base, tip, ok=(0, 128),
        env={"GIT_INDEX_FILE": f"{require_repository(git.directory).common_dir}/{NO_INDEX}"},
    )  # fmt: skip
    names = [name for name in done.text.split("\0") if name]
    texts = read_objects(git, [f"{tip}:{name}" for name in names])
    found = (name for name, text in zip(names, texts, strict=True) if text and _is_marked(text))
    return tuple(found)


def _is_marked(text: bytes) -> bool:
    return text.startswith(MARKER) or b"\n" + MARKER in text
