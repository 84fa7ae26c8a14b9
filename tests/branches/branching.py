"""A random target with random branches that fork from it, made by one fast-import.

Edits, renames, moved directories, files in the place of directories and the reverse, modes, links,
branches on top of others and branches that merged: all that two sides of a merge can contain.
"""

import random
from dataclasses import dataclass, field

from fixtures.repos import Repo
from gitworker.model.ids import Oid

FOLDERS = ("", "a/", "a/b/", "c/", "c/d/", "e/")
DESTINATIONS = ("e/", "m/", "a/", "c/q/")
CLASHING = ("a", "c", "c/d", "e", "x/y", "y/z", "m")  # some are directories elsewhere
LINK = "120000"
FILE, PROGRAM = "100644", "100755"

Tree = dict[str, tuple[str, str]]  # mode and text by path


@dataclass
class Branching:
    """The stream for git, and the content of each commit."""

    seed: int
    stream: list[str] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=lambda: [{}])

    def __post_init__(self) -> None:
        """Seed the randomness."""
        self.random = random.Random(self.seed)

    def build(self, repo: Repo, branches: int) -> list[Oid]:
        """Make the history in an empty repository; return the tips that the target is not."""
        base = {f"{self._folder()}f{at}": (FILE, f"file {at}\n{self._text()}") for at in range(14)}
        main = [self._commit("main", [], base)]
        for _ in range(self.random.randint(0, 5)):
            main.append(self._commit("main", [main[-1]], self._changed(self.trees[main[-1]])))
        tips: list[int] = []
        for number in range(branches):
            tip = self.random.choice(tips if tips and self.random.random() < 0.1 else main)
            for _ in range(self.random.randint(1, 2)):
                merged = [self.random.choice(main)] if self.random.random() < 0.1 else []
                tip = self._commit(f"b{number}", [tip, *merged], self._changed(self.trees[tip]))
            tips.append(tip)
        repo.git("fast-import", "--quiet", input="".join(self.stream).encode())
        found = repo.git("for-each-ref", "--format=%(objectname)", "refs/heads/b*").split()
        return [Oid(oid) for oid in sorted(set(found) - {repo.head("main")})]

    def _commit(self, branch: str, parents: list[int], tree: Tree) -> int:
        mark = len(self.trees)
        self.trees.append(tree)
        self.stream.append(
            f"commit refs/heads/{branch}\nmark :{mark}\n"
            f"committer A <a@example.org> {1_800_000_000 + mark} +0000\ndata 0\n"
        )
        words = ("from", "merge")
        self.stream += [f"{word} :{parent}\n" for word, parent in zip(words, parents, strict=False)]
        self.stream.append("deleteall\n")
        self.stream += [
            f"M {mode} inline {path}\ndata {len(text)}\n{text}\n"
            for path, (mode, text) in tree.items()
        ]
        return mark

    def _changed(self, before: Tree) -> Tree:
        tree = dict(before)
        for _ in range(self.random.randint(1, 3)):
            self._change(tree, self.random.randint(0, 9))
        return tree

    def _change(self, tree: Tree, kind: int) -> None:
        path = self.random.choice(sorted(tree)) if tree else "f0"
        mode, text = tree.get(path, (FILE, self._text()))
        if kind <= 2 and mode != LINK:
            lines = text.splitlines() or [""]
            lines[self.random.randrange(len(lines))] = f"edit {self.random.randint(0, 5)}"
            _put(tree, path, mode, "\n".join(lines) + "\n")
        elif kind == 3:
            tree.pop(path, None)
        elif kind == 4:
            tree.pop(path, None)
            _put(tree, self._folder() + self.random.choice("xyz"), mode, text)
        elif kind == 5:
            self._move(tree, self.random.choice(FOLDERS[1:]), self.random.choice(DESTINATIONS))
        elif kind == 6:
            _put(tree, self.random.choice(CLASHING), FILE, self._text())
        elif kind == 7 and mode != LINK:
            _put(tree, path, PROGRAM if mode == FILE else FILE, text)
        elif kind == 8:
            _put(tree, path, LINK, "target")
        else:
            _put(tree, self._folder() + self.random.choice(("n1", "n2", "n3", "x")), FILE, text)

    def _move(self, tree: Tree, folder: str, place: str) -> None:
        """Move a directory, not into itself."""
        if place.startswith(folder) or folder.startswith(place):
            return
        for path in [path for path in tree if path.startswith(folder)]:
            if path in tree:  # an earlier _put may have deleted it
                _put(tree, place + path[len(folder) :], *tree.pop(path))

    def _folder(self) -> str:
        return self.random.choice(FOLDERS)

    def _text(self) -> str:
        return "".join(
            f"line {at} {self.random.randint(0, 1) if at % 7 == 0 else ''}\n" for at in range(12)
        )


def _put(tree: Tree, path: str, mode: str, text: str) -> None:
    """Put a file into a tree; delete the paths that conflict with it."""
    for other in list(tree):
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            del tree[other]
    tree[path] = (mode, text)
