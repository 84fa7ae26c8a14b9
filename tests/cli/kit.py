"""Run the real `git-worker` in a process of its own and compare its complete output.

`run` forks it from a process that has imported it (tests/cli/forking.py), `run_installed` starts it
as a shell does.
"""

import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.cli.forking import PROGRAM, ProgramServer
from tests.conftest import FORKS, MEASURING, coverage_of_children

DEADLINE_S = 30
VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "<oid>"),
    (re.compile(r"\b[0-9a-f]{10}\b"), "<short>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d+(ms|s|m)( ago)?\b"), r"<age>\2"),
)

# Called after each fork with its command line, the options of `subprocess.run` and the result.
WATCHERS: list[Callable[[Any, Mapping[str, Any], Any], None]] = []


@dataclass(frozen=True)
class Answer:
    """The exit status and the output of a command, with fixed paths, ids and times."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return standard output as the one JSON document that it must be."""
        assert self.out.endswith("\n"), self
        assert self.out.count("\n") == 1, self
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Return standard output as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(
    cwd: Path | str,
    *words: str | bytes,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    root: Path | None = None,
) -> Answer:
    """Run `git-worker WORDS` in `cwd`; with `root`, replace the volatile parts of the output."""
    environment = {**os.environ, **(env or {})}
    server = program_server(is_measured=FORKS.is_measured and bool(MEASURING))
    if not server.serves(environment):
        return run_installed(cwd, *words, env=env, stdin=stdin, root=root)
    done = server.run(cwd, words, environment=environment, stdin=stdin, patience_s=DEADLINE_S * 4)
    for watch in WATCHERS:
        watch(done.args, {"cwd": cwd, "env": environment}, done)
    return _answer(done, root)


def run_installed(
    cwd: Path | str,
    *words: str | bytes,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    root: Path | None = None,
) -> Answer:
    """Do as `run` does, with a start of the installed program."""
    done = subprocess.run(
        [PROGRAM, *words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin,
        check=False,
        capture_output=True,
        timeout=DEADLINE_S * 4,
    )
    return _answer(done, root)


@cache
def program_server(*, is_measured: bool) -> ProgramServer:
    """Return this process's server of forks; `is_measured`: if coverage measures this process."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    return ProgramServer({**environment, **(coverage_of_children() if is_measured else {})})


def _answer(done: "subprocess.CompletedProcess[bytes]", root: Path | None) -> Answer:
    out, err = (one.decode("utf-8", "surrogateescape") for one in (done.stdout, done.stderr))
    if root is not None:
        out, err = plain(out, root), plain(err, root)
    return Answer(done.returncode, out, err)


def ok(cwd: Path | str, *words: str | bytes, **options: Any) -> str:
    """Run a command that must succeed and return its standard output, stripped."""
    answer = run(cwd, *words, **options)
    assert answer.status == 0, answer
    return answer.out.strip()


def plain(text: str, root: Path) -> str:
    """Return the text with its volatile parts replaced by fixed words."""
    text = text.replace(str(root), "<root>")
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


def unmeasured() -> dict[str, str]:
    """Return an environment without coverage, for a command that the test interrupts.

    Coverage takes a lock of its own in every function; an interrupt in there leaves it locked.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


@contextmanager
def running(cwd: Path | str, *words: str, **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Give a command that keeps running; kill it afterwards if it still runs."""
    process = subprocess.Popen(
        [PROGRAM, *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=DEADLINE_S)


def has_line(process: "subprocess.Popen[bytes]", wait_s: float = 0.2) -> bool:
    """Return whether a running command prints something within a short time."""
    return bool(select.select([process.stdout], [], [], wait_s)[0])


def read_line(process: "subprocess.Popen[bytes]") -> str:
    """Return the next line that a running command prints, unbuffered, with a deadline."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        assert has_line(process, DEADLINE_S), line
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, (process.poll(), process.stderr and process.stderr.read())
        line += byte
    return line.decode()


def read_lines(process: "subprocess.Popen[bytes]", number: int) -> list[Any]:
    """Return the next lines of JSON that a running command prints, with a deadline."""
    return [json.loads(read_line(process)) for _ in range(number)]


def wait_until(condition: Any) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        os.sched_yield()
