"""The landing queue adapts to changed settings, approvals, workers and checkouts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError, Invalid
from gitworker.journal.undo.undo import undo
from gitworker.landing.landing_plan import plan
from gitworker.landing.merge import Landed, NotLanded, merge
from gitworker.landing.queue_status import read_queue_status
from gitworker.model.ids import Oid
from gitworker.observe.inbox.needs import read_needs
from gitworker.progress import Event, Notice
from gitworker.verify.target_settings import settings_at
from gitworker.verify.trust import trust, untrusted_commands
from gitworker.verify.verify_once import verify_once
from gitworker.workers.start import start
from tests.workers.world import World

CHECK = "test ! -e bad"
FILE = f'[verify]\ncommands = ["{CHECK}"]\n'


def landed(results: list[Landed | NotLanded]) -> list[str]:
    """Return the workers that landed."""
    return [result.worker_id for result in results if isinstance(result, Landed)]


def codes(results: list[Landed | NotLanded]) -> dict[str, str]:
    """Return the error code of each worker that did not land."""
    return {one.worker_id: one.error.code for one in results if isinstance(one, NotLanded)}


def count_runs(world: World) -> int:
    """Return how often the verify commands ran."""
    ((count,),) = world.query("SELECT COUNT(*) FROM verify_runs")
    return int(count)


@pytest.fixture
def verified(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a repository whose target is verified by a command of its user's."""
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", CHECK)
    return world


def test_settings_that_others_bring(world: World) -> None:
    """Commands that reached the target after the session was opened apply to the landing."""
    world.approved("amy", "t-amy", {"bad": "1\n"})
    session = world.session()
    world.advance({".gitworker.toml": FILE})
    with pytest.raises(GitWorkerError, match="not trusted"):
        merge(session, ["amy"])
    assert world.states("amy", "t-amy")[0] == "APPROVED"
    assert not (world.root / "bad").exists()


def test_a_change_of_the_commands_ends_its_window(world: World) -> None:
    """Workers that land after a change of the commands are verified by the new commands."""
    world.approved("amy", "t-amy", {".gitworker.toml": FILE})
    world.approved("bob", "t-bob", {"bad": "1\n"})
    results = world.merge(everything=True)
    assert landed(results) == ["amy"]
    assert codes(results) == {"bob": "untrusted"}
    assert world.states("bob", "t-bob")[0] == "APPROVED"


def test_new_commands_judge_who_brings_them(world: World) -> None:
    """Commands that are trusted already have to pass on the commit that brings them."""
    world.approved("amy", "t-amy", {".gitworker.toml": FILE, "bad": "1\n"})
    session = world.session()
    brought = session._replace(settings=settings_at(session, Oid(world.tip("amy/t-amy"))))
    trust(brought, untrusted_commands(brought))
    results = world.merge(everything=True)
    assert codes(results) == {"amy": "verify_failed"}
    assert world.states("amy", "t-amy")[0] == "WORKING"


def test_settings_that_are_wrong_do_not_land(world: World) -> None:
    """Approved settings with a fault return to review, because they would stop every landing."""
    world.approved("amy", "t-amy", {".gitworker.toml": "[verify]\ncommand = ['make']\n"})
    world.approved("bob", "t-bob", {"fine": "1\n"})
    results = world.merge(everything=True)
    assert landed(results) == ["bob"]
    assert codes(results) == {"amy": "approval_withdrawn"}
    (failed,) = (one for one in results if isinstance(one, NotLanded))
    assert failed.error.message.startswith(".gitworker.toml of amy/t-amy has an unknown setting")
    assert failed.error.hint == "git worker reject amy -m <text>"
    assert world.states("amy", "t-amy")[0] == "IN_REVIEW"


