"""Other words for commands: aliases run, suggestions and typos only name the right command."""

import shlex
from contextlib import suppress
from pathlib import Path

import click
import pytest

from gitworker.__main__ import main
from gitworker.cli.command_list import ALIASES, COMMANDS, SUGGESTIONS
from tests.cli.command_lines import find_lines, parse
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run

NAMES = {name for section in COMMANDS.values() for name in section}


def usage(message: str, hint: str) -> Answer:
    """Return the whole answer of a word that no command has."""
    return Answer(2, "", f"error: there is no command {message}\nhint: {hint}\n")


@pytest.mark.parametrize("word", [*ALIASES, *SUGGESTIONS])
def test_words_have_one_meaning(word: str) -> None:
    """A word is a command, an alias or a suggestion, and leads to a command that exists."""
    assert (word in NAMES) + (word in ALIASES) + (word in SUGGESTIONS) == 1
    if word in ALIASES:
        assert ALIASES[word] in NAMES
        return
    name = "claude" if word.startswith("agent ") else "auth"
    for line in find_lines(SUGGESTIONS[word].format(worker=name)):
        with suppress(click.exceptions.Exit):  # -h and --version
            parse(line)


@pytest.mark.parametrize("words", SUGGESTIONS)
def test_suggestions_change_nothing(capfd: pytest.CaptureFixture[str], words: str) -> None:
    """A suggestion is a usage error with the command as its hint, outside of a repository too."""
    assert main([*words.split(), "auth"]) == 2
    out, err = capfd.readouterr()
    assert (out, err.splitlines()) == ("", [
        f"error: there is no command {words!r}",
        f"hint: {SUGGESTIONS[words].replace('{worker}', 'auth')}",
    ])  # fmt: skip


def test_destructive_words_are_suggestions() -> None:
    """No word that may delete work is an alias, except the one that means cancel."""
    for word in ("rm", "remove", "delete", "kill", "clean", "prune", "undo-merge", "rebase"):
        assert word in SUGGESTIONS, word


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("clean", usage("'clean'", "git worker gc --dry-run")),
        ("view 'my auth'", usage("'view'", "git worker show 'my auth'")),
        ("view --all", usage("'view'", "git worker show <worker>")),
        ("hooks remove", usage("'hooks remove'", "git worker hooks uninstall")),
        ("spawm a 'b c'", usage("'spawm'; did you mean spawn?", "git worker spawn a 'b c'")),
        ("msg sned x", usage("'msg sned'; did you mean send?", "git worker msg send x")),
        ("refuse a", usage("'refuse'; did you mean reset, resume?", "git worker -h")),
        ("message a hi", usage("'message'; did you mean merge, msg?", "git worker -h")),
        ("msg polls", usage("'msg polls'; did you mean poll?", "git worker msg poll")),
        ("xyzzy", usage("'xyzzy'", "git worker -h")),
        ("msg xyzzy", usage("'msg xyzzy'", "git worker msg -h")),
        ("hook install", Answer(
            2, "", "error: there is no event 'install'\nhint: git worker hooks install\n")),
    ],
)  # fmt: skip
def test_wrong_words(tmp_path: Path, words: str, answer: Answer) -> None:
    """A wrong word gets one line and one command, which keeps the other words as typed."""
    assert run(tmp_path, *shlex.split(words)) == answer


def test_aliases_run(scene: Scene) -> None:
    """An alias does the same as its command, and the command's help names it."""
    assert Path(ok(scene.root, "new", "auth", "t1")).is_dir()
    assert ok(scene.root, "ls") == ok(scene.root, "list")
    assert ok(scene.root, "drop", "auth") != ""
    assert ok(scene.root, "add", "-h") == ok(scene.root, "spawn", "-h")
    assert "Other names: new, add, create" in ok(scene.root, "spawn", "-h")
    assert "Other names" not in ok(scene.root, "claim", "list", "-h")


def test_the_name_of_a_worker(scene: Scene) -> None:
    """A worker's name in place of a command leads to the worker."""
    scene.spawn("sho", "t1")
    assert scene.run("sho") == usage("'sho': it is a worker", "git worker show sho")
