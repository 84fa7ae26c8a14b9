"""The prompt of an agent that verifies another's work, and its verdict. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gitworker.bus.limits.rules_secrets import redacted

DIFF_MAX = 100_000  # characters
NOTE_MAX = 4000
LINE = re.compile(r"^[\s*`>#-]*(COMMAND|STATUS|VERDICT)\s*:[\s*]*`?(.*?)`?[\s*]*$")
# An agent that ran nothing writes one of these after COMMAND.
NO_COMMAND = frozenset(
    {"", "none", "no command", "nothing", "n/a", "na", "not run", "not applicable"}
)
NOT_COMPARED = re.compile(r"[\s\"'\\]+")  # agents quote a command differently when they report it
PROMPT = """\
Review the change below, which another agent has made for the task {task}. You are in its worktree.
Do not change any file and do not commit. Run at least one command that tests the change.

End your answer with your reasons in a few lines, and then exactly these three lines:

COMMAND: the command that you ran
STATUS: its exit status
VERDICT: PASS or FAIL

The task:

{text}

The change:

{diff}
"""


class QaVerdict(NamedTuple):
    """A verdict with its evidence: the command that the agent ran, and its exit status."""

    is_passed: bool
    command: str
    status: int
    note: str


def qa_prompt(task: str, text: str, diff: str) -> str:
    """Return the prompt for the review of a change; a long diff is cut."""
    if len(diff) > DIFF_MAX:
        diff = f"{diff[:DIFF_MAX]}\n… cut; `git diff` prints the rest"
    return PROMPT.format(task=task, text=text.strip("\n") or "(no text)", diff=diff.rstrip("\n"))


def parse_verdict(output: str) -> QaVerdict | None:
    """Return the verdict at the end of an agent's output; None if it does not count.

    It counts with a command and its exit status only. To pass, the command must have succeeded.
    """
    found, reasons = _read_end(output)
    if _flaw_of(found):
        return None
    is_passed = found["VERDICT"].upper() == "PASS"
    return QaVerdict(is_passed, found["COMMAND"], int(found["STATUS"]), reasons)


def flaw_of_verdict(output: str, commands: Iterable[str] | None = None) -> str:
    """Return why the verdict of an agent does not count, "" if it does.

    `commands` are those that it ran, None if its output does not show them.
    """
    found, _ = _read_end(output)
    flaw = _flaw_of(found)
    if flaw or commands is None:
        return flaw
    named = NOT_COMPARED.sub("", found["COMMAND"])
    if any(named in NOT_COMPARED.sub("", command) for command in commands):
        return ""
    return "it names a command that it did not run"


def _flaw_of(found: Mapping[str, str]) -> str:
    verdict, status = found.get("VERDICT", "").upper(), found.get("STATUS", "")
    if verdict not in ("PASS", "FAIL"):
        return "its answer ends without PASS or FAIL"
    if found.get("COMMAND", "").strip(" .()<>[]-").lower() in NO_COMMAND:
        return "it names no command that it ran"
    if not status.isdecimal():
        return "it names no exit status of its command"
    if verdict == "PASS" and int(status) != 0:
        return f"it passed the work, although its command ended with status {int(status)}"
    return ""


def _read_end(output: str) -> tuple[dict[str, str], str]:
    """Return the values of the last three lines with a verdict, and the text before them."""
    lines = output.splitlines()
    found: dict[str, str] = {}
    first = len(lines)
    for number in range(len(lines) - 1, -1, -1):
        line = LINE.match(lines[number])
        if line is not None and line[1] not in found:
            found[line[1]] = line[2].strip()
            first = number
        if len(found) == 3:
            break
    return found, "\n".join(lines[:first]).strip()[-NOTE_MAX:]


def no_verdict_text(flaw: str, *, agent: str) -> str:
    """Return in one line why the verdict of an agent does not count."""
    return f"no valid verdict by {agent}: {flaw}"


def evidence_text(verdict: QaVerdict, *, agent: str, tree: str) -> str:
    """Return a verdict with its evidence in one line, without secrets."""
    word = "passed" if verdict.is_passed else "failed"
    command = redacted(verdict.command)
    return (
        f"verified by {agent}: {word}; `{command}` ended with status {verdict.status}"
        f" on tree {tree[:10]}"
    )
