"""Checks of what we run on: git, Python, SQLite."""

import sys
from collections.abc import Iterator

from gitworker.fsck.finding import DoctorFinding, ok
from gitworker.repo.plumbing.git import Git
from gitworker.session import Session


def check_git(git: Git) -> Iterator[DoctorFinding]:
    """Say git's version; raise Unavailable where it is too old."""
    yield ok("git", f"git {'.'.join(map(str, git.version()))}")


def check_python() -> Iterator[DoctorFinding]:
    """Say Python's version; what is too old could not have got here."""
    yield ok("python", f"Python {'.'.join(map(str, sys.version_info[:3]))}")


def check_sqlite(session: Session) -> Iterator[DoctorFinding]:
    """Say the version of the SQLite that the driver brings."""
    with session.store.read() as reader:
        row = reader.row("observe.sqlite_version")
    yield ok("sqlite", f"SQLite {row['version'] if row else 'unknown'}")
