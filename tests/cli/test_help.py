"""Help, versions and completion: uniform, complete, and cheap."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from gitworker import __version__
from gitworker.__main__ import main
from gitworker.cli import commands
from gitworker.cli.command_list import ALIASES, COMMANDS, SUBCOMMANDS, help_sections, module_of
from gitworker.cli.group import GROUP
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run, run_installed


def entries() -> Iterator[tuple[str, str]]:
    """Yield every command's words and its line in the table."""
    for section in COMMANDS.values():
        for name, summary in section.items():
            if name not in SUBCOMMANDS:
                yield name, summary
    for group, sections in SUBCOMMANDS.items():
        for section in sections.values():
            for name, summary in section.items():
                yield f"{group} {name}", summary


ENTRIES = dict(entries())


@pytest.mark.parametrize("words", ENTRIES)
def test_table_says_what_the_command_says(words: str) -> None:
    """The table's line is the first line of the command's own help, which has an example."""
    group, _, name = words.rpartition(" ")
    command: click.Command = import_module(module_of(name, group=group)).command
    text = command.help or ""
    assert text.splitlines()[0] == ENTRIES[words]
    assert "\b\n" in text, "the help has no example"
    assert command.name == words.split()[-1]
    assert {"--json", "--as"} <= {option for p in command.params for option in p.opts}


def test_every_command_file_is_in_the_table() -> None:
    """A file in commands is a command of the table."""
    named = [
        module_of(name, group=group)
        for group, _, name in (words.rpartition(" ") for words in ENTRIES)
    ]
    root = Path(commands.__path__[0])
    files = {
        ".".join(("gitworker.cli.commands", *path.relative_to(root).with_suffix("").parts))
        for path in root.rglob("*.py")
        if "command = " in (text := path.read_text("utf-8")) or "def command(" in text
    }
    assert files == set(named)


def test_help_begins_with_the_verbs_of_every_day() -> None:
    """The first section of the help has about a dozen verbs; the others follow by topic, once."""
    sections = help_sections()
    (title, first), *others = sections.items()
    assert title == "Every day"
    assert list(first)[:2] == ["spawn", "status"]
    assert 10 <= len(first) <= 14
    shown = [name for section in sections.values() for name in section]
    assert sorted(shown) == sorted(name for section in COMMANDS.values() for name in section)
    assert [title for title, _ in others] == list(COMMANDS)


def test_help_imports_no_command() -> None:
    """The help of the group lists every command without importing one."""
    script = (
        "import sys\nfrom gitworker.cli.run import run_command\nrun_command(['-h'])\n"
        "found = [m for m in sys.modules if m.startswith('gitworker.cli.commands')]\n"
        "found += [m for m in sys.modules if m.startswith('gitworker.observe')]\n"
        "print(found, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stderr == "[]\n"
    for section in COMMANDS.values():
        for name, summary in section.items():
            assert any(
                line.split() == [name, *summary.split()] for line in done.stdout.splitlines()
            ), name


@pytest.mark.parametrize("words", ENTRIES)
def test_each_help(capfd: pytest.CaptureFixture[str], words: str) -> None:
    """Every command explains itself on standard output."""
    texts = set()
    for option in ("-h", "--help"):
        assert main([*words.split(), option]) == 0
        captured = capfd.readouterr()
        assert captured.err == ""
        texts.add(captured.out)
    (text,) = texts
    assert text.startswith(f"Usage: git worker {words} ")


@pytest.mark.parametrize("words", ["approve", "heartbeat", "msg send", "msg poll"])
def test_help_of_the_program(tmp_path: Path, words: str) -> None:
    """The program itself gives the help, of hot verbs and outside of any repository too."""
    answer = run(tmp_path, *words.split(), "--help")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: git worker {words} ")


def test_version(tmp_path: Path) -> None:
    """The version is printed alone."""
    assert run(tmp_path, "--version") == Answer(0, f"git-worker {__version__}\n", "")


def test_without_a_command(tmp_path: Path) -> None:
    """Without a command the help is printed to standard error, with the status of a usage error."""
    for words in ((), ("msg",), ("hooks",)):
        answer = run(tmp_path, *words)
        assert (answer.status, answer.out) == (2, ""), words
        assert answer.err.startswith("Usage: git worker"), words


def complete(scene: Scene, script: str) -> list[str]:
    """Return the completions of bash for a script with our completion loaded."""
    load = f"source <(git-worker completion bash)\n{script}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(
        ["bash", "--norc", "-c", load], cwd=scene.root, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completion(scene: Scene) -> None:
    """Bash completes commands and workers, for git-worker and through git's own completion."""
    scene.spawn("auth", "t1")
    alone = "COMP_WORDS=(git-worker {}) COMP_CWORD={} && _git_worker_alone"
    assert complete(scene, alone.format("app", 1)) == ["approve"]
    assert complete(scene, alone.format("approve a", 2)) == ["auth"]
    assert complete(scene, alone.format("msg sen", 2)) == ["send"]
    through_git = "words=(git -C . worker {}) cword={} && _git_worker"
    assert complete(scene, through_git.format("app", 4)) == ["approve"]
    assert complete(scene, through_git.format("merge a", 5)) == ["auth"]
    assert complete(scene, alone.format("config worktree.p", 2)) == ["worktree.pool"]
    for words in ("review au", "send au", "reply au", "status --as au"):
        assert complete(scene, alone.format(words, len(words.split()))) == ["auth"], words
    assert complete(scene, f"cd /; {alone.format(f'-C {scene.root} show au', 4)}") == ["auth"]
    assert "--from" in complete(scene, through_git.format("spawn --", 5))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(tmp_path: Path, shell: str) -> None:
    """Every shell has a completion script, which the shell can parse if it is installed."""
    script = ok(tmp_path, "completion", shell)
    assert "git-worker" in script
    try:
        subprocess.run([shell, "-n"], input=script, text=True, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not installed")


def test_group_is_whole() -> None:
    """Every name that the group lists leads to a command."""
    context = click.Context(GROUP)
    for name in [*GROUP.list_commands(context), *ALIASES]:
        assert GROUP.get_command(context, name) is not None, name
    assert GROUP.get_command(context, "nothing") is None


def test_help_in_another_encoding(tmp_path: Path) -> None:
    """The help is UTF-8, as all other output is, in a locale that has other characters."""
    answer = run_installed(tmp_path, "spawn", "-h", env={"PYTHONIOENCODING": "latin-1"})
    assert (answer.status, answer.err) == (0, "")
    assert "(login-form, login-form-2, …)" in answer.out
