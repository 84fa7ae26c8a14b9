"""The agents' files that contain our hooks: a record for each agent, and copies for new worktrees.

The record keeps the bytes of each file as they were before, so that a removal restores them.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from gitworker.errors import Naming
from gitworker.paths import open_regular
from gitworker.worktrees.populate.place import has_place

SUFFIX = ".json"


class AttachedFile(NamedTuple):
    """A file with our hooks: its bytes before (None: it did not exist), the digest of ours.

    `made` is the topmost directory that was made for it, "" if its directory existed.
    """

    before: bytes | None
    after: str
    made: str = ""


class Attachment(NamedTuple):
    """An agent with our hooks: the program that they call, the files by their paths.

    `local` is the path of the agent's file in a worktree, "" for a file of the user; `content` is
    the file for a new worktree.
    """

    agent: str
    program: str
    local: str
    content: str
    files: Mapping[str, AttachedFile]


def user_records(env: Mapping[str, str]) -> str:
    """Return the directory of the records for the user's own settings."""
    state = env.get("XDG_STATE_HOME") or f"{home_of(env)}/.local/state"
    return f"{state}/gitworker/agents"


def home_of(env: Mapping[str, str]) -> str:
    """Return the user's home directory."""
    return env.get("HOME") or os.path.expanduser("~")


def attachments_of(directory: str) -> list[Attachment]:
    """Return the recorded attachments, by agent; a damaged record is left out."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in sorted(os.listdir(directory)):
            if name.endswith(SUFFIX):
                with suppress(OSError, ValueError, KeyError, TypeError):
                    found.append(_read(f"{directory}/{name}"))
    return found


def find_attachment(directory: str, agent: str) -> Attachment | None:
    """Return the attachment of an agent, or None."""
    return next((one for one in attachments_of(directory) if one.agent == agent), None)


def write_attachment(directory: str, one: Attachment) -> None:
    """Record an attachment, or replace its record."""
    os.makedirs(directory, exist_ok=True)
    fields = {
        "agent": one.agent, "program": one.program, "local": one.local, "content": one.content,
        "files": {
            path: {
                "before": None if file.before is None else base64.b64encode(file.before).decode(),
                "after": file.after, "made": file.made,
            }
            for path, file in one.files.items()
        },
    }  # fmt: skip
    write_file(f"{directory}/{one.agent}{SUFFIX}", json.dumps(fields, indent=1).encode())


def drop_attachment(directory: str, agent: str) -> None:
    """Delete the record of an agent."""
    with suppress(FileNotFoundError):
        os.unlink(f"{directory}/{agent}{SUFFIX}")


def digest(content: bytes) -> str:
    """Return the digest by which a file of ours is recognised."""
    return hashlib.sha256(content).hexdigest()


def read_file(path: str) -> bytes | None:
    """Return the bytes of a regular file; None if it does not exist."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read()
    except FileNotFoundError:
        return None


def write_file(path: str, content: bytes) -> None:
    """Replace a file atomically and keep its mode; a symbolic link stays a link."""
    real = os.path.realpath(path)
    partial = f"{real}.gitworker-{os.getpid()}"
    with Naming(partial), open(partial, "wb", opener=open_regular) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        os.chmod(partial, os.stat(real).st_mode & 0o7777)
    os.replace(partial, real)


def topmost_missing(path: str) -> str:
    """Return the topmost directory that must be made for a file; "" if its directory exists."""
    found = ""
    directory = os.path.dirname(path)
    while directory and not os.path.isdir(directory):
        found, directory = directory, os.path.dirname(directory)
    return found


def remove_file(path: str, *, made: str) -> None:
    """Delete a file, and the directories up to `made` that are empty without it.

    A symbolic link stays, as it was before the file that it points to was made.
    """
    os.unlink(os.path.realpath(path))
    directory = os.path.dirname(path)
    with suppress(OSError):  # other files are in it
        while made and directory.startswith(made):
            os.rmdir(directory)
            directory = os.path.dirname(directory)


def copy_attached(directory: str, worktree: str) -> None:
    """Give a new worktree the agents' files with our hooks, unless it has files of these names."""
    for one in attachments_of(directory):
        path = f"{worktree}/{one.local}"
        if one.local and not os.path.lexists(path) and has_own_place(worktree, one.local):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_file(path, one.content.encode())


def has_own_place(worktree: str, local: str) -> bool:
    """Return whether a file of a worktree is in it: no part of the path is a link of its branch."""
    top = os.path.realpath(worktree)
    return has_place(top, local) and not os.path.islink(f"{top}/{local}")


def _read(path: str) -> Attachment:
    with open(path, encoding="utf-8", opener=open_regular) as file:
        fields: dict[str, Any] = json.load(file)
    files = {
        place: AttachedFile(
            None if one["before"] is None else base64.b64decode(one["before"]),
            str(one["after"]),
            str(one["made"]),
        )
        for place, one in fields["files"].items()
    }
    agent, program, local, content = (
        str(fields[name]) for name in ("agent", "program", "local", "content")
    )
    return Attachment(agent, program, local, content, files)
