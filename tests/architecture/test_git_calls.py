"""docs/git-calls.md names every git command of our code and its additions, module by module."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.house import ROOT

PAGE = ROOT / "docs" / "git-calls.md"
METHODS = frozenset({"run", "run_to_end", "start", "text"})
ROW = re.compile(
    r"^\| `(?P<module>[\w/]+\.(?:py|sh))` \| (?P<commands>[^|]+) \|[^|]*\|(?P<additions>[^|]*)\|",
    re.MULTILINE,
)
# `-c section.name=value` and a variable of git's, alone or with its value.
ADDITION = re.compile(
    r"(?:(?P<key>(?:[a-z][\w-]*\.)+[A-Za-z]+)=|(?P<name>GIT_[A-Z_]+)(?:=|\Z))\S*\Z"
)
ASKED = frozenset({"GIT_COMMITTER_IDENT"})  # an argument of `git var`


def builtins() -> frozenset[str]:
    """Return the names of git's own commands."""
    done = subprocess.run(
        ["git", "--list-cmds=builtins,main"], capture_output=True, text=True, check=True
    )
    return frozenset(done.stdout.split()) - {"show", "log-file"}


def commands_in(source: str, known: frozenset[str]) -> set[str]:
    """Return the git commands that a module names: in calls of proc, and in tuples of words."""
    return {word for words in _word_lists(ast.parse(source)) for word in _command(words, known)}


def _word_lists(tree: ast.AST) -> Iterator[list[ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in METHODS:
                yield node.args
        elif isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1:
            option = node.elts[1]
            if isinstance(option, ast.Constant) and str(option.value).startswith("-"):
                yield node.elts


def _command(words: list[ast.expr], known: frozenset[str]) -> Iterator[str]:
    """Return the first word that is a command; options before it are skipped."""
    for word in words:
        if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
            continue  # a variable, or --git-dir=… made from one
        if word.value in known:
            yield word.value
            return
        if not word.value.startswith("-") and "=" not in word.value:
            return


def additions_in(source: str) -> set[str]:
    """Return the settings and variables of git that a module names in its strings."""
    strings = {
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    matches = filter(None, map(ADDITION.match, strings))
    return {match["key"] or match["name"] for match in matches} - ASKED


def found_in_code() -> dict[str, set[str]]:
    """Return the git commands of every module that has any."""
    known = builtins()
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "gitworker").rglob("*.py")):
        commands = commands_in(path.read_text(encoding="utf-8"), known)
        if commands and "git" in path.read_text(encoding="utf-8"):
            found[path.relative_to(ROOT / "gitworker").as_posix()] = commands
    return found


def written_in(page: str) -> dict[str, set[str]]:
    """Return the commands that the page names for each module."""
    return {
        row["module"]: set(re.findall(r"`([\w-]+)`", row["commands"])) for row in ROW.finditer(page)
    }


def test_every_call_is_on_the_page() -> None:
    """A git command that is new in a module, or no longer in it, needs a change of its row."""
    written, found = written_in(PAGE.read_text(encoding="utf-8")), found_in_code()
    assert len(found) > 40
    missing = {name: found[name] - written.get(name, set()) for name in found}
    left_over = {name: written[name] - found.get(name, set()) for name in written}
    changes = [f"add {', '.join(sorted(c))} to the row of {n}" for n, c in missing.items() if c]
    changes += [
        f"remove {', '.join(sorted(c))} from the row of {n}" for n, c in left_over.items() if c
    ]
    assert changes == []


def test_every_addition_is_on_the_page() -> None:
    """A setting or variable that a module adds to its calls of git is in its row."""
    page = PAGE.read_text(encoding="utf-8")
    rows = {row["module"]: row["additions"] for row in ROW.finditer(page)}
    missing = {
        f"add `{name}` to the fourth column of {module}"
        for module in found_in_code()
        for name in additions_in((ROOT / "gitworker" / module).read_text(encoding="utf-8"))
        if not re.search(rf"`{re.escape(name)}[=`]", rows.get(module, ""))
    }
    assert missing == set()


def test_every_addition_on_the_page_exists() -> None:
    """A setting or variable in the fourth column is named in the code."""
    page = PAGE.read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "gitworker").rglob("*.py"))
    named = {
        name
        for row in ROW.finditer(page)
        for name in re.findall(r"`((?:[a-z]\w*\.)+[A-Za-z]+|GIT_[A-Z_]+)[=`]", row["additions"])
    }
    assert len(named) > 30
    assert {name for name in named if name not in code} == set()


def test_the_rule_finds_faults() -> None:
    """Calls of proc, options before the command and named tuples of words are all found."""
    source = (
        'CONFIG = ("config", "--list")\n'
        'git.run("rev-parse", "HEAD")\n'
        'git.at(x).start("--no-optional-locks", "status", "-z")\n'
        'git.run(f"--git-dir={x}", "fetch", "up")\n'
        'runs.run("begin", "-x")\n'
    )
    known = frozenset({"config", "rev-parse", "status", "fetch"})
    assert commands_in(source, known) == known
    page = "| `repo/plumbing/git.py` | `rev-parse`, `version` | x | | y |\n"
    assert written_in(page) == {"repo/plumbing/git.py": {"rev-parse", "version"}}
    source = 'run("-c", "gc.auto=0", env={"GIT_DIR": x}, text="see GIT_DIRS", what="a b=c.d")'
    assert additions_in(source) == {"gc.auto", "GIT_DIR"}


def test_the_page_explains_the_environment() -> None:
    """The page names the table of variables and every variable that is fixed."""
    from gitworker.repo.plumbing.git_environment import FIXED_ENV

    page = PAGE.read_text(encoding="utf-8")
    assert all(name in page for name in FIXED_ENV)
    assert (Path("repo/plumbing/git_environment.py").as_posix()) in page