def test_a_target_whose_settings_are_wrong(world: World) -> None:
    """An error in the target's settings stops landing and verifying, and no other command."""
    world.approved("amy", "t-amy", {"fine": "1\n"})
    world.advance({".gitworker.toml": "[verify]\ncommand = ['make']\n"})
    session = world.session()
    with pytest.raises(Invalid, match="did you mean verify.commands") as refused:
        merge(session, ["amy"])
    assert refused.value.hint == "git worker doctor"
    with pytest.raises(Invalid):
        verify_once(session, Oid(world.tip()), label="it")
    assert world.states("amy", "t-amy")[0] == "APPROVED"
    world.spawn("bob", "t-bob")
    world.advance({".gitworker.toml": "[verify]\ncommands = []\n"})
    assert landed(world.merge("amy")) == ["amy"]


def test_workers_stacked_on_each_other_by_former_tasks(world: World) -> None:
    """Stacks of former tasks do not block a landing."""
    world.approved("amy", "t1", {"a": "1\n"})
    world.spawn("bob", "t2", start="amy")
    start(world.session(), "bob", pid=None)
    world.commit("bob", {"b": "1\n"})
    world.submit("bob")
    world.land("amy")
    world.spawn("amy", "t3", start="bob")
    start(world.session(), "amy", pid=None)
    world.commit("amy", {"c": "1\n"})
    world.submit("amy")
    world.approve("bob")
    world.approve("amy")
    assert [one.error for one in plan(world.session(), [], everything=True)] == [None, None]
    assert sorted(landed(world.merge(everything=True))) == ["amy", "bob"]


