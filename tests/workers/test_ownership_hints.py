"""The hints of a refusal for a damaged worktree, followed as a user copies them, end it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from tests.cli.kit import Answer, run
from tests.crash.inventory import all_bytes
from tests.workers.damaging import HEADS, PLACES, bytes_below
from tests.workers.world import World

ROUNDS = 5
VERBS = {
    "done": ("done", "auth", "--commit", "-m", "All of it"),
    "approve": ("approve", "auth"),
    "merge": ("merge", "auth"),
    "cancel": ("cancel", "auth"),
}


def prepared(world: World, verb: str) -> Path:
    """Bring `auth` to a state that allows the verb, with an untracked file if the verb takes it."""
    world.working("bob", "form", {"b": "1\n"})
    bring = {"approve": world.in_review, "merge": world.approved}.get(verb, world.working)
    place = bring("auth", "login", {"a": "1\n"})
    Repo(place).write({"new": "mine\n"})
    Repo(world.root).write({"README": "changed by the user\n"})
    return place


def hints(answer: Answer) -> Iterator[str]:
    """Yield the commands that an answer names, without the remarks behind them."""
    for line in answer.err.splitlines() + answer.out.splitlines():
        text = line.strip()
        if text.startswith("hint: "):
            yield text.removeprefix("hint: ").partition("   (")[0]


def follow(world: World, command: str) -> Answer:
    """Run one command of a hint in the main checkout, as a user copies it."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=world.root, check=False, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", [*PLACES, *HEADS])
def test_the_hint_leads_to_the_verb(world: World, state: str, verb: str) -> None:
    """A user who follows the hints, those of the repair included, can run the refused command."""
    place = prepared(world, verb)
    kept = set(all_bytes(World(world.root.parent)))
    (PLACES | HEADS)[state](world, place)
    mine, bobs = bytes_below(world.root), bytes_below(world.path("bob"))
    said = []
    for _ in range(ROUNDS):
        answer = run(world.root, *VERBS[verb])
        said.append(answer)
        if answer.status == 0:
            break
        for command in hints(answer):
            said.append(follow(world, command))
            said += [follow(world, one) for one in hints(said[-1])]
    assert said[-1].status == 0, said
    assert kept <= set(all_bytes(World(world.root.parent))), said
    after = bytes_below(world.root)
    if verb == "merge":  # which brings the file of `auth`
        assert after.pop(f"{world.root}/a") == b"1\n"
    assert (after, bytes_below(world.path("bob"))) == (mine, bobs)
