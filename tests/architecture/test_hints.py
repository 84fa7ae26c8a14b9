"""House rules on hints: they can be pasted into a shell as they are.

A path is quoted by `rules_text.quoted`, a remark follows `# `, and a placeholder is one that the
shell or the command refuses.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

from gitworker.rules_text import PLACEHOLDERS
from tests.architecture.house import Module, modules, nodes, require_clean, snippet

# The beginnings of a shell command that takes a path as its next word.
TAKES_PATH = re.compile(
    r"(^|[ (>])(cd|rm|mv|ls|less|cat|df|chmod \d+|git -C|git worktree (unlock|remove|move))"
    r"( -[a-z]+)* $"
)
QUOTING = "quoted"
COMMAND = re.compile(r"^(hint: |undo: )?(git|cd|rm|mv|ls|mkdir|unset|eval|tmux) ")
REMARK = "   # "
BARE = re.compile(r"(?<![\w<'./:-])[A-Z]{3,}(-[A-Z]+)*(?![\w>])|…|\.\.\.(?!\{)")
PLACEHOLDER = re.compile(r"<([a-z-]+)>")
# A shell finds a syntax error in a line that ends with one, and runs nothing of the line.
ENDS = re.compile(r"<[a-z-]+>( &&.*)?$")
QUOTED = re.compile(r"'<[a-z-]+>'")
USAGE = ("gitworker/cli/commands/setup/help.py",)  # it prints the usage of the commands


def find_bare_paths(module: Module) -> Iterator[str]:
    """Complain about a shell command in an f-string whose path is not quoted."""
    for node in nodes(module.tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        ready = _quoted_names(module)
        for before, value in zip(node.values, node.values[1:], strict=False):
            if not (isinstance(before, ast.Constant) and isinstance(value, ast.FormattedValue)):
                continue
            if TAKES_PATH.search(str(before.value)) and not _is_quoted(value.value, ready):
                yield f"{module.at(node)}: {ast.unparse(value.value)} is not quoted"


def _is_quoted(value: ast.expr, ready: frozenset[str]) -> bool:
    if isinstance(value, ast.Name):
        return value.id in ready
    return isinstance(value, ast.Call) and ast.unparse(value.func) == QUOTING


@cache
def _quoted_names(module: Module) -> frozenset[str]:
    """Return the variables that hold quoted paths."""
    names = set()
    for node in nodes(module.tree):
        if isinstance(node, ast.Assign) and QUOTING in ast.unparse(node.value):
            names |= {one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name)}
    return frozenset(names)


def test_paths_in_hints_are_quoted() -> None:
    """A hint with a path can be copied whatever the path contains."""
    fix = "put the path through gitworker.rules_text.quoted"
    require_clean(find_bare_paths, modules("gitworker"), fix)


def test_the_rule_finds_a_bare_path() -> None:
    """The rule sees every form of a command, and accepts a quoted path."""
    for bare in ('f"cd {path} && x"', 'f"rm -rf {a.path}"', 'f"git -C {where(path)} status"'):
        assert list(find_bare_paths(snippet(f"x = {bare}\n")))
    for fine in ('f"cd {quoted(path)} && x"', 'f"git worker show {worker}"', '"cd there"'):
        assert not list(find_bare_paths(snippet(f"x = {fine}\n")))
    assert not list(find_bare_paths(snippet('place = quoted(p)\nx = f"mv {place} {place}.old"\n')))


def find_unpasteable(module: Module) -> Iterator[str]:
    """Complain about a hint that a shell would not run as it is written."""
    if module.path in USAGE:
        return
    documents = {id(child) for node in nodes(module.tree) for child in _not_printed(node)}
    for node in nodes(module.tree):
        text = None if id(node) in documents else _text(node)
        if text is None or "\n" in text:
            continue
        if re.search(r"\S   \(", text):
            yield f"{module.at(node)}: a remark follows `{REMARK}`, not `   (`"
        command = text.partition(REMARK)[0]
        if not COMMAND.match(command):
            continue
        if BARE.search(command.replace("HEAD", "").replace("GIT_", "")):
            yield f"{module.at(node)}: a placeholder is written `<task>`: {command}"
        for word in set(PLACEHOLDER.findall(text)) - PLACEHOLDERS:
            yield f"{module.at(node)}: <{word}> is not in rules_text.PLACEHOLDERS"
        if PLACEHOLDER.search(QUOTED.sub("", command)) and not ENDS.search(command):
            yield f"{module.at(node)}: move the placeholder to the end, or quote it: {command}"


def _not_printed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the docstring of a node, and the parts of an f-string."""
    if isinstance(node, ast.JoinedStr):
        yield from node.values
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        yield body[0].value


def _text(node: ast.AST) -> str | None:
    """Return the text of a string; `{}` stands for the values of an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_hints_can_be_pasted() -> None:
    """No hint has a remark that the shell would parse, or a placeholder that it would accept."""
    fix = "write COMMAND   # REMARK; end the command with <placeholder>, or quote it"
    require_clean(find_unpasteable, modules("gitworker"), fix)


def test_the_rule_finds_an_unpasteable_hint() -> None:
    """The rule sees remarks in brackets, bare and unknown placeholders, and harmful places."""
    for bad in (
        '"git worker gc   (or: git worker fsck)"', '"git worker assign auth TASK"',
        '"git worker spawn … --from x"', '"git worker assign auth <nonsense>"',
        'f"git worker spawn <worker> {task}"',
    ):  # fmt: skip
        assert list(find_unpasteable(snippet(f"x = {bad}\n"))), bad
    for good in (
        '"git worker gc   # or: git worker fsck"', '"git worker assign auth <task>"',
        "\"git worker spawn '<worker>' auth\"", '"git worker spawn <worker> <task>"',
        '"git worker reject auth -m <text>   # or: git worker approve auth"',
    ):  # fmt: skip
        assert not list(find_unpasteable(snippet(f"x = {good}\n"))), good
