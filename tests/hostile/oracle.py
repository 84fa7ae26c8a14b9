"""An independent record of every byte that people write, and proof that each can still be had.

It knows nothing of our tables and refs: content counts as kept if a ref leads to it, an index names
it, or a file below the repository's directory holds it (a checkout, a worktree, the trash).
"""

import os
import re
import subprocess
from pathlib import Path

TOKEN = re.compile(rb"<kept:\d+>")
BLOBS = "git ls-files --stage -z | tr '\\0' '\\n' | cut -d' ' -f2 | sort -u | git cat-file --batch"
REACHABLE = (
    "git --no-replace-objects rev-list --objects --no-object-names --all"
    " | git --no-replace-objects cat-file --batch"
)


class Oracle:
    """Every token that was written, with how it was written, less those that were given up."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written: dict[bytes, str] = {}

    def new(self, how: str) -> str:
        """Return a unique token that must be kept from now on."""
        token = f"<kept:{len(self.written)}>"
        self.written[token.encode()] = how
        return token

    def change(self, tokens: set[bytes], how: str) -> None:
        """Record that these tokens are held in another way now."""
        for token in tokens:
            self.written[token] = how

    def give_up(self, tokens: set[bytes]) -> None:
        """Record that a person has deleted these tokens on purpose."""
        for token in tokens:
            self.written[token] = ""

    def lost(self) -> dict[bytes, str]:
        """Return the tokens that are nowhere any more, each with how it was written."""
        held = self._in_refs() | self._in_indexes() | tokens_below(self.root)
        return {token: how for token, how in self.written.items() if how and token not in held}

    def _in_refs(self) -> set[bytes]:
        return set(TOKEN.findall(_output(REACHABLE, self.root)))

    def _in_indexes(self) -> set[bytes]:
        found = set(TOKEN.findall(_output(BLOBS, self.root)))
        for directory, folders, files in os.walk(self.root / "worktrees"):
            if ".git" in files:
                folders.clear()
                found |= set(TOKEN.findall(_output(BLOBS, Path(directory))))
        return found


def tokens_below(root: Path) -> set[bytes]:
    """Return the tokens in all files below a directory, those of git and of our records aside."""
    found: set[bytes] = set()
    for directory, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git",)]
        for name in files:
            path = Path(directory, name)
            if not path.is_symlink() and name != ".worker.log":
                found |= tokens_in(path)
    return found


def tokens_in(path: Path) -> set[bytes]:
    """Return the tokens of a file; an absent file has none."""
    return set(TOKEN.findall(path.read_bytes())) if path.is_file() else set()


def _output(command: str, cwd: Path) -> bytes:
    done = subprocess.run(["sh", "-c", command], cwd=cwd, capture_output=True, check=False)
    return done.stdout
