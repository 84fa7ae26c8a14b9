"""gitworker's marked lines in info/exclude, which hide its files in work trees from git."""

import os

from gitworker.errors import Naming
from gitworker.paths import AGENT_LOG, open_regular

EXCLUDE_BEGIN = "# gitworker: begin (removed by `git worker hooks uninstall`)"
EXCLUDE_END = "# gitworker: end"
# Files of an aider that a person or a command starts. It adds them to .gitignore unless git ignores
# `.aider`, and either would keep its work from being handed in.
OF_AIDER = ("/.aider", "/.aider.chat.history.md", "/.aider.input.history", "/.aider.tags.cache.v*/")
EXCLUDED = ("/.worker-state", f"/{AGENT_LOG}", *OF_AIDER)  # in every worktree


def add_excludes(common_dir: str) -> None:
    """Add gitworker's lines to info/exclude, marked, once; other lines between the marks stay."""
    path = f"{common_dir}/info/exclude"
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            text = file.read()
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = ""
    before, begin, rest = text.partition(EXCLUDE_BEGIN)
    ours, end, _ = rest.partition(EXCLUDE_END)
    if begin:
        lacking = "".join(f"\n{line}" for line in EXCLUDED if line not in ours.split("\n"))
        if end and lacking:
            _replace_file(path, f"{before}{begin}{lacking}{rest}")
        return
    if text and not text.endswith("\n"):
        text += "\n"
    block = "\n".join((EXCLUDE_BEGIN, *EXCLUDED, EXCLUDE_END)) + "\n"
    _replace_file(path, text + block)


def exclude_link(common_dir: str, name: str) -> None:
    """Add a line that hides a link or file of this path in a checkout.

    A pattern that ends in a slash, as `node_modules/`, matches the directory, but not a link to it.
    """
    line = _line_of(name)
    path = f"{common_dir}/info/exclude"
    add_excludes(common_dir)
    with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
        before, begin, rest = file.read().partition(EXCLUDE_BEGIN)
    ours, end, after = rest.partition(EXCLUDE_END)
    if end and line not in ours.split("\n"):
        _replace_file(path, f"{before}{begin}{ours}{line}\n{end}{after}")


def include_again(common_dir: str, name: str) -> None:
    """Remove the line of `exclude_link`; leave every other byte."""
    path = f"{common_dir}/info/exclude"
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            before, begin, rest = file.read().partition(EXCLUDE_BEGIN)
    except FileNotFoundError:
        return
    ours, end, after = rest.partition(EXCLUDE_END)
    left = ours.replace(f"\n{_line_of(name)}\n", "\n")
    if end and left != ours:
        _replace_file(path, f"{before}{begin}{left}{end}{after}")


def remove_excludes(common_dir: str) -> None:
    """Remove gitworker's lines from info/exclude; leave every other byte."""
    path = f"{common_dir}/info/exclude"
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            text = file.read()
    except FileNotFoundError:
        return
    before, begin, rest = text.partition(EXCLUDE_BEGIN)
    _, end, after = rest.partition(EXCLUDE_END + "\n")
    if begin and end:
        _replace_file(path, before + after)


def missing_excludes(common_dir: str) -> tuple[str, ...]:
    """Return those of gitworker's lines that info/exclude lacks."""
    try:
        path = f"{common_dir}/info/exclude"
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
            lines = file.read().splitlines()
    except OSError:
        lines = []
    return tuple(line for line in (EXCLUDE_BEGIN, *EXCLUDED, EXCLUDE_END) if line not in lines)


def _line_of(name: str) -> str:
    return "/" + "".join(f"\\{letter}" if letter in "*?[\\" else letter for letter in name)


def _replace_file(path: str, text: str) -> None:
    partial = f"{path}.{os.getpid()}.tmp"
    with (
        Naming(partial),
        open(partial, "w", encoding="utf-8", errors="surrogateescape", opener=open_regular) as file,
    ):
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
