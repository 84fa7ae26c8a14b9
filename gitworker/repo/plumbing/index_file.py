"""The index file of a worktree: check whether git can read it, and rebuild it from HEAD."""

import os

from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git

SIGNATURE = b"DIRC"
SPLIT = b"link"  # gitformat-index(5): the name of the extension of a split index
DIGEST_BYTES = (20, 32)  # SHA-1, SHA-256


def find_index_flaw(git: Git, place: str, admin_dir: str) -> str | None:
    """Return the flaw of a worktree's index as words, None if git can read it.

    Compare the file's checksum. A process is started only for a split index.
    """
    try:
        with open(f"{admin_dir}/index", "rb", opener=open_regular) as file:
            data = file.read()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({(error.strerror or '').lower()})"
    if not data:
        return "is empty"
    if not data.startswith(SIGNATURE) or not any(_is_sound(data, size) for size in DIGEST_BYTES):
        return "is damaged"
    if SPLIT in data and git.at(place).run("ls-files", "--", ".git", ok=(0, 128)).status:
        return "needs another file that is missing or damaged"
    return None


def rebuild_index(git: Git, place: str, admin_dir: str, private: str) -> None:
    """Write the index of HEAD for a worktree that has no index; leave its files unchanged.

    `private` is an empty directory on the same file system.
    """
    here, made = git.at(place), f"{private}/index"
    env = {"GIT_INDEX_FILE": made}
    options: tuple[str, ...] = ()
    if here.text("config", "--type=bool", "core.sparseCheckout", ok=(0, 1)) == "true":
        # git sets the skip-worktree bits only while it writes files: let it write them elsewhere
        os.mkdir(f"{private}/files")
        env["GIT_WORK_TREE"] = f"{private}/files"
        options = ("-m", "-u", "--no-recurse-submodules")
    here.run("read-tree", *options, "HEAD", env=env)
    os.rename(made, f"{admin_dir}/index")
    here.run("update-index", "-q", "--refresh", ok=(0, 1))


def _is_sound(data: bytes, size: int) -> bool:
    from hashlib import sha1, sha256  # 3 ms

    body, digest = data[:-size], data[-size:]
    if len(body) < len(SIGNATURE) + 8:
        return False
    if not any(digest):  # index.skipHash
        return True
    found = sha1(body, usedforsecurity=False) if size == DIGEST_BYTES[0] else sha256(body)
    return found.digest() == digest
