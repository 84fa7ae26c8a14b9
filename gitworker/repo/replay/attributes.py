"""A private work tree with only the attributes files that a merge reads.

`merge-tree` reads `.gitattributes` from the work tree in which it runs. A rebase would see those of
its current commit. So they are written here, for the directories that matter, and again if a
replayed commit changes them.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

from gitworker.errors import Naming
from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import remove_tree
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import read_objects
from gitworker.repo.plumbing.rules_tree import is_safe_path

NAME = ".gitattributes"


def lay_out(directory: str, texts: Mapping[str, bytes]) -> None:
    """Fill `directory` with exactly these attributes files, given by directory of the tree."""
    remove_tree(directory)
    os.mkdir(directory)
    for place, text in texts.items():
        if place and not is_safe_path(place):
            continue
        folder = os.path.join(directory, place)
        os.makedirs(folder, exist_ok=True)
        with (
            Naming(os.path.join(folder, NAME)),
            open(os.path.join(folder, NAME), "wb", opener=open_regular) as file,
        ):
            file.write(text)


def name_attributes(tree: Oid, places: Iterable[str]) -> list[str]:
    """Return git's names of the attributes files in these directories of a tree or commit."""
    return [f"{tree}:{os.path.join(place, NAME)}" for place in places]


def read_attributes(git: Git, tree: Oid, places: Sequence[str]) -> dict[str, bytes]:
    """Return the attributes files in these directories of a tree, by directory."""
    texts = read_objects(git, name_attributes(tree, places))
    return {place: text for place, text in zip(places, texts, strict=True) if text is not None}


def ancestors_of(paths: Iterable[str]) -> set[str]:
    """Return the directories above `paths`, the root as the empty string."""
    found = {""}
    for path in paths:
        directory = os.path.dirname(path)
        while directory not in found:
            found.add(directory)
            directory = os.path.dirname(directory)
    return found


def list_attribute_directories(git: Git, tree: Oid) -> set[str]:
    """Return every directory of a tree that has an attributes file; reads the whole tree."""
    out = git.run("ls-tree", "-r", "-z", "--name-only", tree).text
    return {os.path.dirname(path) for path in out.split("\0") if os.path.basename(path) == NAME}


def read_foreign_attributes(common_dir: str, configured: str | None) -> list[bytes]:
    """Return the attribute texts outside any tree: the repository's, the user's, the system's."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = os.path.expanduser(configured) if configured else f"{home}/git/attributes"
    texts = []
    for path in (f"{common_dir}/info/attributes", own, "/etc/gitattributes"):
        try:
            with open(path, "rb", opener=open_regular) as file:
                texts.append(file.read())
        except OSError:
            continue
    return texts
