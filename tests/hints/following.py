"""Run printed hints in the state in which they are printed, and judge whether they help.

A recorder keeps the last hints that a test's commands printed, or that its use cases raised. A
follower runs one of them as a user copies it, after the test and before its fixtures end.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gitworker.errors import GitWorkerError
from tests.cli.in_process import run_here
from tests.cli.kit import WATCHERS
from tests.hints.templates import READS, REMARK, WAITS, Template

# The words of a user for the placeholders of a hint.
WORDS = {
    "<branch>": "side", "<command>": "true", "<commit>": "auth/login", "<directory>": "elsewhere",
    "<epoch>": "1", "<key>": "review.self", "<mail>": "ada@example.org", "<name>": "x:words",
    "<new-branch>": "fresh", "<new-name>": "renamed", "<number>": "1", "<other-branch>": "side",
    "<pattern>": "*.env", "<reason>": "words", "<task>": "next-task", "<text>": "words",
    "<type>": "status", "<url>": "../origin.git", "<worker>": "auth",
}  # fmt: skip
# Words for the placeholder of one command.
OWN_WORDS = {
    "git worker spawn": {"<worker>": "another"}, "git worker adopt": {"<worker>": "another"},
    "git worker config notify.urls": {"<url>": "json://@localhost:9"},
    "git worker project edit": {"<number>": "5M"},
    "git worker agent add": {"<name>": "helper", "<type>": "codex"},
    "git config worker.merge.remote": {"<name>": "origin"},
    "git config worker.target": {"<name>": "main"}, "git config user.name": {"<name>": "Ada"},
}  # fmt: skip
PLACEHOLDER = re.compile(r"<[a-z-]+>")
REPORTS = re.compile(r"\b(doctor|fsck|validate|status|diff)\b")  # status 1: there are findings
# The hints that the running test has followed itself.
NOTED: list[tuple[str, str]] = []
OF_SHELL = re.compile(r"^(export|unset) [^&]*$")  # it lasts in the user's shell only
ENDS_AT_ONCE = re.compile(rf"{READS.pattern}|^cd [^&]*$")
EDITOR = "printf 'Words\\n' >"  # git adds the name of the file
NEXT = re.compile(r"; next: git worker .*$")
PROGRAM = "git-worker"
PATH = re.compile(r"(?<![\w.\"'<:$)^@-])/[\w./-]+")
TEMPORARY = os.path.realpath(tempfile.gettempdir()) + "/"
TIMEOUT_S = 60
WAITING_S = 2.0
# Statuses of a hint that does not help: usage, not found, a bug, and those of the shell.
HELPLESS = (2, 4, 70, 126, 127, 128, 129)


@dataclass
class Printed:
    """One command or one error of a test, with the hints in it."""

    hints: list[str]
    cwd: str
    env: Mapping[str, str] | None = None
    again: str | None = None  # the command; None: an error of a use case in the test's process
    said: str = ""
    within: tuple[str, ...] = ()  # the words before a command: it has other rights, or other mounts


@dataclass
class Proof:
    """Keeps the commands and errors of one test, oldest first."""

    values: Mapping[str, Any]  # the fixtures of the test
    seen: list[Printed] = field(default_factory=list)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record until the block ends."""
        NOTED.clear()
        run, begin = subprocess.run, GitWorkerError.__init__

        def running(argv: Any, *rest: Any, **options: Any) -> Any:
            done = run(argv, *rest, **options)
            self._ran(argv, options, done)
            return done

        def beginning(error: GitWorkerError, *rest: Any, **options: Any) -> None:
            begin(error, *rest, **options)
            if error.hint:
                self._raised(error)

        subprocess.run = running  # type: ignore[assignment]
        GitWorkerError.__init__ = beginning  # type: ignore[method-assign]
        WATCHERS.append(self._ran)
        try:
            yield
        finally:
            WATCHERS.remove(self._ran)
            subprocess.run = run
            GitWorkerError.__init__ = begin  # type: ignore[method-assign]

    def require(self, templates: Iterable[Template]) -> None:
        """Fail the test unless it proves these hints."""
        complaints = [why for one in templates if (why := self.judge(one)) is not None]
        assert not complaints, "\n".join(complaints)

    def judge(self, template: Template) -> str | None:
        """Return the reason that the test does not prove a hint, None if it does."""
        if any(template.pattern().fullmatch(hint) for hint, _ in NOTED):
            return None
        last = self.seen[-1] if self.seen else Printed([], "")
        for hint in last.hints:
            if template.pattern().fullmatch(hint):
                why = follow(last, hint)
                return why and f"{template.text} does not help: {why}"
        return f"the last command does not print {template.text}, but {last.hints}"

    def _ran(self, argv: Any, options: Mapping[str, Any], done: Any) -> None:
        words = [os.fsdecode(one) for one in argv] if isinstance(argv, list | tuple) else []
        if words[:1] != [PROGRAM] and words[:2] != ["git", "worker"]:
            return
        out, err = (_text(done.stdout), _text(done.stderr))
        found = list(hints_of(out, err))
        cwd = os.fspath(options.get("cwd") or os.getcwd())
        arguments = words[1:] if words[0] == PROGRAM else words[2:]
        again = shlex.join(["git", "worker", *arguments])
        self.seen.append(Printed(found, cwd, options.get("env"), again, f"{done.returncode}{err}"))

    def _raised(self, error: GitWorkerError) -> None:
        command = (error.hint or "").partition(REMARK)[0]
        self.seen.append(Printed([command], root_of(self.values), None, None, error.message))


