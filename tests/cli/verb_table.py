"""A golden table: commands in one state, each with its status and output.

A command that is refused, or that only reads or sends, changes nothing, so the next one meets the
same worker and task. After any other, the next one meets new ones in the same state. All have the
names `auth` and `login` in the table.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from gitworker.store.tasks import find_task
from gitworker.store.workers import find_worker
from tests.cli.kit import Answer, plain
from tests.cli.stages import Stage
from tests.workers.world import World

GOLDEN = Path(__file__).parent / "golden"
PID = str(os.getpid())
NUMBERED = re.compile(r"\b(auth|login|next|ui|group)-?\d+\b")
STATES = "IDLE|ASSIGNED|WORKING|IN_REVIEW|APPROVED|STALE|FAILED|COMPLETED"
# An event of a machine, a pair of a state and an event, or the name of a state in a sentence.
INTERNAL = re.compile(
    rf"Invalid transition|\(({STATES}),|\b[A-Z]+_[A-Z_]*(ED|ER|ART|STOP|SKIP)\b"
    rf"|\b(is|still|was) ({STATES}|READY|BLOCKED|CANCELLED|DEFINED|PAUSED|IN_PROGRESS)\b"
)


class Table:
    """Runs commands in one state of a repository, and keeps the text of the table.

    `run` runs `git-worker WORDS` in a directory, in a process of its own.
    """

    def __init__(self, world: World, stage: Stage, run: Callable[..., Answer]) -> None:
        self.world = world
        self.stage = stage
        self.run = run
        self.parts: list[str] = []
        self.number = 0
        self.before: object = None  # the state of worker and task; None: make new ones

    def add(
        self, words: Iterable[str], *, times: int = 1, is_shown: bool = True, changes: bool = True
    ) -> None:
        """Run a command, in which {w} is the worker and {t} its task, and record its answer.

        A command is repeated only if it was not refused. `changes`: it may change worker or task.
        """
        self._prepare()
        values = {"w": f"auth{self.number}", "t": f"login{self.number}", "n": str(self.number)}
        filled = [word.format(**values) for word in words]
        for _ in range(times):
            answer = self.run(self.world.root, *filled)
            self.parts.append(self._text(filled, answer, is_shown=is_shown))
            if answer.status != 0:
                break
        if (changes and answer.status == 0) or self._state() != self.before:
            self.before = None

    def check(self, name: str) -> None:
        """Compare the table with the golden file, or write it if it does not exist."""
        found = "\n\n".join(self.parts) + "\n"
        assert not INTERNAL.search(found), INTERNAL.findall(found)
        path = GOLDEN / f"{name}.txt"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(found)
            pytest.fail(f"{path} was missing and is written now: read it, then commit it")
        assert found == path.read_text(), f"delete {path} and run this test to write it again"

    def _prepare(self) -> None:
        if self.before is None:
            self.number += 1
            self.stage(self.world, f"auth{self.number}", f"login{self.number}")
            self.before = self._state()

    def _state(self) -> object:
        with self.world.session().store.read() as reader:
            worker = find_worker(reader, f"auth{self.number}")
            return worker, find_task(reader, f"login{self.number}")

    def _text(self, words: list[str], answer: Answer, *, is_shown: bool) -> str:
        shown = " ".join("PID" if word == PID else word for word in words)
        lines = [f"$ git worker {shown}", f"status {answer.status}"]
        for mark, text in (("out", answer.out if is_shown else ""), ("err", answer.err)):
            text = plain(text, self.world.root)
            text = re.sub(r"process \d+", "process <pid>", text)
            text = re.sub(r"within [\d.]+ s", "within <time> s", text)
            text = re.sub(r"until (\d{4}-\d\d-\d\d )?\d\d:\d\d", "until <clock>", text)
            lines += [f"{mark} {line}" for line in text.splitlines()]
        return NUMBERED.sub(r"\1", "\n".join(lines))
