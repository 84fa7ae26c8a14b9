"""`claim`: leases on the command line."""

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import DEADLINE_S, Answer, ok, run
from tests.store.support import foreign, participant

# A foreign program takes an expired claim over in this way.
TAKEN_OVER = (
    "BEGIN IMMEDIATE",
    "DELETE FROM task_claims WHERE task_id = 't1'",
    "INSERT INTO task_claims (task_id, claimed_by, claimed_at_ms, lease_until_ms)"
    " SELECT 't1', 'nim', now, now + 300000 FROM (SELECT unixepoch() * 1000 AS now)",
    "COMMIT",
)


def test_the_life_of_a_claim(scene: Scene) -> None:
    """A claim is taken, refused to others, renewed, listed, given back and taken by the next."""
    root = scene.root
    assert scene.run("claim", "take", "path:src/**", "--as", "auth") == Answer(0, "1\n", "")
    refused = scene.run("claim", "take", "path:src/app.py", "--as", "docs")
    assert (refused.status, refused.out) == (3, "")
    assert refused.err.startswith(
        "error: path:src/app.py overlaps path:src/**, which is claimed by auth"
    )
    assert "hint: git worker claim take path:src/app.py --wait 60" in refused.err
    assert ok(root, "claim", "renew", "path:src/**", "--epoch", "1", "--as", "auth") == ""
    name, holder, epoch, left = ok(root, "claim", "list").split("\t")
    assert (name, holder, epoch, left[-1]) == ("path:src/**", "auth", "1", "s")
    assert ok(root, "claim", "release", "path:src/**", "--as", "auth") == ""
    assert ok(root, "claim", "take", "path:src/app.py", "--ttl", "0.2", "--as", "docs") == "1"
    assert ok(root, "claim", "take", "path:src/app.py", "--wait", "30", "--as", "auth") == "2"
    late = scene.run("claim", "release", "path:src/app.py", "--as", "docs")
    assert late.status == 3
    assert "docs lost its claim on path:src/app.py (epoch 1); auth holds it now" in late.err


def test_as_json(scene: Scene) -> None:
    """Each command answers with one document, refusals too."""
    taken = run(scene.root, "claim", "take", "x:deploy", "--ttl", "600", "--json").document
    assert 600 - DEADLINE_S * 4 < taken.pop("left_s") <= 600  # a command may take so long here
    assert taken.pop("since") < taken.pop("until")
    assert taken == {
        "schema": 1, "name": "x:deploy", "holder": "hq", "epoch": 1, "expired": False,
    }  # fmt: skip
    refusal = run(scene.root, "claim", "take", "x:deploy", "--json")
    assert (refusal.status, refusal.document["error"]["code"]) == (3, "claimed")
    renewed = run(scene.root, "claim", "renew", "x:deploy", "--epoch", "1", "--json").document
    assert (renewed["name"], renewed["epoch"]) == ("x:deploy", 1)
    (listed,) = run(scene.root, "claim", "list", "--json").document["claims"]
    assert listed["name"] == "x:deploy"
    released = run(scene.root, "claim", "release", "x:deploy", "--epoch", "1", "--json").document
    assert released == {"schema": 1, "name": "x:deploy", "holder": "hq"}
    assert run(scene.root, "claim", "list", "--json").document == {"schema": 1, "claims": []}
    assert run(scene.root, "claim", "list").out == ""


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("take", "unknown"), 4, "there is no task unknown"),
        (("take", "src/**"), 2, "git worker claim take 'path:src/**'"),
        (("take", "x:\x1b[2J"), 2, "printable"),
        (("take", "x:a", "--ttl", "0"), 2, "is not possible"),
        (("take", "x:a", "--wait", "-1"), 2, "--wait"),
        (("take", "x:a", "--wait", "nan"), 2, "is not a valid number of seconds"),
        (("take", "x:a", "--wait", "inf"), 2, "is not a valid number of seconds"),
        (("renew", "x:a", "--as", "auth"), 4, "auth holds no claim on x:a"),
        (("release", "x:a", "--as", "auth"), 4, "auth holds no claim on x:a"),
        (("renew", "x:a"), 2, "git worker claim renew x:a --epoch <epoch>"),
        (("release", "x:a"), 2, "git worker claim release x:a --epoch <epoch>"),
        (("take",), 2, "NAME"),
    ],
)
def test_refusals(scene: Scene, words: tuple[str, ...], status: int, message: str) -> None:
    """A refusal has the status of its kind and a hint."""
    ok(scene.root, "init")
    answer = scene.run("claim", *words)
    assert (answer.status, answer.out) == (status, "")
    assert message in answer.err
    assert "\x1b" not in answer.err


def test_a_late_worker_is_informed(scene: Scene) -> None:
    """A worker that lost its task learns it from its heartbeat and from done, with status 3."""
    worktree = scene.working()
    scene.commit(worktree, "a")
    # In one transaction: a heartbeat of the daemon in between would renew the lease.
    assert foreign(scene.state / "bus.db", *TAKEN_OVER) == [[]] * 4
    beat = run(worktree, "heartbeat")
    assert beat.status == 3
    assert "worker auth lost its claim on t1 (held by nim now)" in beat.err
    done = run(worktree, "done")
    assert done.status == 3
    assert "t1 is claimed by nim" in done.err
    participant(scene.state, "release", "t1", "nim")
    assert ok(worktree, "claim", "take", "t1") == "3"
    ok(worktree, "heartbeat")
    ok(worktree, "done")
    assert '"task_claim"' in (scene.state / "bus.jsonl").read_text()
