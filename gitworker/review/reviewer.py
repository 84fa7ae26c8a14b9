"""The names of a reviewer: git's user, or an agent that reviews.

Drafts, marks and looks are owned by the identity (`session.actor`), since git's user can change.
"""

import os

from gitworker.errors import Refused
from gitworker.model.ids import HQ
from gitworker.repo.plumbing.git import GitFailed
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session


def reviewer_of_record(session: Session, memory: ReplayCache | None = None) -> str:
    """Return git's user as `Name <mail>`; raise Refused if git has no user.

    `memory` may have git's answer already.
    """
    try:
        ident = os.fsdecode((memory or ReplayCache()).committer(session.git))
    except GitFailed as failure:
        raise Refused(
            "git does not know who you are, and a review needs a name",
            "git config user.name <name> && git config user.email <mail>",
            detail=failure.detail,
        ) from failure
    return ident.rpartition(">")[0] + ">"


def name_of(session: Session) -> str:
    """Return the name of the caller for people: an agent's id, or git's user for a person."""
    return reviewer_of_record(session) if session.actor == HQ else session.actor
