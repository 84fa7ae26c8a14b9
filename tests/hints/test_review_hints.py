"""The hints of reviews, each followed in the state in which it is printed."""

import pytest

from gitworker.errors import Invalid
from gitworker.review.rules_patch import FilePatch, Hunk, RawChange
from gitworker.review.rules_viewed import choose
from tests.hints.case import Case, by, check, check_error
from tests.workers.world import World

W = "git worker "


def reviewed(world: World) -> None:
    """Let auth wait for its review, and docs work on its guide."""
    world.in_review("auth", "login", {"README": "one\nTWO\n"})
    world.working("docs", "guide", {"guide": "1\n"})


def drafted(world: World) -> None:
    """Write a comment on auth's work."""
    reviewed(world)
    by(W + "review comment auth README:2 -m Why")(world)


def sent(world: World) -> None:
    """Send a comment on auth's work."""
    drafted(world)
    by(W + "review send auth")(world)


def resolved(world: World) -> None:
    """Send a comment, and resolve it."""
    sent(world)
    by(W + "review resolve 1")(world)


def working(world: World) -> None:
    """Let auth work, with nothing handed in yet."""
    world.working("auth", "login", {"a": "1\n"})


def idle(world: World) -> None:
    """Cancel the task of auth."""
    working(world)
    by(W + "cancel auth")(world)


def renamed(world: World) -> None:
    """Let auth wait for the review of a file that it renamed."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("mv", "README", "README.md", cwd=place)
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")


def reopened(world: World) -> None:
    """Open a comment again, without sending it."""
    resolved(world)
    by(W + "review reopen 1 -m No")(world)


CASES = {
    "renamed": Case(
        renamed,
        W + "review comment auth README:1 -m Why",
        W + "review comment {} {} --old -m <text>",
        instead=True,
    ),
    "handle-unsent": Case(
        reopened, W + "review handled 1 -m Yes", W + "review list {}", at="auth", instead=True
    ),
    "edit-sent": Case(
        sent, W + "review edit 1 -m No", W + "review comment {} -m <text>", instead=True
    ),
    "unanswered": Case(
        sent, W + "review handled 1", W + "review handled {} -m <text>", at="auth", instead=True
    ),
    "handle-resolved": Case(resolved, W + "review handled 1 -m Yes", W + "review reopen {}"),
    "reopen-sent": Case(sent, W + "review reopen 1", W + "review resolve {}"),
    "resolve-draft": Case(drafted, W + "review resolve 1", W + "review send {}"),
    "not-the-author": Case(
        sent, W + "review handled 1 -m Yes", W + "review list {}", at="docs", instead=True
    ),
    "nothing-to-send": Case(reviewed, W + "review send auth", W + "review comment {} -m <text>"),
    "no-such-round": Case(reviewed, W + "review diff auth --round 1..7", W + "review {}"),
    "no-look": Case(reviewed, W + "review diff auth", W + "review {}"),
    "no-such-hunk": Case(reviewed, W + "review viewed auth other.py", W + "review {}"),
    "inbox": Case(
        sent, W + "inbox --json", W + "review handled {} -m <text>", at="auth", instead=True
    ),
    "no-branch": Case(idle, W + "review auth", W + "show {}"),
    "no-round": Case(working, W + "review comment auth -m Why", W + "diff {}"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_hint_of_a_review_helps(quiet: World, name: str) -> None:
    """The command in this state prints the hint, and the hint helps."""
    check(quiet, CASES[name])


def test_the_hint_about_an_ambiguous_hunk_helps(quiet: World) -> None:
    """The beginning of two ids leads to the page that shows both."""
    reviewed(quiet)
    hunks = tuple(Hunk(f"abcd{end}", 1, 1, 1, 1, "", ()) for end in "12")
    files = [FilePatch(RawChange("M", "", "", "", "", "a", "a"), False, hunks, None)]
    with pytest.raises(Invalid) as caught:
        choose(files, "abcd", worker="auth")
    check_error(quiet, caught.value, W + "review {}")
