"""Rounds are recorded at the hand-in."""

import sqlite3
from contextlib import closing

from gitworker.review.page.page import read_page
from gitworker.store.reviewing.rounds import Round, rounds_of
from gitworker.store.sqlite.database import Database
from gitworker.store.workers import load_worker
from tests.workers.world import World


def rounds(world: World) -> list[Round]:
    """Return the rounds of auth's task."""
    with world.session().store.read() as reader:
        return rounds_of(reader, "auth", "login")


def test_each_hand_in_is_a_round(world: World) -> None:
    """A hand-in records base, tip and commits; the same commit again is the same round."""
    base = world.tip()
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"other": "x\n"})
    first = world.tip("auth/login")
    world.submit("auth", note="please")
    second = world.commit("auth", {"b": "2\n"}, "More\n\nwith a body")
    world.submit("auth")
    one, two = rounds(world)
    assert (one.number, one.base, one.tip) == (1, base, first)
    assert (two.number, two.base, two.tip) == (2, base, second)
    assert [(c.commit, c.message) for c in two.commits] == [
        (first, "Work\n"), (second, "More\n\nwith a body\n"),
    ]  # fmt: skip
    assert two.commits[0] == one.commits[0]
    assert {c.author for c in two.commits} == {"Ada Tester <ada@example.org>"}
    assert len({c.patch for c in two.commits}) == 2


def test_a_rebase_keeps_the_patches_of_a_round(world: World) -> None:
    """A branch that is rebased and handed in again is a new round with the same patch ids."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"other": "x\n"})
    world.git("rebase", "-q", "main", cwd=world.path("auth"))
    world.submit("auth")
    one, two = rounds(world)
    assert (two.base, two.number) == (world.tip(), 2)
    assert [c.patch for c in one.commits] == [c.patch for c in two.commits]
    assert one.commits[0].commit != two.commits[0].commit


def test_a_stacked_round_begins_after_its_parent(world: World) -> None:
    """The round of a stacked worker has its own commits only."""
    world.in_review("base", "first", {"a": "1\n"})
    world.spawn("auth", "login", start="base")
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")
    (one,) = rounds(world)
    assert (one.base, len(one.commits)) == (world.tip("base/first"), 1)


def test_a_round_with_a_merge_begins_at_the_newest_base(world: World) -> None:
    """A branch that merged the target has its own commits only, without the merge."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"other": "x\n"})
    base = world.tip()
    world.git("merge", "-q", "--no-edit", "main", cwd=world.path("auth"))
    third = world.commit("auth", {"b": "2\n"}, "Third")
    world.submit("auth")
    two = rounds(world)[-1]
    assert (two.base, two.tip) == (base, third)
    assert [c.message for c in two.commits] == ["Work\n", "Third\n"]
    assert {len(c.patch) for c in two.commits} == {40}


def test_a_message_is_no_patch(world: World) -> None:
    """A message that looks like a log or a patch changes neither patch id nor text."""
    world.in_review("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    hostile = f"One\n\ncommit {tip}\n{tip}\n\n\n diff\ndiff --git a/x b/x\n@@ -1 +1 @@\n+\tx\u00fc"
    world.git(
        "commit", "-q", "--amend", "--cleanup=verbatim", "-m", hostile, cwd=world.path("auth")
    )
    world.submit("auth")
    one, two = rounds(world)
    assert [c.message for c in two.commits] == [f"{hostile}\n"]
    assert [c.patch for c in two.commits] == [c.patch for c in one.commits]


def test_a_round_of_an_older_version_is_shown_without_a_write(world: World) -> None:
    """A read-only store shows the round of work handed in without one, and keeps none."""
    world.in_review("auth", "login", {"a": "1\n"})
    session = world.session()
    with closing(sqlite3.connect(session.paths.database)) as connection:
        connection.execute("DROP TRIGGER review_rounds_delete")
        connection.execute("DELETE FROM review_rounds")
        connection.commit()
    assert isinstance(session.store, Database)
    session.store.is_read_only = True
    with session.store.read() as reader:
        worker = load_worker(reader, "auth")
    shown = read_page(session, worker, records_look=True)
    assert (shown.round.number, shown.round.tip) == (1, world.tip("auth/login"))
    assert rounds(world) == []
