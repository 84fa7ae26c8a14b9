"""The hints about questions of workers are printed, and help."""

import contextlib

import pytest

from gitworker.errors import Conflict
from gitworker.service.service import open_repository
from tests.hints.case import Case, check
from tests.workers.world import World

W = "git worker "
REPLY = W + "reply {} <text>"


def ask(world: World, text: str = "Which?", *options: str) -> None:
    """Ask as auth, and wait no time for the answer."""
    with contextlib.suppress(Conflict):
        open_repository(str(world.root), identity="auth").ask(text, options=options, wait_s=0)


def working(world: World) -> None:
    """Let auth work on login."""
    world.working("auth", "login", {"a": "1\n"})


def asks(world: World) -> None:
    """Let auth wait for an answer."""
    working(world)
    ask(world)


def chooses(world: World) -> None:
    """Let auth wait for one of two answers."""
    working(world)
    ask(world, "Which?", "red", "green")


def asks_twice(world: World) -> None:
    """Let auth wait for two answers."""
    asks(world)
    ask(world, "Why?")


def in_review(world: World) -> None:
    """Let the work of auth wait for its review."""
    world.in_review("auth", "login", {"a": "1\n"})


CASES = {
    "inbox": Case(asks, W + "inbox --json", REPLY),
    "inbox-several": Case(asks_twice, W + "inbox --json", W + "reply -q {} {} <text>"),
    "status": Case(asks, W + "status --json", REPLY),
    "status-several": Case(asks_twice, W + "status --json", W + "reply -q {} {} <text>"),
    "questions": Case(asks, W + "questions --json", REPLY),
    "wait": Case(asks, W + "wait auth --timeout 0", REPLY, instead=True),
    "wait-several": Case(
        asks_twice, W + "wait auth --timeout 0", W + "reply -q {} {} <text>", instead=True
    ),
    "wait-of-another": Case(asks, W + "--as docs wait auth --timeout 0", REPLY, instead=True),
    "option": Case(chooses, W + "reply auth blue", W + "reply {} {}", instead=True),
    "several": Case(asks_twice, W + "reply auth 1", W + "reply -q {} {} <text>", instead=True),
    "none": Case(working, W + "reply auth 1", W + "questions", instead=True),
    "own": Case(asks, W + "reply auth 1", W + "inbox", at="auth", instead=True),
    "late": Case(
        working, W + "ask Which? --timeout 0", W + "resume {}", at="auth", instead=True
    ),
    "review": Case(in_review, W + "ask Which?", W + "send hq <text>", at="auth", instead=True),
    "usage": Case(
        working, W + "ask Which? --options a,a", W + "ask -h", at="auth", instead=True
    ),
    "answered": Case(asks, W + "reply auth 1 --json", W + "show {}", instead=True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_a_question_helps(quiet: World, name: str) -> None:
    """Each command about questions names a command that works in that state."""
    check(quiet, CASES[name])
