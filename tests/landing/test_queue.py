"""The landing queue verifies each window before it lands and sends back only the culprit."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from gitworker.landing.landing_plan import plan
from gitworker.landing.merge import Landed, NotLanded
from gitworker.progress import Event, Notice
from gitworker.radar.radar import survey
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.workers.start import start
from tests.workers.world import World

CHECK = "! grep -qs BAD good/*"


@pytest.fixture
def verified(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a repository whose target is verified by commands of its user's."""
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", CHECK)
    return world


def approve_each(world: World, **texts: str) -> None:
    """Approve a worker for each text, which is all of a file of its own."""
    for name, text in texts.items():
        world.approved(name, f"t-{name}", {f"good/{name}": f"{text}\n"})


def landed(results: list[Landed | NotLanded]) -> list[str]:
    """Return the workers that landed."""
    return [result.worker_id for result in results if isinstance(result, Landed)]


def codes(results: list[Landed | NotLanded]) -> dict[str, str]:
    """Return the error code of each worker that did not land."""
    return {one.worker_id: one.error.code for one in results if isinstance(one, NotLanded)}


def runs(world: World) -> list[tuple[str, str]]:
    """Return every run of the verify commands: commit and verdict."""
    return world.query("SELECT commit_oid, verdict FROM verify_runs ORDER BY id")


def windows(world: World) -> list[tuple[int, int, str]]:
    """Return of every window how many it carried, how many landed, and its outcome."""
    rows = world.query("SELECT workers, landed, outcome FROM windows ORDER BY id")
    return [(len(json.loads(workers)), count, outcome) for workers, count, outcome in rows]


def test_one_run_for_a_window(verified: World) -> None:
    """A window whose tip passes lands by one run of the commands and one fast-forward."""
    approve_each(verified, amy="1", bob="2", cat="3")
    assert landed(verified.merge(everything=True)) == ["amy", "bob", "cat"]
    assert runs(verified) == [(verified.tip(), "passed")]
    assert windows(verified) == [(3, 3, "landed")]
    assert "refs/worker/queue" not in verified.refs()
    verified.require_sound()


def test_the_culprit_goes_back(verified: World) -> None:
    """Only the culprit of a failed window is sent back, with the log; the others land."""
    approve_each(verified, amy="1", bob="2", cat="BAD", dan="4", eve="5")
    results = verified.merge(everything=True)
    assert landed(results) == ["amy", "bob", "dan", "eve"]
    assert codes(results) == {"cat": "verify_failed"}
    assert verified.states("cat", "t-cat") == ("WORKING", "IN_PROGRESS")
    (result,) = [one for one in verified.messages("review_result") if one["verdict"] != "approved"]
    assert result["verdict"] == "verify_failed"
    assert "status 1" in result["reason"]
    assert CHECK in Path(result["log"]).read_text()
    assert windows(verified) == [(5, 2, "failed"), (2, 2, "landed")]
    verified.require_sound()


def test_every_tip_was_verified(verified: World) -> None:
    """Each commit that the target ever pointed at has passed as exactly that commit."""
    approve_each(verified, amy="1", bob="BAD", cat="3", dan="BAD", eve="5")
    start = verified.tip()
    verified.merge(everything=True)
    passed = {commit for commit, verdict in runs(verified) if verdict == "passed"}
    tips = verified.git("reflog", "show", "--format=%H", "main").split()
    moved_to = tips[: tips.index(start)]
    assert moved_to
    assert set(moved_to) <= passed


@pytest.mark.parametrize("parallel", ["1", "3"])
def test_bad_work_at_every_place(
    verified: World, monkeypatch: pytest.MonkeyPatch, parallel: str
) -> None:
    """Bad work at any position, with any number of parallel runs, blames no other worker."""
    monkeypatch.setenv("GITWORKER_MERGE_PARALLEL", parallel)
    monkeypatch.setenv("GITWORKER_MERGE_WINDOW", "3")
    texts = {"ann": "BAD", "bob": "1", "cat": "BAD", "dan": "2", "eve": "3", "fay": "BAD"}
    approve_each(verified, **texts)
    results = verified.merge(everything=True)
    assert landed(results) == ["bob", "dan", "eve"]
    assert codes(results) == dict.fromkeys(("ann", "cat", "fay"), "verify_failed")
    verified.require_sound()


