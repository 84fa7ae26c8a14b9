"""`git worker shell-init` in real shells: `switch` changes the directory, all else is as before."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gitworker.cli.shell.integration import LOADERS
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run
from tests.hints.following import note

LOAD = {
    "bash": 'eval "$(git worker shell-init bash)"\n',
    "zsh": 'eval "$(git worker shell-init zsh)"\n',
    "fish": "git worker shell-init fish | source\n",
}
START = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}
STATUS = {"bash": "$?", "zsh": "$?", "fish": "$status"}


@pytest.fixture(params=sorted(LOAD))
def shell(request: pytest.FixtureRequest) -> str:
    """The name of a shell that is installed."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def run_in(
    shell: str, cwd: Path, script: str, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a script in a shell with the integration loaded after `before`."""
    done = subprocess.run(
        [shell, *START[shell], before + LOAD[shell] + script],
        cwd=cwd, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert LOADERS[shell].partition("   # ")[0] == LOAD[shell].strip()
    note(LOAD[shell].strip(), done.stdout)
    return done


@pytest.mark.parametrize("words", ["git worker switch", "git worker cd", "git-worker switch"])
def test_switch_changes_directory(shell: str, scene: Scene, words: str) -> None:
    """The shell is then in the worker's worktree, and without a worker in the main checkout."""
    place = scene.spawn("auth", "t1")
    done = run_in(shell, scene.root, f"{words} auth\npwd\n{words}\npwd\n")
    assert (done.stderr, done.stdout.splitlines()) == ("", [str(place), str(scene.root)])


@pytest.mark.parametrize(
    "words",
    [
        "git -C {root} worker switch", "git worker -C {root} switch", "git-worker --as auth switch",
        "git -c color.ui=never --no-pager worker --as auth switch",
    ],
)  # fmt: skip
def test_switch_behind_options(shell: str, scene: Scene, words: str, tmp_path: Path) -> None:
    """Options of git and of git-worker may stand before the verb."""
    place = scene.spawn("auth", "t1")
    start = scene.root if words.startswith("git-worker") or "color" in words else tmp_path
    done = run_in(shell, start, f"{words.format(root=scene.root)} auth\npwd\n")
    assert (done.stderr, done.stdout) == ("", f"{place}\n")


def test_switch_back(shell: str, scene: Scene) -> None:
    """`-` returns to the directory of the last switch, also from below a worktree."""
    first, second = scene.spawn("auth", "t1"), scene.spawn("docs", "t2")
    refused = run_in(shell, scene.root, "git worker switch -")
    assert "error: switch has no previous directory yet" in refused.stderr
    script = "switch auth\nmkdir sub\ncd sub\nswitch docs\nswitch -\npwd\nswitch -\npwd\n"
    done = run_in(shell, scene.root, script.replace("switch", "git worker switch"))
    assert (done.stderr, done.stdout.splitlines()) == ("", [f"{first}/sub", str(second)])


def test_switch_creates(shell: str, scene: Scene) -> None:
    """With -c the worker gets its task first; a refused spawn keeps the directory."""
    script = "git worker switch -c auth t1\npwd\ncd ../..\ngit worker switch -c auth t2\npwd\n"
    done = run_in(shell, scene.root, script)
    place = ok(scene.root, "path", "auth")
    assert done.stdout.splitlines() == [place, str(scene.root)]
    assert done.stderr.startswith("error: ")


def test_spawn_changes_directory(shell: str, scene: Scene) -> None:
    """With --cd the shell is then in the new worktree; words behind `--` are the agent's."""
    script = "git worker spawn auth t1 -m 'Log in' --cd\npwd\ncd ../..\n"
    script += "git worker spawn docs t2 -- echo --cd\npwd\n"
    done = run_in(shell, scene.root, script)
    assert done.stdout.splitlines() == [ok(scene.root, "path", "auth"), "--cd", str(scene.root)]


def test_a_worktree_with_blanks(shell: str, scene: Scene) -> None:
    """A path with blanks and quotes is one directory."""
    ok(scene.root, "config", "worktree.root", "../it's  a root")
    place = scene.spawn("auth", "t1")
    assert "it's  a root" in str(place)
    assert run_in(shell, scene.root, "git worker switch auth\npwd").stdout == f"{place}\n"


