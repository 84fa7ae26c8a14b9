"""Runs of the verify commands: their environment, the record of a run, and the cache."""

import os
from pathlib import Path

import pytest

from gitworker.errors import NotFound, Refused, Unavailable
from gitworker.model.ids import Oid
from gitworker.progress import Event, VerificationNotice, Verifying
from gitworker.verify.verify import Verifier
from tests.store.disks import fill, small_disk
from tests.verify.scene import EXACT, VerifyScene, output, run


def test_a_pass(scene: VerifyScene) -> None:
    """Commands run in order in a clean worktree at the commit, and the pass is recorded."""
    scene.set("cat README", "git rev-parse HEAD", EXACT)
    events: list[Event] = []
    verdict = scene.verify(report=events.append)
    shown = [event.text for event in events if isinstance(event, VerificationNotice)]
    assert (verdict.passed, verdict.cached, verdict.flaky, verdict.reason) == (
        True, False, False, "",
    )  # fmt: skip
    assert scene.runs() == [(scene.tip(), "passed", 0, "")]
    assert shown[0] == "verifying it"
    assert shown[1].startswith("it: passed after ")
    assert scene.world.git("status", "--porcelain", "--untracked-files=all") == ""


def test_the_log(scene: VerifyScene) -> None:
    """The log names the verified commit, each command with its output in order, and the verdict."""
    scene.set("echo one; echo two >&2; echo three", "exit 3", "echo never")
    verdict = scene.verify()
    assert verdict.reason == "`exit 3` ended with status 3"
    lines = output(verdict).splitlines()
    tree = scene.world.git("rev-parse", "main^{tree}")
    assert lines[:2] == [f"commit   {scene.tip()}  (it)", f"tree     {tree}"]
    assert lines[3:13] == [
        "commands",
        "    echo one; echo two >&2; echo three",
        "    exit 3",
        "    echo never",
        "",
        "$ echo one; echo two >&2; echo three",
        "one",
        "two",
        "three",
        "",
    ]
    assert lines[13:15] == ["$ exit 3", ""]
    assert lines[15].startswith("failed after ")
    assert lines[15].endswith(" s: `exit 3` ended with status 3")
    assert len(lines) == 16
    assert Path(verdict.log).parent == scene.world.state_dir / "logs" / "verify"
    assert os.stat(verdict.log).st_mode & 0o77 == 0


def test_two_logs_of_one_second(scene: VerifyScene) -> None:
    """Each run has a log of its own, of the same tree in the same second too."""
    scene.set("false")
    with Verifier(scene.session()) as verifier:
        logs = {run(verifier, scene.tip()).log for _ in range(3)}
    assert len(logs) == 3