def test_a_window_of_one(verified: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a window of one, every worker has a run of its own, and the window never grows."""
    monkeypatch.setenv("GITWORKER_MERGE_WINDOW", "1")
    approve_each(verified, amy="1", bob="2", cat="3")
    verified.merge(everything=True)
    assert [verdict for _, verdict in runs(verified)] == ["passed"] * 3
    assert windows(verified) == [(1, 1, "landed")] * 3


def test_a_target_that_fails_by_itself(verified: World) -> None:
    """No worker is sent back if the target fails by itself."""
    approve_each(verified, amy="1", bob="2")
    verified.advance({"good/own": "BAD\n"})
    results = verified.merge(everything=True)
    assert codes(results) == {"amy": "target_fails", "bob": "target_fails"}
    ((verdicts,),) = verified.query("SELECT verdicts FROM windows")
    assert [one["prefix"] for one in json.loads(verdicts)] == [2, 1]
    assert verified.states("amy", "t-amy")[0] == "APPROVED"
    assert verified.states("bob", "t-bob")[0] == "APPROVED"


def test_a_tree_that_passed_never_runs_again(verified: World) -> None:
    """A tree that was verified lands without a run, as another commit too."""
    approve_each(verified, amy="1")
    start = verified.tip()
    verified.land("amy")
    verified.git("reset", "-q", "--hard", start)
    verified.approved("bob", "t-bob", {"good/amy": "1\n"})
    verified.land("bob")
    assert len(runs(verified)) == 1


def test_a_target_that_moves_during_a_run(verified: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the target moves while a window is verified, the window is rebuilt and verified again."""
    place = f"{verified.root}/good/own"
    script = (
        f"test -e {place} || (cd {verified.root} && mkdir -p good && echo own >good/own"
        " && git add good && git commit -qm Own)"
    )
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", f"{script}\n{CHECK}")
    approve_each(verified, amy="1", bob="2")
    assert landed(verified.merge(everything=True, windows=1)) == ["amy", "bob"]
    assert windows(verified) == [(2, 0, "moved"), (2, 2, "landed")]
    assert verified.show("good/own") == "own"
    verified.require_sound()


def test_an_approval_withdrawn_meanwhile(verified: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that commits during its verification does not land unreviewed; the others land."""
    approve_each(verified, amy="1", bob="2")
    bob = verified.path("bob")
    script = (
        f"cd {bob} && test -e {verified.root}/../once || (touch {verified.root}/../once"
        " && echo more >more && git add more && git commit -qm More)"
    )
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", script)
    results = verified.merge(everything=True)
    assert landed(results) == ["amy"]
    assert codes(results) == {"bob": "approval_withdrawn"}
    assert verified.tip("bob/t-bob") == verified.git("rev-parse", "HEAD", cwd=bob)


def test_settings_that_land(world: World) -> None:
    """Verify commands that land count from the next window on, once a person trusts them."""
    file = f'[verify]\ncommands = ["{CHECK}"]\n'
    world.approved("amy", "t-amy", {".gitworker.toml": file})
    approve_each(world, bob="BAD", cat="2")
    world.land("amy")
    results = world.session()
    assert results.settings.verify_commands == (CHECK,)
    with pytest.raises(Exception, match="not trusted"):
        world.merge(everything=True)
    assert world.states("bob", "t-bob")[0] == "APPROVED"


def test_a_worker_that_keeps_failing_waits_longer(verified: World) -> None:
    """The queue orders by priority, then by waiting time; a returned worker follows its equals."""
    approve_each(verified, amy="BAD")
    verified.merge(everything=True)
    verified.commit("amy", {"good/amy": "fine\n"})
    verified.submit("amy")
    verified.approve("amy")
    approve_each(verified, bob="1")
    assert landed(verified.merge(everything=True)) == ["bob", "amy"]


def test_no_retries_left(verified: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without reviews, a failed verification costs one retry, and the last one fails the task."""
    monkeypatch.setenv("GITWORKER_REVIEW_REQUIRED", "false")
    monkeypatch.setenv("GITWORKER_TASK_MAX_RETRIES", "1")
    approve_each(verified, amy="BAD")
    verified.merge("amy")
    assert verified.states("amy", "t-amy") == ("WORKING", "IN_PROGRESS")
    verified.commit("amy", {"good/amy": "BAD again\n"})
    verified.submit("amy")
    verified.approve("amy")
    assert codes(verified.merge("amy")) == {"amy": "verify_failed"}
    assert verified.states("amy", "t-amy") == ("FAILED", "BLOCKED")
    verified.require_sound()


def test_reviews_continue_while_a_window_is_verified(
    verified: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The landing lock is free while the commands run, so a reviewer can approve meanwhile."""
    approve_each(verified, amy="1")
    verified.in_review("bob", "t-bob", {"good/bob": "2\n"})
    approve = " ".join(World.argv("approve", "bob"))
    monkeypatch.setenv(
        "GITWORKER_VERIFY_COMMANDS", f"cd {verified.root} && PYTHONPATH={os.getcwd()} {approve}"
    )
    assert landed(verified.merge("amy")) == ["amy"]
    assert verified.states("bob", "t-bob")[0] == "APPROVED"


def test_a_second_queue_waits_for_its_turn(verified: World) -> None:
    """A queue that waits for another one reports it, and lands afterwards."""
    approve_each(verified, amy="1")
    lines: list[str] = []

    def report(event: Event) -> None:
        if isinstance(event, Notice) and "waits for it to end" in event.text:
            lines.append(event.text)
            turn.close()

    turn = contextlib.ExitStack()
    turn.enter_context(hold(verified.session().queue_lock, name="queue"))
    with turn:
        assert landed(verified.merge("amy", report=report)) == ["amy"]
    assert len(lines) == 1


def test_the_radar_orders_a_window(verified: World) -> None:
    """Whom the radar knows to conflict go into different windows; the second is judged then."""
    for name in ("amy", "bob"):
        verified.in_review(name, f"t-{name}", {"README": f"{name}\n", f"good/{name}": "1\n"})
    verified.in_review("cat", "t-cat", {"good/cat": "3\n"})
    for name in ("amy", "bob", "cat"):
        verified.approve(name)
    survey(verified.session())
    results = verified.merge(everything=True)
    assert landed(results) == ["amy", "cat"]
    assert codes(results) == {"bob": "rebase_conflict"}
    assert windows(verified) == [(2, 2, "landed")]


def test_a_stack_lands_in_one_window(verified: World) -> None:
    """A branch that is stacked on another lands on top of it, in the order of the stack."""
    verified.approved("amy", "t-amy", {"good/amy": "1\n"})
    verified.spawn("bob", "t-bob", start="amy")
    start(verified.session(), "bob", pid=None)
    verified.commit("bob", {"good/bob": "2\n"})
    verified.submit("bob")
    verified.approve("bob")
    assert landed(verified.merge("bob", "amy")) == ["bob", "amy"]
    assert windows(verified) == [(2, 2, "landed")]
    names = verified.git("log", "--format=", "--name-only", "--reverse", "main~2..main").split()
    assert names == ["good/amy", "good/bob"]


def test_the_plan(verified: World) -> None:
    """A dry run shows the windows and the workers that would be sent back, and changes nothing."""
    approve_each(verified, amy="1", bob="2")
    verified.approved("cat", "t-cat", {"README": "cat\n"})
    verified.in_review("dan", "t-dan", {"README": "dan\n"})
    verified.approve("dan")
    before = verified.rows()
    found = plan(verified.session(), [], everything=True)
    assert [(one.worker_id, one.window) for one in found] == [
        ("amy", 1), ("bob", 1), ("cat", 1), ("dan", None),
    ]  # fmt: skip
    assert found[-1].error is not None
    assert found[-1].error.code == "rebase_conflict"
    assert verified.rows() == before


def test_the_plan_of_small_windows(verified: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan keeps to the window's size, and knows which trees have passed."""
    monkeypatch.setenv("GITWORKER_MERGE_WINDOW", "2")
    approve_each(verified, amy="1", bob="2", cat="3")
    found = plan(verified.session(), ["cat", "amy", "bob"], everything=False)
    assert [(one.worker_id, one.window, one.is_known) for one in found] == [
        ("cat", 1, False), ("amy", 1, False), ("bob", 2, False),
    ]  # fmt: skip
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", "")
    found = plan(verified.session(), ["amy"], everything=False)
    assert [one.is_known for one in found] == [False]
