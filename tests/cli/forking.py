"""Run `git-worker` in a process of its own without the start of an interpreter.

A server process has imported the program's modules and has run none of its commands. For each
command it forks; the child gets the words, the directory, the environment and the streams of a
program that a shell starts, and ends by the program's own exit. `test_verbs_and_states.py` compares
the answers with those of the program itself.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gitworker
from tests.cli.kit import PROGRAM, Answer

ROOT = Path(__file__).parents[2]
# Clients of packages that no command of the tables starts.
NOT_IMPORTED = ("gitworker.acp", "gitworker.mcp")


class ProgramServer:
    """The server process; it ends with its standard input."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.forking"], cwd=ROOT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, cwd: Path | str, *words: str) -> Answer:
        """Run `git-worker WORDS` in `cwd` with this process's environment and no input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            streams = [os.devnull, f"{folder}/out", f"{folder}/err"]
            request = {
                "words": words, "cwd": str(cwd), "env": dict(os.environ), "streams": streams,
            }  # fmt: skip
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            out, err = (Path(one).read_text("utf-8", "replace") for one in streams[1:])
        return Answer(status, out, err)

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()


def serve() -> None:
    """Fork a child for each request on standard input, and answer with its exit status."""
    for module in pkgutil.walk_packages(gitworker.__path__, "gitworker."):
        if not module.name.startswith(NOT_IMPORTED) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    program = importlib.import_module("gitworker.__main__")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
            sys.exit(program.main())
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(request: Mapping[str, Any]) -> None:
    """Take the words, the directory, the environment and the streams of a request."""
    sys.argv = [PROGRAM, *request["words"]]
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    for number, path in enumerate(request["streams"]):
        flags = os.O_RDWR | os.O_CREAT if number else os.O_RDONLY
        file = os.open(path, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    serve()
