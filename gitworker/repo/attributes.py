"""A private work tree that holds nothing but the attributes a merge has to see.

`merge-tree` reads `.gitattributes` from the work tree it runs in (GIT-FACTS). A rebase would see
those of the commit it stands on, so they are laid out here, for the directories that matter, and
laid out again when a replayed commit changes them.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from gitworker.model.ids import Oid
from gitworker.repo.disk import remove_tree
from gitworker.repo.git import Git
from gitworker.repo.objects import read_objects

NAME = ".gitattributes"


@dataclass(frozen=True, slots=True)
class AttributeTree:
    """A directory to lay attributes out in, and the directories (as in a tree) that matter."""

    directory: str
    relevant: frozenset[str]

    def lay_out(self, git: Git, tree: Oid) -> list[bytes]:
        """Make the directory hold the attributes of `tree`; return their texts."""
        remove_tree(self.directory)
        os.mkdir(self.directory)
        places = sorted(self.relevant)
        names = [f"{tree}:{os.path.join(place, NAME)}" for place in places]
        texts = []
        for place, text in zip(places, read_objects(git, names), strict=True):
            if text is not None:
                folder = os.path.join(self.directory, place)
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, NAME), "wb") as file:
                    file.write(text)
                texts.append(text)
        return texts


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
    """Return every directory of a tree that holds attributes; reads the whole tree."""
    out = git.run("ls-tree", "-r", "-z", "--name-only", tree).text
    return {os.path.dirname(path) for path in out.split("\0") if os.path.basename(path) == NAME}


def read_foreign_attributes(common_dir: str, configured: str | None) -> list[bytes]:
    """Return the attribute texts outside any tree: the repository's, the user's, the system's."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = os.path.expanduser(configured) if configured else f"{home}/git/attributes"
    texts = []
    for path in (f"{common_dir}/info/attributes", own, "/etc/gitattributes"):
        try:
            with open(path, "rb") as file:
                texts.append(file.read())
        except OSError:
            continue
    return texts