def test_environment(scene: VerifyScene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands get no input, no git variables of another repository, and the declared variables."""
    seen = tmp_path / "seen"
    scene.set(f"test ! -s /dev/stdin && env >{seen} && pwd >>{seen}", verify_env="CI=1\nHOME\nNONE")
    session = scene.session()
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'user.name=x'")
    monkeypatch.setenv("PASSED", "on")
    with Verifier(session) as verifier:
        assert run(verifier, scene.tip()).passed
    lines = seen.read_text().splitlines()
    place = str(scene.trees / "1")
    assert {"CI=1", "GITWORKER_VERIFY=1", "PASSED=on", f"PWD={place}", place} <= set(lines)
    assert f"HOME={os.environ['HOME']}" in lines
    assert not [line for line in lines if line.startswith(("GIT_INDEX", "GIT_CONFIG_P", "NONE="))]


def test_a_known_tree_starts_nothing(
    scene: VerifyScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree that passed is not run again whatever commit carries it, and asking costs no run."""
    scene.set("true")
    passed = scene.verify()
    same = scene.commit({}, "The same tree")
    session = scene.session()
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    with Verifier(session) as verifier:
        known = verifier.known(scene.tip("main~1"))
        assert known == passed._replace(cached=True)
        assert not trace.exists()
        assert verifier.known(same) == known
        assert verifier.known(same) == known
    assert len(trace.read_text().splitlines()) == 1  # which tree that commit has
    assert len(scene.runs()) == 1


def test_conditions_of_a_verdict(scene: VerifyScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other commands or another declared value ask again, any other variable does not."""
    monkeypatch.setenv("DECLARED", "1")
    scene.set("true", verify_env="DECLARED")
    scene.verify()

    def is_known() -> bool:
        with Verifier(scene.session()) as verifier:
            return verifier.known(scene.tip()) is not None

    assert is_known()
    monkeypatch.setenv("UNDECLARED", "2")
    assert is_known()
    monkeypatch.setenv("DECLARED", "2")
    assert not is_known()
    monkeypatch.setenv("DECLARED", "1")
    assert is_known()
    scene.set("true", "true")
    assert not is_known()


def test_only_a_pass_is_known(scene: VerifyScene, tmp_path: Path) -> None:
    """A failure is run again, and a tree that has failed since its pass is no longer known."""
    scene.set(f"test -e {tmp_path}/there")
    tip = scene.tip()
    with Verifier(scene.session()) as verifier:
        assert not run(verifier, tip).passed
        assert verifier.known(tip) is None
        (tmp_path / "there").touch()
        assert run(verifier, tip).passed
        assert verifier.known(tip) is not None
        (tmp_path / "there").unlink()
        assert not run(verifier, tip).passed
        assert verifier.known(tip) is None


def test_nothing_to_run(scene: VerifyScene) -> None:
    """Without commands every commit passes at once, and none is recorded."""
    with Verifier(scene.session()) as verifier:
        known = verifier.known(scene.tip())
        assert verifier.wait() is None
    assert known is not None
    assert (known.passed, known.log) == (True, "")
    assert scene.runs() == []


def test_flaky(scene: VerifyScene, tmp_path: Path) -> None:
    """A failed run is repeated once, in a clean worktree, and a pass then is reported as flaky."""
    mark = tmp_path / "mark"
    scene.set(f"test ! -e left && touch left && test -e {mark} || {{ touch {mark}; exit 7; }}")
    scene.set(os.environ["GITWORKER_VERIFY_COMMANDS"], verify_retry_flaky=True)
    events: list[Event] = []
    verdict = scene.verify(report=events.append)
    shown = [event.text for event in events if isinstance(event, VerificationNotice)]
    assert (verdict.passed, verdict.flaky) == (True, True)
    assert scene.runs() == [(scene.tip(), "passed", 1, "")]
    assert len(shown) == 3
    assert "running it once more" in shown[1]
    assert shown[2].startswith("it: passed the second time after ")
    assert output(verdict).count("\n$ test") == 2
    with Verifier(scene.session()) as verifier:
        known = verifier.known(scene.tip())
    assert known is not None
    assert known.flaky


def test_failed_twice(scene: VerifyScene) -> None:
    """A run that fails the second time as well has failed, and is not repeated again."""
    scene.set("echo ran; false", verify_retry_flaky=True)
    verdict = scene.verify()
    assert (verdict.passed, verdict.flaky) == (False, False)
    assert output(verdict).count("\nran\n") == 2
    assert scene.runs() == [(scene.tip(), "failed", 0, "`echo ran; false` ended with status 1")]


def test_several_at_once(scene: VerifyScene, tmp_path: Path) -> None:
    """As many runs are active as merge.parallel allows, each in its own worktree; others wait."""
    first, second, third = (scene.commit({"n": f"{n}\n"}) for n in range(3))
    meet = (
        f"pwd >>{tmp_path}/places; cat n >>{tmp_path}/met; until [ $(wc -l <{tmp_path}/met) -ge 2 ]"
    )
    scene.set(f"{meet}; do sleep 0.01; done", merge_parallel=2)
    with Verifier(scene.session()) as verifier:
        for commit in (first, second, third, first):
            verifier.start(commit, label=commit[:4])
        assert list(verifier.running) == [first, second, third]
        assert [bool(run.log) for run in verifier.running.values()] == [True, True, False]
        ended = [verifier.wait(60) for _ in range(3)]
        assert verifier.wait() is None
    assert all(one is not None and one[1].passed for one in ended)
    assert {one[0] for one in ended if one} == {first, second, third}
    assert len(set((tmp_path / "places").read_text().split()[:2])) == 2
    assert sorted(os.listdir(scene.trees)) == [".gitignore", "1", "2"]


def test_waiting_is_bounded(scene: VerifyScene) -> None:
    """A wait ends after its time limit, shows the running commands, and the run continues."""
    scene.set("exec sleep 300")
    events: list[Event] = []
    with Verifier(scene.session(report=events.append)) as verifier:
        verifier.start(scene.tip(), label="auth, +3")
        assert verifier.wait(0.05) is None
        assert len(verifier.running) == 1
    runs = [run for event in events if isinstance(event, Verifying) for run in event.runs]
    assert {(one.label, one.command) for one in runs} == {("auth, +3", "exec sleep 300")}
    assert scene.runs() == []


def test_cancel(scene: VerifyScene) -> None:
    """A cancelled run leaves no verdict, a note in the log, and a worktree for the next run."""
    scene.set("test -e quick || exec sleep 300")
    quick = scene.commit({"quick": ""})
    with Verifier(scene.session()) as verifier:
        verifier.start(scene.tip("main~1"), label="slow")
        log = Path(next(iter(verifier.running.values())).log)
        verifier.start(quick, label="quick")
        verifier.cancel(scene.tip("main~1"))
        verifier.cancel(scene.tip("main~1"))
        ended = verifier.wait(60)
        assert ended is not None
        assert ended[0] == quick
        assert ended[1].passed
    assert log.read_text().splitlines()[-1].startswith("cancelled after ")
    assert [row[0] for row in scene.runs()] == [quick]
    assert sorted(os.listdir(scene.trees)) == [".gitignore", "1"]


def test_untrusted(scene: VerifyScene) -> None:
    """Commands that the repository brings start only with the user's agreement."""
    scene.commit({".gitworker.toml": '[verify]\ncommands = ["touch ran"]\n'})
    with Verifier(scene.session()) as verifier, pytest.raises(Refused) as caught:
        verifier.start(scene.tip(), label="it")
    assert (caught.value.code, caught.value.hint) == ("untrusted", "git worker trust")
    assert not scene.trees.exists()
    assert not (scene.world.state_dir / "logs" / "verify").exists()


def test_other_settings(scene: VerifyScene) -> None:
    """A verifier that follows another session runs its commands."""
    scene.set("false")
    with Verifier(scene.session()) as verifier:
        assert not run(verifier, scene.tip()).passed
        scene.set("true")
        verifier.follow(scene.session())
        assert run(verifier, scene.tip()).passed


def test_no_such_commit(scene: VerifyScene) -> None:
    """A commit that does not exist is not found, and blocks nothing."""
    scene.set("true")
    with Verifier(scene.session()) as verifier:
        with pytest.raises(NotFound):
            verifier.start(Oid("1" * 40), label="it")
        assert not verifier.running
        assert run(verifier, scene.tip()).passed


def test_a_full_disk_blames_no_worker(scene: VerifyScene, tmp_path: Path) -> None:
    """A run that fails on a full disk is an error with a hint, and no verdict is recorded."""
    with small_disk(tmp_path / "disk", size_kib=4096) as disk:
        scene.set(f"cat /dev/zero >{disk}/worktrees/filler", worktree_root=f"{disk}/worktrees")
        with Verifier(scene.session()) as verifier:
            verifier.start(scene.tip(), label="it")
            with pytest.raises(Unavailable) as caught:
                verifier.wait(60)
            assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
            assert not verifier.running
        assert scene.runs() == []


def test_no_room_for_a_worktree(scene: VerifyScene, tmp_path: Path) -> None:
    """If no worktree fits on the disk the error says so, and the next try finds no leftovers."""
    with small_disk(tmp_path / "disk", size_kib=2048) as disk:
        scene.set("true", worktree_root=f"{disk}/worktrees")
        tip = scene.commit({"large": os.urandom(1_000_000)})
        filler = fill(disk)
        with Verifier(scene.session()) as verifier:
            with pytest.raises(Unavailable) as caught:
                verifier.start(tip, label="it")
            assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
            filler.unlink()
            assert run(verifier, tip).passed
