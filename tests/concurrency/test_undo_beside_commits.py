"""Landings are undone repeatedly while a person commits on the target: nothing is lost."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.undo.undo import undo
from tests.workers.world import World

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
ROUNDS = int(12 * SCALE)
EXPECTED = {"landed_for_good", "ref_moved", "index_locked", "would_overwrite"}


@contextmanager
def a_person_commits(world: World) -> Iterator[list[str]]:
    """Commit in the main checkout at intervals, as a person does; give the commits' ids."""
    made: list[str] = []
    stop = threading.Event()

    def work() -> None:
        number = 0
        while not stop.wait(0.7):
            number += 1
            (world.root / f"user{number % 3}").write_text(f"{number}\n")
            Repo(world.root).run("add", f"user{number % 3}")
            done = Repo(world.root).run("commit", "-m", f"By hand {number}")
            if done.returncode == 0:  # HEAD may be a landing by now; git prints its own commit
                made.append(re.findall(r"^\[main (\w+)\]", done.stdout.decode())[0])

    person = threading.Thread(target=work)
    person.start()
    try:
        yield made
    finally:
        stop.set()
        person.join()


@pytest.mark.slow
def test_undo_beside_a_person_who_commits(world: World) -> None:
    """An undo takes its landing back or refuses; every commit made by hand stays on the target."""
    codes = set()
    with a_person_commits(world) as made:
        for number in range(ROUNDS):
            world.approved(f"w{number}", f"t{number}", {f"f{number}": "1\n"})
            try:
                world.land(f"w{number}")
                undo(world.session())
            except GitWorkerError as error:
                codes.add(error.code)
    reached = set(world.git("rev-list", "main").splitlines())
    assert {world.tip(oid) for oid in made} <= reached
    assert codes <= EXPECTED | {"merge_refused", "target_moved"}, codes
    assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
    assert run_fsck(world.session()).findings == ()
