"""verify: run the verify commands on one commit at a user's request."""

from gitworker.model.ids import Oid
from gitworker.session import Session
from gitworker.verify.target_settings import require_valid_file
from gitworker.verify.trust import require_trusted
from gitworker.verify.verify import Verdict, Verifier
from gitworker.verify.verify_worktree import Lend


def verify_once(
    session: Session,
    commit: Oid,
    *,
    label: str,
    force: bool = False,
    lend: Lend | None = None,
) -> Verdict:
    """Return the verdict on a commit: the recorded one unless `force`, else of a run now.

    `lend` may supply a worktree. Raises Refused if the commands are not trusted, Unavailable if
    they cannot be run, Invalid if the target's settings have an error.
    """
    require_valid_file(session)
    require_trusted(session)
    with Verifier(session, lend=lend) as verifier:
        known = verifier.known(commit)
        if known is not None and not (force and session.settings.verify_commands):
            return known
        verifier.start(commit, label=label)
        ended = verifier.wait()
        assert ended is not None
        return ended[1]
