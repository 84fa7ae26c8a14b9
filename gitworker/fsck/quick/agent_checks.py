"""The check of the agents whose settings contain our hooks: listed, and their program exists."""

import os
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, ok, warn
from gitworker.paths import open_regular
from gitworker.session import Session
from gitworker.worktrees.populate.attached_files import Attachment, attachments_of, user_records
from gitworker.worktrees.populate.populate import RECORDS


def check_agents(session: Session) -> Iterator[Finding]:
    """List the agents that are attached here or for the user; warn of a program that is missing."""
    here = attachments_of(f"{session.paths.root}/{RECORDS}")
    everywhere = attachments_of(user_records(os.environ))
    for one in (*here, *everywhere):
        repair = f"git worker agent install {one.agent}" + ("" if one.local else " --user")
        if not os.access(one.program, os.X_OK):
            yield warn("agents", f"the hooks of {one.agent} call {one.program}, which does not"
                       " exist", repair)  # fmt: skip
        elif missing := _missing(one):
            yield warn("agents", f"the hooks of {one.agent} are missing in {missing}", repair)
    names = [one.agent for one in here] + [f"{one.agent} (--user)" for one in everywhere]
    yield ok("agents", f"hooks attached: {', '.join(names)}" if names else "no hooks attached")


def _missing(one: Attachment) -> str | None:
    """Return a file that existed and has lost our hooks, or None."""
    for path in one.files:
        if os.path.isdir(os.path.dirname(os.path.dirname(path))):
            try:
                with open(path, encoding="utf-8", errors="replace", opener=open_regular) as file:
                    if one.program not in file.read():
                        return path
            except OSError:
                return path
    return None
