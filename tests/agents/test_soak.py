"""A supervisor that has much to do for long: its memory stays flat and small."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from gitworker.store.api import Writer
from tests.agents.supervised import SupervisedWorker, read_until
from tests.cli.kit import DEADLINE_S
from tests.store.support import SCALE
from tests.workers.world import wait_until

ROUNDS = 3 * SCALE
MEBIBYTES = 32
ORDERS = 100
LIMIT_KB = 40 * 1024
SLACK_KB = 1024
AGENT = f"""
import os, sys
block = os.urandom(65536)
for line in sys.stdin:
    for _ in range({MEBIBYTES} * 16):
        os.write(1, block)
    os.write(2, b"done " + line.encode())
"""


def memory_kb(pid: int, name: str) -> int:
    """Return a figure of a process's memory (proc(5): VmRSS, VmHWM)."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found.group(1))


@pytest.mark.slow
def test_memory_stays_flat(auth: SupervisedWorker) -> None:
    """Round after round of output and orders, a supervisor stays under 40 MB and does not grow."""
    env = {"GITWORKER_LIVENESS_BEAT_S": "1"}
    session = auth.world.session()
    sizes = []
    with (
        open("/dev/null", "wb") as null,
        auth.running(
            sys.executable, "-c", AGENT, stdin=-1, stdout=null, env={**_environment(), **env}
        ) as process,
    ):
        assert process.stdin
        assert process.stderr
        for number in range(ROUNDS):
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            with session.store.write() as writer:
                for order in range(ORDERS):
                    _order(writer, f"{number}-{order}")
            wait_until(lambda n=number: len(auth.logs()) == 1 + (n + 1) * ORDERS)
            read_until(process.stderr.fileno(), b"done %d\n" % number)
            sizes.append(memory_kb(process.pid, "VmRSS"))
        assert memory_kb(process.pid, "VmHWM") < LIMIT_KB
        process.stdin.close()
        process.stdin = None
        assert process.wait(DEADLINE_S) == 0
    assert sizes[-1] <= sizes[0] + SLACK_KB, sizes


def _environment() -> dict[str, str]:
    """Return the environment without coverage measurement in children, which takes memory."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def _order(writer: Writer, number: str) -> None:
    writer.run(
        "messages.publish",
        id=f"order-{number}", ts_ms=1, from_agent="hq", to_agent="auth", type="cmd",
        correlation_id=None, in_reply_to=None, payload=json.dumps({"command": "resume"}),
        payload_ref=None,
    )  # fmt: skip
