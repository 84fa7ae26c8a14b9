"""Reports of the versions of git, Python and SQLite."""

import sys
from collections.abc import Iterator

from gitworker.fsck.finding import Finding, ok
from gitworker.paths import Repository
from gitworker.repo.plumbing.git import Git
from gitworker.session import Session
from gitworker.store.records.findings import find_engine_version


def check_git(repository: Repository) -> Iterator[Finding]:
    """Report git's version; raise Unavailable if it is too old."""
    version = Git(repository.top or repository.common_dir).version()
    yield ok("git", f"git {'.'.join(map(str, version))}")


def check_python(_: Repository) -> Iterator[Finding]:
    """Report Python's version."""
    yield ok("python", f"Python {'.'.join(map(str, sys.version_info[:3]))}")


def check_sqlite(session: Session) -> Iterator[Finding]:
    """Report the version of the SQLite that the driver contains."""
    with session.store.read() as reader:
        version = find_engine_version(reader)
    yield ok("sqlite", f"SQLite {version or 'unknown'}")
