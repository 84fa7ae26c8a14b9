"""Publish a branch's commits soon after they are made, without the help of a hook.

Agents bypass hooks: Gemini's shell sets core.hooksPath, aider commits with --no-verify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.repo.plumbing.refs import find_tip
from gitworker.store.records.tips import find_tip as find_published

if TYPE_CHECKING:
    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session

EVERY_MS = 2000


class BranchWatch:
    """Compare a branch's tip with the tip that was published last; a file is read for that."""

    def __init__(self, session: Session, ref: Ref) -> None:
        self._session = session
        self._ref = ref
        self._due_mono_ms = 0
        with session.store.read() as reader:
            self._seen: Oid | None = find_published(reader, ref)

    def look(self) -> None:
        """Publish the new commits if the tip has moved; does nothing within two seconds."""
        now = clock.monotonic_ms()
        if now < self._due_mono_ms:
            return
        self._due_mono_ms = now + EVERY_MS
        session = self._session
        tip = find_tip(session.git, session.repository.common_dir, self._ref)
        if tip is None or tip == self._seen:
            return
        from gitworker.bus.drain import drain  # only if the branch has moved

        drain(session)
        self._seen = tip
