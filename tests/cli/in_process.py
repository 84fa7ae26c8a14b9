"""Run the entry point of `git-worker` in this process: the same answers, without its start."""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from gitworker.__main__ import main
from tests.cli.kit import Answer


def run_here(cwd: Path | str, *words: str) -> Answer:
    """Run `git-worker WORDS` in `cwd` with an empty standard input."""
    with (
        tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err,
        open(os.devnull, "rb") as empty, contextlib.chdir(cwd),
    ):  # fmt: skip
        streams = {0: empty.fileno(), 1: out.fileno(), 2: err.fileno()}
        kept = {number: os.dup(number) for number in streams}
        objects = sys.stdin, sys.stdout, sys.stderr
        try:
            for number, file in streams.items():
                os.dup2(file, number)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
            status = main(words)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            sys.stdin, sys.stdout, sys.stderr = objects
            for number, file in kept.items():
                os.dup2(file, number)
                os.close(file)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
        return Answer(status, *texts)
