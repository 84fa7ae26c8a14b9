"""The hints of `agents doctor` help in the state in which they are printed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hints.case import Case, check
from tests.hints.following import Printed, hints_of, note, perform
from tests.hints.test_usage_hints import W, _fresh
from tests.liveness.boxes import missing
from tests.workers.world import World

# Codex, whose sandbox lets a shell start and no commit happen.
CLOSED = 'case "$*" in --version) echo 1;; *" sh -c :") ;; *) echo closed >&2; exit 1;; esac'
# Codex, whose sandbox needs a user namespace.
NAMESPACE = 'case "$*" in --version) echo 1.0;; *) exec unshare --user true;; esac'
# Forbid user namespaces below this one, follow the hint, and ask again.
FORBIDDEN = """
echo 0 >/proc/sys/user/max_user_namespaces || exit 99
git worker agents doctor
hint=$(git worker agents doctor | sed -n 's/^ *→ \\(sudo sysctl .*\\)/\\1/p')
eval "$hint" || exit 98
echo again
git worker agents doctor
"""


def put_program(world: World, name: str, script: str) -> str:
    """Write a program into a directory beside the repository; return PATH with it."""
    program = world.root.parent / "programs" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


def unsigned(world: World) -> None:
    """Sign each commit by a program that fails."""
    home = Path(os.environ["HOME"], ".gitconfig")
    world.git("config", "--file", str(home), "gpg.program", "false")
    world.git("config", "--file", str(home), "commit.gpgsign", "true")


def test_commits_that_cannot_be_signed(quiet: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """If git cannot sign, `agents doctor` names the setting of the repository that ends it."""
    monkeypatch.setenv("PATH", put_program(quiet, "claude", "echo 2.0"))
    check(quiet, Case(unsigned, W + "agents doctor", "git config commit.gpgsign false"))


def test_commits_that_a_setting_stops(quiet: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """If git cannot commit in a plain shell, the settings that the hint lists have the cause."""
    monkeypatch.setenv("PATH", put_program(quiet, "claude", "echo 2.0"))
    hook = quiet.root.parent / "hooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\necho never >&2; exit 1\n")
    hook.chmod(0o755)
    home = os.environ["HOME"]
    quiet.git("config", "--file", f"{home}/.gitconfig", "core.hooksPath", str(hook.parent))
    printed = Printed([], str(quiet.root))
    done = perform(W + "agents doctor", printed)
    (hint,) = [one for one in hints_of(done.out, done.err) if one.startswith("git config")]
    listed = perform(hint, printed)
    assert f"file:{home}/.gitconfig\tcore.hookspath={hook.parent}" in listed.out.splitlines()
    quiet.git("config", "--file", f"{home}/.gitconfig", "--unset", "core.hooksPath")
    assert hint not in perform(W + "agents doctor", printed).out
    note(hint, done.out)


def test_a_sandbox_without_commits(quiet: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a sandbox is closed, `agents doctor` names the help of the tools that run outside."""
    monkeypatch.setenv("PATH", put_program(quiet, "codex", CLOSED))
    check(quiet, Case(_fresh, W + "agents doctor", W + "mcp -h"))


def test_a_forbidden_sandbox(quiet: World) -> None:
    """A system that forbids user namespaces allows them after the command of the hint."""
    why = missing()
    if why or shutil.which("sysctl") is None:
        pytest.skip(why or "sysctl(8) is not installed")
    put_program(quiet, "codex", NAMESPACE)
    path = put_program(quiet, "sudo", 'exec "$@"')  # the shell is root in its namespace
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", FORBIDDEN], cwd=quiet.root,
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    before, _, after = done.stdout.partition("again\n")
    hints = list(hints_of(before, ""))
    assert "its sandbox does not start" in before, done
    assert hints == ["sudo sysctl -w user.max_user_namespaces=15000"]
    assert ("sandbox does not start" in after, "codex" in after) == (False, True), done
    note(hints[0], before)
