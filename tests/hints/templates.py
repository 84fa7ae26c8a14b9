"""The hints of the source: every text in gitworker/ that is a command for a user to copy.

A template is such a text without its remark; `{}` stands for the values of an f-string.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from tests.architecture.house import Module, docstring_nodes, modules

REMARK = "   # "
LEAD = re.compile(r"^(hint: |undo: |→ )")
# The commands of git that hints name. A sentence that begins with `git` has another second word.
GIT = (
    "add", "branch", "cherry-pick", "commit", "config", "diff", "fetch", "fsck", "init", "log",
    "ls-remote", "push", "rebase", "reflog", "remote", "reset", "revert", "rm", "status",
    "submodule", "switch", "update-ref", "worker", "worktree", "-C", "--version", "{}",
)  # fmt: skip
OTHER = (
    "cd", "chmod", "cat", "df", "eval", "export", "less", "ls", "mkdir", "mv", "rm", "sleep",
    "sudo", "tmux", "ulimit", "unset",
)  # fmt: skip
COMMAND = re.compile(
    rf"^(git ({'|'.join(map(re.escape, GIT))})( (?![a-z]+:)\S|$)|({'|'.join(OTHER)}) \S)"
)
# Beginnings of commands, the origin of a setting, and the script of a child process.
NO_HINTS = {
    "git worker", "git {}", "git -C {}", "git config", "git config {}",
    'cd "$1" && shift && exec "$@"',
}  # fmt: skip
# Commands that end only when a user ends them, or that need a terminal.
WAITS = re.compile(r" (-f|--follow|--watch|--wait|--every|wait|watch|follow|attach|mcp|request)\b")
READS = re.compile(
    r"^(ls|cat|less|df|ulimit|git( -C \S+)? (status|log|show|reflog|diff|fsck|branch( --list.*)?$"
    r"|remote -v|ls-remote|worktree list|--version|config --(get|list))"
    r"|git worker ((status|list|show|log|diff|help|agents|path|inbox|doctor|config|validate|wait"
    r"|watch|queue|trust --list|undo --list|claim list|msg (stats|show|poll|follow|search|request)"
    r"|fleet status|review (?!(comment|edit|drop|send|viewed|handled|resolve|reopen)\b)"
    r"|task (list|ready|show|why|graph|text)|workstream (list|show)"
    r"|automation (list|show|history)|gc --dry-run)\b|fsck$|config$|--version|.* -h$))"
)
# Sentences that begin like a command.
SENTENCE = re.compile(
    r"^(tmux .*(failed|cannot|ended)|git \{\} (failed|is too)|git worker merge \{\}(: )?\{\})"
)
REASON = "reason"  # the keyword of a text for the reflog
VALUE = re.compile(r"\{\w*\}")


class Template(NamedTuple):
    """A hint of the source: the module that holds it, and its text."""

    module: str
    text: str

    def pattern(self) -> "re.Pattern[str]":
        """Return the pattern that the printed hint matches."""
        return _pattern(self.text)


@cache
def _pattern(text: str) -> "re.Pattern[str]":
    first, *rest = text.split("{}")
    pattern, before = re.escape(first), first
    for part in rest:  # a value behind a letter may be empty: `git worker done{} -m <text>`
        pattern += ("(.*?)" if before[-1:].isalnum() else "(.+?)") + re.escape(part)
        before = part
    return re.compile(pattern, re.DOTALL)


@cache
def all_templates() -> tuple[Template, ...]:
    """Return every hint of the source, once for each module."""
    return tuple(sorted(set(templates_of(modules("gitworker")))))


def templates_of(sources: Iterable[Module]) -> Iterator[Template]:
    """Yield the hints of some modules."""
    for module in sources:
        constants = _constants(module)
        skipped = docstring_nodes(module) | _parts(module)
        for node in ast.walk(module.tree):
            text = None if id(node) in skipped else _text(node, constants)
            if text is None or "\n" in text.strip("\n").replace("\nhint: ", ""):
                continue
            command = template_text(text)
            if COMMAND.match(command) and command not in NO_HINTS and not SENTENCE.match(command):
                yield Template(module.path, command)


def template_text(text: str) -> str:
    """Return the command of a text: without lead, without remark, `{}` for each value."""
    command = LEAD.sub("", text.rpartition("\nhint: ")[2]).partition(REMARK)[0]
    return VALUE.sub("{}", command).strip()


def _constants(module: Module) -> dict[str, str]:
    """Return the module's own string constants, which f-strings contain."""
    found = {}
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    found[target.id] = node.value.value
    return found


def _parts(module: Module) -> set[int]:
    """Return the ids of the constants inside f-strings, and of the texts of the reflog."""
    nodes = list(ast.walk(module.tree))
    reasons = {id(one.value) for one in nodes if isinstance(one, ast.keyword) and one.arg == REASON}
    return reasons | {
        id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values
    }


def _text(node: ast.AST, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(one, constants) for one in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _part(node: ast.expr, constants: dict[str, str]) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        return constants.get(node.value.id, "{}")
    return "{}"
