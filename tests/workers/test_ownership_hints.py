"""The hints of a refusal for a damaged worktree, followed as a user copies them, end it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from tests.cli.kit import Answer, run
from tests.crash.inventory import all_bytes
from tests.hints.following import note
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
            yield text.removeprefix("hint: ").partition("   # ")[0]


def follow(world: World, command: str) -> Answer:
    """Run one command of a hint in the main checkout, as a user copies it."""
    note(command, "")
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


@pytest.mark.parametrize("content", [b"", b"garbage", b"\0" * 300, b"DIRC" + b"\xff" * 300])
@pytest.mark.parametrize("verb", ["done", "cancel"])
def test_a_damaged_index(world: World, verb: str, content: bytes) -> None:
    """A command that git cannot run beside a damaged index names the index and the repair."""
    prepared(world, verb)
    index = Path(world.worker("auth").admin_dir or "") / "index"
    index.write_bytes(content)
    refused = run(world.root, *VERBS[verb])
    assert refused.status == 1, refused
    assert "index" in refused.err
    assert list(hints(refused)) == ["git worker fsck --repair"], refused
    assert follow(world, "git worker fsck --repair").status == 0
    assert run(world.root, *VERBS[verb]).status == 0


@pytest.mark.parametrize("name", ["HEAD", "commondir"])
def test_inside_a_damaged_worktree(world: World, name: str) -> None:
    """A command inside a worktree that git does not recognise names a repair that works there."""
    place = prepared(world, "done")
    (Path(world.worker("auth").admin_dir or "") / name).write_bytes(b"")
    refused = run(place, "done")
    assert refused.status == 1, refused
    (hint,) = hints(refused)
    assert follow(world, f"cd {place} && {hint}").status == 0
    assert run(place, "done", "--commit", "-m", "x").status == 0


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_inside_a_worktree_that_leads_to_the_main_checkout(
    world: World, tmp_path: Path, kind: str, outside: bool
) -> None:
    """An agent whose `.git` leads to the main checkout's is not taken for a person."""
    if outside:
        world.git("config", "worker.worktree.root", str(tmp_path / "elsewhere"))
    place = prepared(world, "done")
    (place / ".git").unlink()
    if kind == "link":
        (place / ".git").symlink_to(world.root / ".git")
    else:
        (place / ".git").write_text(f"gitdir: {world.root}/.git\n")
    for words in (("task", "cancel", "form"), ("approve", "bob"), ("spawn", "new", "t9")):
        refused = run(place, *words)
        assert (refused.status, "worker auth: " in refused.err) == (1, True), refused
    (hint,) = hints(refused)
    assert follow(world, f"cd {place} && {hint}").status == 0
    assert run(place, "done", "--commit", "-m", "x").status == 0


def test_a_spawn_beside_a_half_made_worktree(world: World) -> None:
    """A spawn that git refuses for another worktree says so in two lines."""
    prepared(world, "done")
    (Path(world.worker("bob").admin_dir or "") / "commondir").write_bytes(b"")
    refused = run(world.root, "spawn", "new", "t9")
    assert (refused.err.count("\n"), "fatal" in refused.err) == (2, False), refused
    (hint,) = hints(refused)
    assert follow(world, hint).status == 0
    assert run(world.root, "spawn", "new", "t9").status == 0