def test_a_failed_switch(shell: str, scene: Scene) -> None:
    """A switch that fails keeps the directory, the status and the error."""
    ok(scene.root, "init")
    done = run_in(shell, scene.root, f"git worker switch nobody\necho {STATUS[shell]}\npwd")
    assert done.stdout.splitlines() == ["4", str(scene.root)]
    assert done.stderr.startswith("error: ")


def test_other_output(shell: str, scene: Scene) -> None:
    """Help and JSON of `switch` are printed; other commands of git pass through unchanged."""
    place = scene.spawn("auth", "t1")
    done = run_in(shell, scene.root, "git worker switch -h\npwd")
    assert done.stdout.startswith("Usage: git worker switch")
    assert done.stdout.endswith(f"\n{scene.root}\n")
    document = run_in(shell, scene.root, "git worker switch auth --json").stdout
    assert f'"path":"{place}"' in document
    plain = f"git rev-parse --show-prefix --git-dir\ngit nothing\necho {STATUS[shell]}"
    done = run_in(shell, scene.root, plain)
    assert done.stdout.splitlines() == ["", ".git", "1"]
    assert "is not a git command" in done.stderr


def test_a_function_of_the_user(shell: str, scene: Scene) -> None:
    """A function `git` of the user's own stays, and `git-worker switch` still works."""
    place = scene.spawn("auth", "t1")
    own = "function git; echo mine; end\n" if shell == "fish" else "git() { echo mine; }\n"
    load = LOAD[shell].replace("git worker", "git-worker")
    done = subprocess.run(
        [shell, *START[shell], f"{own}{load}git status\ngit-worker switch auth\npwd"],
        cwd=scene.root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["mine", str(place)]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_an_alias_of_the_user(shell: str, scene: Scene) -> None:
    """An alias `git` does not break the code."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    expand = "shopt -s expand_aliases\n" if shell == "bash" else ""
    place = scene.spawn("auth", "t1")
    script = f"{expand}alias git='command git'\n{LOAD[shell]}git-worker switch auth\npwd"
    done = subprocess.run(
        [shell, *START[shell], script], cwd=scene.root, check=True, capture_output=True, text=True
    )
    assert (done.stderr, done.stdout) == ("", f"{place}\n")


def test_completion_is_included(scene: Scene) -> None:
    """The integration loads the completion as well."""
    for shell in LOAD:
        script = ok(scene.root, "completion", shell)
        assert script in ok(scene.root, "shell-init", shell)


@pytest.mark.parametrize("option", ["set -u", "set -e"])
def test_strict_bash(scene: Scene, option: str) -> None:
    """The functions work under the options of a strict shell."""
    place = scene.spawn("auth", "t1")
    done = run_in("bash", scene.root, f"{option}\ngit --version\ngit worker switch auth\npwd")
    assert (done.stderr, done.stdout.splitlines()[1:]) == ("", [str(place)])


def test_without_integration(scene: Scene) -> None:
    """Without the integration `switch` gives the command to use, and how to get the integration."""
    place = scene.spawn("auth", "t1")
    for shell, loaded in (
        ("/bin/zsh", 'eval "$(git worker shell-init zsh)"   # once, in ~/.zshrc'),
        ("/bin/ksh", 'eval "$(git worker shell-init bash)"   # once, in ~/.bashrc'),
    ):
        assert run(scene.root, "switch", "auth", env={"SHELL": shell}) == Answer(
            1, "",
            f"error: without shell integration the shell stays here; load it: {loaded}\n"
            f"hint: cd {place}\n",
        )  # fmt: skip
    answer = run(scene.root, "spawn", "docs", "t2", "--cd")
    assert answer.err.endswith('hint: cd "$(git worker spawn docs t2)"\n')
    assert run(scene.root, "spawn", "docs", "t2", "--cd", "--", "true").status == 2
    answer = run(scene.root, "switch", "-c", "docs", "t2")
    assert answer.status == 1
    assert answer.err.endswith('hint: cd "$(git worker spawn docs t2)"\n')
    assert run(scene.root, "path", "docs").status == 4
    assert run(scene.root, "switch", "-").err.endswith("hint: cd -\n")
    for words in (("-c",), ("-c", "-"), ("auth", "t1")):
        assert run(scene.root, "switch", *words).status == 2
