"""`undo --list`, `undo N`, `fsck` and `gc` as whole programs: their output and exit status."""

import re

from gitworker.cli.commands.repair.undo_list import render_records
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok
from tests.conftest import git


def test_a_landing_and_its_undo(scene: Scene) -> None:
    """A landing is listed with its removal, and taken back with one command."""
    worktree = scene.approved()
    old = git(scene.root, "rev-parse", "main")
    ok(scene.root, "merge", "auth")
    listed = scene.run("undo", "--list")
    assert listed.status == 0
    rows = [line.split("\t") for line in listed.out.splitlines()]
    first = "the approve cannot be undone before the later merge (3)"
    assert [(row[2], row[3], row[4], row[6]) for row in rows] == [
        ("remove", "auth", "hq", "can be undone"),
        ("merge", "auth", "hq", "can be undone"),
        ("approve", "auth", "hq", f"no: {first}"),
    ]  # fmt: skip
    answer = scene.run("undo")
    assert (answer.status, answer.err) == (0, "")
    assert re.fullmatch(r"undid merge: main is back at \w+; auth is approved\n", answer.out)
    assert git(scene.root, "rev-parse", "main") == old
    assert worktree.exists()
    assert scene.run("fsck").status == 0


def test_a_refused_undo_says_how_to_revert(scene: Scene) -> None:
    """With a commit on top, undo is refused with the command that reverts, exit 1."""
    scene.approved()
    ok(scene.root, "merge", "auth")
    scene.commit(scene.root, "on-top.txt")
    answer = scene.run("undo")
    assert (answer.status, answer.out) == (1, "")
    assert "main has moved since" in answer.err
    assert "hint: git revert " in answer.err
    (first,) = [
        one
        for one in scene.run("undo", "--list", "--json").document["records"]
        if one["kind"] == "merge"
    ]
    assert (first["can_undo"], first["workers"], first["tasks"]) == (False, ["auth"], ["t1"])
    assert first["hint"].startswith("git revert ")


def test_wrong_words(scene: Scene) -> None:
    """Invalid numbers are usage errors, and unknown ones are not found."""
    ok(scene.root, "init")
    assert scene.run("undo", "0").status == 2
    assert scene.run("undo", "--list", "3").status == 2
    assert scene.run("undo", "-n", "3").status == 2
    assert scene.run("undo", "3") == Answer(
        4,
        "",
        "error: operation 3 cannot be undone: there is no such operation to undo\n"
        "hint: git worker undo --list\n",
    )
    assert scene.run("undo", "--list") == Answer(0, "", ""), "bare rows on a pipe, as other lists"
    assert render_records([], width=80, color=False) == "there is nothing to undo"


def test_fsck(scene: Scene) -> None:
    """Each finding is one line with a remedy, exit 1; a sound repository prints none, exit 0."""
    worktree = scene.submitted()
    assert scene.run("fsck") == Answer(0, "1 commit, 1 worker: no findings\n", "")
    git(scene.root, "update-ref", "-d", "refs/heads/auth/t1")
    (scene.state / "workers" / "auth.json").unlink()
    answer = scene.run("fsck")
    assert (answer.status, answer.err) == (1, "")
    missing = "branch_gone: branch auth/t1 of auth does not exist\n"
    assert f"{missing}  --repair creates it again" in answer.out
    assert "view_wrong: " in answer.out
    document = scene.run("fsck", "--json").document
    assert document["whole"] is False
    assert {"code", "where", "what", "mendable", "help"} == set(document["findings"][0])
    repaired = scene.run("fsck", "--repair")
    assert repaired.status == 0
    assert f"repaired {missing}" in repaired.out
    assert repaired.out.endswith("1 commit, 1 worker: no findings\n")
    again = scene.run("fsck", "--repair", "--json").document
    assert (again["whole"], again["mended"], again["failed"]) == (True, [], [])
    assert git(worktree, "status", "--porcelain") == ""


def test_gc(scene: Scene) -> None:
    """gc reports the deleted and the kept items, and names the command that undoes it."""
    scene.submitted()
    scene.working("docs", "t2")
    scene.commit(scene.root, "theirs.txt")
    ok(scene.root, "approve", "auth")
    ok(scene.root, "merge", "auth")
    scene.commit(scene.root / "worktrees/t2", "half.txt")
    ok(scene.root, "cancel", "docs")
    dry = scene.run("gc", "--dry-run", "--older-than", "0")
    assert (dry.status, dry.err) == (0, "")
    assert "would delete  rescue ref refs/worker/rescue/auth/t1/1\n" in dry.out
    held = "kept  rescue ref refs/worker/rescue/docs/t2/1: holds commits, or uncommitted work,"
    assert held in dry.out
    answer = scene.run("gc", "--older-than", "0")
    assert answer.status == 0
    assert "deleted 1 rescue ref, " in answer.out
    assert re.search(r"undo: git worker undo \d+ ", answer.out)
    refs = git(scene.root, "for-each-ref", "--format=%(refname)", "refs/worker/rescue")
    assert refs == "refs/worker/rescue/docs/t2/1"
    undone = scene.run("undo", "--json").document
    assert (undone["undone"], undone["workers"]) == ("gc", [])
    assert scene.run("gc").out == "nothing to delete\n"
    document = scene.run("gc", "--json", "--dry-run", "--older-than", "0").document
    assert {"number", "size_bytes", "going", "held", "dry_run"} < set(document)
    git(scene.root, "config", "worker.gc.days", "0")
    assert scene.run("gc").status == 2