def hints_of(out: str, err: str) -> Iterator[str]:
    """Yield the commands that a program printed, without the remarks behind them."""
    for line in [*err.splitlines(), *out.splitlines()]:
        text = line.strip()
        yield from (found.rpartition("; next: ")[2] for found in NEXT.findall(text))
        if text.startswith("{"):
            with contextlib.suppress(ValueError):
                yield from _in_document(json.loads(text))
        for lead in ("hint: ", "→ ", "undo: ", "next: "):
            if text.startswith(lead):
                yield text.removeprefix(lead).partition(REMARK)[0].strip()


def _in_document(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("hint", "next", "command", "help") and isinstance(inner, str):
                yield inner.partition(REMARK)[0].strip()
            else:
                yield from _in_document(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _in_document(inner)


def _text(data: Any) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data or ""


class Followed(NamedTuple):
    """The end of a command: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


def fill(hint: str) -> str:
    """Return a command with a user's words for its placeholders."""
    own = next((words for start, words in OWN_WORDS.items() if hint.startswith(start)), {})
    return PLACEHOLDER.sub(lambda found: (WORDS | own).get(found[0], found[0]), hint)


def note(hint: str, said: str) -> None:
    """Record that the running test has followed a hint, which helped."""
    NOTED.append((hint, said))


def follow(printed: Printed, hint: str) -> str | None:
    """Run a hint in place; return the reason that it does not help, None if it helps."""
    command = fill(hint)
    done = perform(command, printed)
    trail = f"{command}: {done.status} {done.err or done.out[-300:]}"
    if done.status != 0 and not (done.status == 1 and REPORTS.search(command)):
        further = [one for one in hints_of(done.out, done.err) if one != command]
        is_same = done.err.partition("hint:")[0].strip() in printed.said
        if done.status in HELPLESS or "Traceback" in done.err or not further or is_same:
            return trail
    # After a usage error and for an unknown name, the hint is the command to use instead.
    if printed.again is None or printed.said[:1] not in ("1", "3") or ENDS_AT_ONCE.match(command):
        return None
    again = perform(
        f"{command} && {printed.again}" if OF_SHELL.match(command) else printed.again, printed
    )
    if f"{again.status}{again.err}" == printed.said:
        return f"{trail}\nrefused again: {again.err}"
    return None


def perform(command: str, printed: Printed) -> Followed:
    """Run a command of a hint as a user copies it; in this process if it is one of ours alone."""
    outside = [one for one in PATH.findall(command) if not one.startswith((TEMPORARY, "/dev/"))]
    if not is_temporary(printed.cwd) or outside:
        return Followed(126, "", f"not run in {printed.cwd!r}: {command}")
    if (
        not command.startswith("git worker ")
        or {"&", "|", ";", "$", ">", "<"} & set(command)
        or printed.env is not None
        or printed.within
        or WAITS.search(command)
        or " exec" in command
    ):
        return _in_shell(command, printed)
    done = run_here(printed.cwd, *shlex.split(command)[2:])
    return Followed(done.status, done.out, done.err)


def _in_shell(command: str, printed: Printed) -> Followed:
    env = {**(printed.env or os.environ), "GIT_EDITOR": EDITOR, "PAGER": "cat"}
    waits = WAITS.search(command)
    process = subprocess.Popen(
        [*printed.within, "/bin/sh", "-c", command], cwd=printed.cwd, env=env, text=True,
        errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=WAITING_S if waits else TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        out, err = process.communicate()
        return Followed(0 if waits else 124, out, err)
    return Followed(process.returncode, out, err)


def root_of(values: Mapping[str, Any]) -> str:
    """Return the directory of a test's commands: the main checkout of its repository."""
    for value in values.values():
        if isinstance(value, Path):
            continue
        root = getattr(value, "root", None) or getattr(getattr(value, "world", None), "root", None)
        if root is not None and is_temporary(str(root)):
            return str(root)
    for name in ("repository", "root", "tmp_path"):
        if isinstance(values.get(name), Path):
            found = Path(values[name])
            return str(found / "repo" if (found / "repo" / ".git").exists() else found)
    return ""


def is_temporary(path: str) -> bool:
    """Return whether a directory belongs to a test: no hint is run anywhere else."""
    return os.path.isdir(path) and os.path.realpath(path).startswith(
        os.path.realpath(tempfile.gettempdir()) + "/"
    )
