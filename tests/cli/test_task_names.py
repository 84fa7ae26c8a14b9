"""A task without an id: spawn and assign make one of its words."""

import re
import subprocess
from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import PROGRAM, ok, run


def test_made_of_the_words(scene: Scene) -> None:
    """The id is made of the title or the text, and gets a number if it is taken."""
    first = Path(ok(scene.root, "spawn", "auth", "-m", "Build the login form\nwith tests"))
    assert first.name == "build-the-login-form"
    document = scene.run("spawn", "docs", "-m", "Build the login form", "--json").document
    assert document["task"] == "build-the-login-form-2"
    document = scene.run("spawn", "ui", "-m", "Text", "--title", "Colours", "--json").document
    assert (document["task"], document["branch"]) == ("colours", "ui/colours")
    ok(scene.root, "cancel", "docs")
    assert ok(scene.root, "assign", "docs", "-F", "-", stdin=b"Next one").endswith("/next-one")


def test_made_at_random(scene: Scene) -> None:
    """Without title and text, and for a text without Latin letters, the id is two words."""
    for words in (("spawn", "auth"), ("spawn", "docs", "-m", "日本語")):
        task = Path(ok(scene.root, *words)).name
        assert re.fullmatch(r"[a-z]+-[a-z]+", task), task


def test_left_branches(scene: Scene) -> None:
    """An id whose branch exists already is not used."""
    subprocess.run(["git", "branch", "auth/form"], cwd=scene.root, check=True)
    assert ok(scene.root, "spawn", "auth", "-m", "form").endswith("/form-2")


def test_at_the_same_time(scene: Scene) -> None:
    """Concurrent spawns of the same text get different ids."""
    ok(scene.root, "init")
    running = [
        subprocess.Popen([PROGRAM, "spawn", name, "-m", "form"], cwd=scene.root, stdout=-1)
        for name in ("auth", "docs", "ui")
    ]
    paths = [one.communicate()[0].decode().strip() for one in running]
    assert {Path(path).name for path in paths} == {"form", "form-2", "form-3"}


def test_words_in_the_wrong_place(scene: Scene) -> None:
    """Words instead of an id are refused with the command to write, and that command works."""
    answer = run(scene.root, "spawn", "Build the login form")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "error: 'Build the login form' is not a worker id: lower-case letters, digits and '-' are"
        " allowed, a letter or digit first\n"
        "hint: git worker spawn dev -m 'Build the login form'\n"
    )
    answer = run(scene.root, "spawn", "auth", 'It\'s "new"')
    hint = answer.err.splitlines()[-1].removeprefix("hint: ")
    assert hint == """git worker spawn auth -m 'It'"'"'s "new"'"""
    made = subprocess.run(hint, shell=True, cwd=scene.root, check=True, capture_output=True)
    assert made.stdout.endswith(b"/its-new\n")
    assert ok(scene.root, "task", "text", "its-new") == 'It\'s "new"'
    answer = run(scene.root, "spawn", "Auth")
    assert answer.err.endswith("hint: git worker spawn auth my-task\n")
