"""The MCP server: the time to its first answer, and the memory that it holds while an agent runs.

Every running agent keeps one server. The limits of 100 ms and 20 MiB are those of a server of 80
lines (70 ms, 14.5 MB) with room for the tools; a server on the Python SDK needs a second and 65 MB.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Failed, interleave, resident_mib
from benchmarks.results import Result, not_measured, shown
from benchmarks.scene import PYTHON, Scene

ROUNDS = 25
AT_MOST_MS = 100
AT_MOST = 4  # times a bare interpreter, for a machine on which that takes longer than 25 ms
IDLE_MIB = 20
WORKED_MIB = 20
ARGV = ("git-worker", "mcp")
OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}}
TASK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("whoami", {}),
    ("inbox", {}),
    ("send", {"text": "I begin"}),
    ("progress", {"progress": 0.5, "note": "tests"}),
    ("commit", {"message": "Work"}),
    ("sync", {}),
    ("done", {"note": "ready"}),
)


class Served:
    """A running server and its client."""

    def __init__(self, scene: Scene, directory: Path) -> None:
        self.process = subprocess.Popen(
            ARGV, cwd=directory, env=dict(scene.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return the result."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline() or b"{}")
        if "result" not in answer or answer["result"].get("isError"):
            raise Failed(f"{method} {params}: {answer}")
        found: dict[str, Any] = answer["result"]
        return found


@contextmanager
def served(scene: Scene, directory: Path) -> Iterator[Served]:
    """Start a server; end it by the end of its input."""
    server = Served(scene, directory)
    try:
        yield server
    finally:
        server.process.communicate()


def measure_mcp(scene: Scene) -> Iterator[Result]:
    """Measure the first answer, then the memory before and after a whole task."""
    root = scene.small_repository("repo")
    worktree = scene.spawn(root, "auth", "t1")
    yield _first_answer(scene, worktree)
    try:
        yield from _memory(scene, worktree)
    except (Failed, OSError) as failure:
        yield not_measured("memory of the MCP server", f"≤ {IDLE_MIB} MiB", str(failure))


def _first_answer(scene: Scene, worktree: Path) -> Result:
    def answer() -> float:
        started = time.perf_counter_ns()
        with served(scene, worktree) as server:
            server.ask("initialize", **OPENING)
            return (time.perf_counter_ns() - started) / 1e6

    samples = interleave(
        {"bare": lambda: scene.time(worktree, PYTHON, "-c", "pass"), "ours": answer},
        rounds=scene.count(ROUNDS),
        settle=scene.settle,
    )
    ours, bare = samples["ours"], samples["bare"]
    return Result(
        "`mcp`, from its start to the first answer",
        f"≤ {AT_MOST_MS} ms, or ≤ {AT_MOST} ×",
        ours.median <= max(AT_MOST_MS, AT_MOST * bare.median),
        f"{ours.median:.0f} ms, {ours.median / bare.median:.2f} ×",
        shown(ours),
        shown(bare),
        'git-worker mcp, until "initialize" is answered',
        "python -c pass",
    )


def _memory(scene: Scene, worktree: Path) -> Iterator[Result]:
    with served(scene, worktree) as server:
        pid = server.process.pid
        server.ask("initialize", **OPENING)
        server.ask("tools/list")
        yield _resident("before the first tool", pid, IDLE_MIB)
        (worktree / "work.txt").write_text("1\n", encoding="utf-8")
        for name, arguments in TASK:
            server.ask("tools/call", name=name, arguments=arguments)
        yield _resident("after a task from `whoami` to `done`", pid, WORKED_MIB)
        server.ask("tools/call", name="inbox", arguments={"wait_s": 1})
        yield _resident("after a call that waited", pid, WORKED_MIB)


def _resident(moment: str, pid: int, limit_mib: float) -> Result:
    found_mib = resident_mib(pid)
    return Result(
        f"`mcp`, resident memory {moment}",
        f"≤ {limit_mib} MiB",
        found_mib <= limit_mib,
        f"{found_mib:.1f} MiB",
        our_command="git-worker mcp",
    )