def test_a_commit_just_before_the_target_moves(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that the user makes on the target just before it moves stays below the landing."""
    world.approved("amy", "t-amy", {"amy": "1\n"})
    real = shutil.which("git")
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" merge --ff-only "*) mkdir {tmp_path}/once &&'
        f' {real} -C "$2" commit -q --allow-empty -m Own;; esac >/dev/null 2>&1\n'
        f'exec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    world.land("amy")
    assert world.git("log", "--format=%s", "main").split() == ["Work", "Own", "Start"]


def test_a_collision_with_user_files_costs_no_runs(verified: World) -> None:
    """A worker that collides with the user's files is found before anything is verified."""
    for name in ("amy", "bob", "cat", "dan"):
        verified.approved(name, f"t-{name}", {name: "1\n"})
    (verified.root / "bob").write_text("the user's\n")
    results = verified.merge(everything=True)
    assert landed(results) == ["amy", "cat", "dan"]
    assert codes(results) == {"bob": "would_overwrite"}
    assert count_runs(verified) == 1
    assert (verified.root / "bob").read_text() == "the user's\n"


def test_a_checkout_that_is_busy_stops_all_at_once(verified: World) -> None:
    """An obstacle to all workers is found before anything is verified, and reported for each."""
    for name in ("amy", "bob"):
        verified.approved(name, f"t-{name}", {name: "1\n"})
    lock = verified.root / ".git/index.lock"
    lock.touch()
    assert codes(verified.merge(everything=True)) == dict.fromkeys(("amy", "bob"), "index_locked")
    assert count_runs(verified) == 0
    lock.unlink()
    assert landed(verified.merge(everything=True)) == ["amy", "bob"]


def test_a_worker_that_adds_nothing_to_the_failure(verified: World) -> None:
    """Of two workers with the same bad work only the first is blamed, after one run."""
    for name in ("amy", "bob"):
        verified.in_review(name, f"t-{name}", {"bad": "1\n"})
    for name in ("amy", "bob"):
        verified.approve(name)
    found = plan(verified.session(), [], everything=True)
    assert found[0].commit == found[1].commit
    results = verified.merge(everything=True, windows=1)
    assert codes(results) == {"amy": "verify_failed"}
    assert count_runs(verified) == 2


def test_a_worker_that_another_merge_landed(world: World) -> None:
    """A worker that another merge lands during the wait is reported as landed."""
    world.approved("amy", "t-amy", {"a": "1\n"})

    class Turn:
        """Land amy at the moment at which the other merge reports that it waits."""

        def __call__(self, event: Event, /) -> None:
            if isinstance(event, Notice):
                held.kill()
                held.wait()
                assert landed(world.merge("amy")) == ["amy"]

    script = (
        "import sys, time; from gitworker.repo.plumbing.repository_lock import hold\n"
        "with hold(sys.argv[1], name='queue'):\n    print('held', flush=True); time.sleep(600)\n"
    )
    argv = [sys.executable, "-c", script, world.session().queue_lock]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"held\n"
        assert landed(world.merge("amy", report=Turn())) == ["amy"]
    assert world.query("SELECT COUNT(*) FROM landings") == [(1,)]


def test_killed_after_the_push(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A landing that a killed merge pushed is reported by the next one, even without a remote."""
    bare = tmp_path / "bare.git"
    Repo(tmp_path).git("clone", "-q", "--bare", str(world.root), str(bare))
    world.git("remote", "add", "origin", str(bare))
    world.git("fetch", "-q", "origin")
    world.approved("amy", "t-amy", {"a": "1\n"})
    monkeypatch.setenv("GITWORKER_MERGE_REMOTE", "origin")
    world.drive("merge", "amy", GITWORKER_CRASH_AT="merge.pushed")
    monkeypatch.delenv("GITWORKER_MERGE_REMOTE")
    assert landed(world.merge("amy")) == ["amy"]
    assert world.tip() == Repo(bare).git("rev-parse", "main")


def test_a_worker_cannot_certify_itself(verified: World) -> None:
    """A result from a worker's own shell does not count: the commands run again."""
    place = verified.approved("amy", "t-amy", {"a": "1\n"})
    verify_once(verified.session(place), Oid(verified.tip("amy/t-amy")), label="amy")
    assert count_runs(verified) == 1
    verified.land("amy")
    assert count_runs(verified) == 2


def test_a_target_that_failed_is_asked_first(verified: World) -> None:
    """If the target failed before, a failed window is not searched for a culprit."""
    for name in ("amy", "bob", "cat", "dan"):
        verified.approved(name, f"t-{name}", {name: "1\n"})
    verified.advance({"bad": "1\n"})
    verified.merge(everything=True)
    before = count_runs(verified)
    assert set(codes(verified.merge(everything=True)).values()) == {"target_fails"}
    assert count_runs(verified) == before + 2  # the window, and the target
    verified.git("rm", "-q", "bad")
    verified.git("commit", "-qm", "Mend")
    assert len(landed(verified.merge(everything=True))) == 4


def test_a_repair_of_the_target_lands(verified: World) -> None:
    """A failing target is repaired through the queue: the window with the repair passes."""
    verified.advance({"bad": "1\n"})
    verified.approved("amy", "t-amy", {"a": "1\n"})
    verified.working("bob", "t-bob", {"b": "1\n"})
    place = verified.path("bob")
    verified.git("rm", "-q", "bad", cwd=place)
    verified.git("commit", "-qm", "Mend", cwd=place)
    verified.submit("bob")
    verified.approve("bob")
    assert landed(verified.merge(everything=True)) == ["amy", "bob"]
    assert count_runs(verified) == 1


def test_an_undone_landing_waits_for_a_person(world: World) -> None:
    """A queue without a person leaves an undone landing approved; a named merge lands it."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    undo(world.session())
    world.approved("docs", "guide", {"b": "1\n"})
    results = world.merge(everything=True, windows=1, is_unattended=True)
    assert [one.worker_id for one in results] == ["docs"]
    assert world.worker("auth").state == "APPROVED"
    with world.session().store.read() as reader:
        (entry,) = read_queue_status(reader, 0, is_running=False).entries
    assert (entry.worker_id, entry.is_held) == ("auth", True)
    (need,) = read_needs(world.session(), limit=9).items
    assert (need.source, need.command) == ("auth", "git worker merge auth")
    assert need.text == "login is approved, and its landing waits for you since an undo"
    assert world.land("auth").worker_id == "auth"
