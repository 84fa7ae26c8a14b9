"""Named points at which a test can kill this process, to prove that repair works."""

import os

SIGKILL = 9
VARIABLE = "GITWORKER_CRASH_AT"


def crash_point(name: str) -> None:
    """Kill this process without clean-up if `GITWORKER_CRASH_AT` names this point."""
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), SIGKILL)
