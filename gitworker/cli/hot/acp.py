"""The process that `exec` starts for an agent that speaks ACP, without click.

    python -P -m gitworker.cli.hot.acp [--session S] [--mode M] [--permission K=D]... -- COMMAND

The prompt is the standard input. Standard output gets events as JSON lines.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from gitworker.cli.output import ERR, OUT
from gitworker.errors import GitWorkerError

if TYPE_CHECKING:
    from collections.abc import Sequence

IN = 0
CHUNK = 1 << 16
FAILED = 1


def main(words: Sequence[str]) -> int:
    """Run the agent to its end and return the exit status."""
    from gitworker.acp.run import AcpRequest, run_agent  # the library: 0.7 s

    options, command = _split(words)
    prompt = b"".join(iter(lambda: os.read(IN, CHUNK), b""))
    writer = os.dup(OUT)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, IN)  # the programs that a commit starts read and write nothing of ours
    os.close(empty)
    os.dup2(ERR, OUT)

    def emit(event: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(event).encode() + b"\n")
        while rest:
            rest = rest[os.write(writer, rest) :]

    request = AcpRequest(
        command, prompt.decode("utf-8", "replace"), os.environ["GITWORKER_ID"],
        next(iter(options.get("--session", ())), None), next(iter(options.get("--mode", ())), None),
        tuple(options.get("--permission", ())),
    )  # fmt: skip
    try:
        return run_agent(request, emit)
    except GitWorkerError as error:
        emit({"type": "error", "message": error.message})
        return FAILED


def _split(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the values of our options, each an option and a value, and the agent's command."""
    at = words.index("--")
    options: dict[str, list[str]] = {}
    for name, value in zip(words[:at:2], words[1:at:2], strict=True):
        options.setdefault(name, []).append(value)
    return options, list(words[at + 1 :])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
