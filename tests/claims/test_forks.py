"""Claims in programs that fork: SQLite's locks stay with the parent."""

import subprocess
import sys
from pathlib import Path

from tests.cli.kit import ok
from tests.store.support import DEADLINE_S, foreign

FORKING = """
import os, sys
from gitworker.claims import open_claims
with open_claims(holder="auth") as claims:
    claims.take("x:before")
    if os.fork():
        os._exit(0)
    sys.stdin.read()
    print(claims.take("x:after").epoch)
"""


def test_a_forked_child_keeps_its_claim(repository: Path) -> None:
    """A forked child's claim stays, although another program closed the bus as its last user."""
    ok(repository, "init")
    database, pipe = repository / ".git/worker-state/bus.db", subprocess.PIPE
    asked = "SELECT task_id FROM task_claims ORDER BY claimed_at_ms"
    words = [sys.executable, "-c", FORKING]
    with subprocess.Popen(words, cwd=repository, stdin=pipe, stdout=pipe) as parent:
        assert parent.wait(DEADLINE_S) == 0
        assert foreign(database, asked) == [[["x:before"]]]
        assert not Path(f"{database}-wal").exists(), "no other process had the bus open"
        assert parent.communicate(b"go", timeout=DEADLINE_S) == (b"1\n", None)
    assert foreign(database, asked) == [[["x:before"], ["x:after"]]]
