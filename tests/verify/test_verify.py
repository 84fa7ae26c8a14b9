"""Runs of the verify commands: their environment, the record of a run, and the cache."""

import os
from pathlib import Path

import pytest

from gitworker.errors import NotFound, Refused, Unavailable
from gitworker.model.ids import Oid
from gitworker.verify.verify import Verifier
from tests.store.disks import fill, small_disk
from tests.verify.bench import EXACT, Bench, output, run


def test_a_pass(bench: Bench) -> None:
    """Commands run in order in a clean worktree at the commit, and the pass is recorded."""
    bench.set("cat README", "git rev-parse HEAD", EXACT)
    shown: list[str] = []
    verdict = bench.verify(tell=shown.append)
    assert (verdict.passed, verdict.cached, verdict.flaky, verdict.reason) == (
        True, False, False, "",
    )  # fmt: skip
    assert bench.runs() == [(bench.tip(), "passed", 0, "")]
    assert shown[0] == "verifying it"
    assert shown[1].startswith("it: passed after ")
    assert bench.world.git("status", "--porcelain", "--untracked-files=all") == ""


def test_the_log(bench: Bench) -> None:
    """The log names the verified commit, each command with its output in order, and the verdict."""
    bench.set("echo one; echo two >&2; echo three", "exit 3", "echo never")
    verdict = bench.verify()
    assert verdict.reason == "`exit 3` ended with status 3"
    lines = output(verdict).splitlines()
    tree = bench.world.git("rev-parse", "main^{tree}")
    assert lines[:2] == [f"commit   {bench.tip()}  (it)", f"tree     {tree}"]
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
    assert Path(verdict.log).parent == bench.world.state_dir / "logs" / "verify"
    assert os.stat(verdict.log).st_mode & 0o77 == 0


def test_two_logs_of_one_second(bench: Bench) -> None:
    """Each run has a log of its own, of the same tree in the same second too."""
    bench.set("false")
    with Verifier(bench.session()) as verifier:
        logs = {run(verifier, bench.tip()).log for _ in range(3)}
    assert len(logs) == 3


def test_environment(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands get no input, no git variables of another repository, and the declared variables."""
    seen = tmp_path / "seen"
    bench.set(f"test ! -s /dev/stdin && env >{seen} && pwd >>{seen}", verify_env="CI=1\nHOME\nNONE")
    session = bench.session()
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'user.name=x'")
    monkeypatch.setenv("PASSED", "on")
    with Verifier(session) as verifier:
        assert run(verifier, bench.tip()).passed
    lines = seen.read_text().splitlines()
    place = str(bench.trees / "1")
    assert {"CI=1", "GITWORKER_VERIFY=1", "PASSED=on", f"PWD={place}", place} <= set(lines)
    assert f"HOME={os.environ['HOME']}" in lines
    assert not [line for line in lines if line.startswith(("GIT_INDEX", "GIT_CONFIG_P", "NONE="))]


def test_a_known_tree_starts_nothing(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree that passed is not run again whatever commit carries it, and asking costs no run."""
    bench.set("true")
    passed = bench.verify()
    same = bench.commit({}, "The same tree")
    session = bench.session()
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    with Verifier(session) as verifier:
        known = verifier.known(bench.tip("main~1"))
        assert known == passed._replace(cached=True)
        assert not trace.exists()
        assert verifier.known(same) == known
        assert verifier.known(same) == known
    assert len(trace.read_text().splitlines()) == 1  # which tree that commit has
    assert len(bench.runs()) == 1


def test_conditions_of_a_verdict(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other commands or another declared value ask again, any other variable does not."""
    monkeypatch.setenv("DECLARED", "1")
    bench.set("true", verify_env="DECLARED")
    bench.verify()

    def is_known() -> bool:
        with Verifier(bench.session()) as verifier:
            return verifier.known(bench.tip()) is not None

    assert is_known()
    monkeypatch.setenv("UNDECLARED", "2")
    assert is_known()
    monkeypatch.setenv("DECLARED", "2")
    assert not is_known()
    monkeypatch.setenv("DECLARED", "1")
    assert is_known()
    bench.set("true", "true")
    assert not is_known()


def test_only_a_pass_is_known(bench: Bench, tmp_path: Path) -> None:
    """A failure is run again, and a tree that has failed since its pass is no longer known."""
    bench.set(f"test -e {tmp_path}/there")
    tip = bench.tip()
    with Verifier(bench.session()) as verifier:
        assert not run(verifier, tip).passed
        assert verifier.known(tip) is None
        (tmp_path / "there").touch()
        assert run(verifier, tip).passed
        assert verifier.known(tip) is not None
        (tmp_path / "there").unlink()
        assert not run(verifier, tip).passed
        assert verifier.known(tip) is None


def test_nothing_to_run(bench: Bench) -> None:
    """Without commands every commit passes at once, and none is recorded."""
    with Verifier(bench.session()) as verifier:
        known = verifier.known(bench.tip())
        assert verifier.wait() is None
    assert known is not None
    assert (known.passed, known.log) == (True, "")
    assert bench.runs() == []


def test_flaky(bench: Bench, tmp_path: Path) -> None:
    """A failed run is repeated once, in a clean worktree, and a pass then is reported as flaky."""
    mark = tmp_path / "mark"
    bench.set(f"test ! -e left && touch left && test -e {mark} || {{ touch {mark}; exit 7; }}")
    bench.set(os.environ["GITWORKER_VERIFY_COMMANDS"], verify_retry_flaky=True)
    shown: list[str] = []
    verdict = bench.verify(tell=shown.append)
    assert (verdict.passed, verdict.flaky) == (True, True)
    assert bench.runs() == [(bench.tip(), "passed", 1, "")]
    assert len(shown) == 3
    assert "running it once more" in shown[1]
    assert shown[2].startswith("it: passed the second time after ")
    assert output(verdict).count("\n$ test") == 2
    with Verifier(bench.session()) as verifier:
        known = verifier.known(bench.tip())
    assert known is not None
    assert known.flaky


def test_failed_twice(bench: Bench) -> None:
    """A run that fails the second time as well has failed, and is not repeated again."""
    bench.set("echo ran; false", verify_retry_flaky=True)
    verdict = bench.verify()
    assert (verdict.passed, verdict.flaky) == (False, False)
    assert output(verdict).count("\nran\n") == 2
    assert bench.runs() == [(bench.tip(), "failed", 0, "`echo ran; false` ended with status 1")]


def test_several_at_once(bench: Bench, tmp_path: Path) -> None:
    """As many runs are active as merge.parallel allows, each in its own worktree; others wait."""
    first, second, third = (bench.commit({"n": f"{n}\n"}) for n in range(3))
    meet = (
        f"pwd >>{tmp_path}/places; cat n >>{tmp_path}/met; until [ $(wc -l <{tmp_path}/met) -ge 2 ]"
    )
    bench.set(f"{meet}; do sleep 0.01; done", merge_parallel=2)
    with Verifier(bench.session()) as verifier:
        for commit in (first, second, third, first):
            verifier.start(commit, label=commit[:4])
        assert list(verifier.running) == [first, second, third]
        assert [bool(run.log) for run in verifier.running.values()] == [True, True, False]
        ended = [verifier.wait(60) for _ in range(3)]
        assert verifier.wait() is None
    assert all(one is not None and one[1].passed for one in ended)
    assert {one[0] for one in ended if one} == {first, second, third}
    assert len(set((tmp_path / "places").read_text().split()[:2])) == 2
    assert sorted(os.listdir(bench.trees)) == [".gitignore", "1", "2"]


def test_waiting_is_bounded(bench: Bench) -> None:
    """A wait ends after its time limit, shows the running commands, and the run continues."""
    bench.set("exec sleep 300")
    shown = []
    with Verifier(bench.session(), show=lambda runs: shown.extend(runs)) as verifier:
        verifier.start(bench.tip(), label="auth, +3")
        assert verifier.wait(0.05) is None
        assert len(verifier.running) == 1
    assert {(one.label, one.command) for one in shown} == {("auth, +3", "exec sleep 300")}
    assert bench.runs() == []


def test_cancel(bench: Bench) -> None:
    """A cancelled run leaves no verdict, a note in the log, and a worktree for the next run."""
    bench.set("test -e quick || exec sleep 300")
    quick = bench.commit({"quick": ""})
    with Verifier(bench.session()) as verifier:
        verifier.start(bench.tip("main~1"), label="slow")
        log = Path(next(iter(verifier.running.values())).log)
        verifier.start(quick, label="quick")
        verifier.cancel(bench.tip("main~1"))
        verifier.cancel(bench.tip("main~1"))
        ended = verifier.wait(60)
        assert ended is not None
        assert ended[0] == quick
        assert ended[1].passed
    assert log.read_text().splitlines()[-1].startswith("cancelled after ")
    assert [row[0] for row in bench.runs()] == [quick]
    assert sorted(os.listdir(bench.trees)) == [".gitignore", "1"]


def test_untrusted(bench: Bench) -> None:
    """Commands that the repository brings start only with the user's agreement."""
    bench.commit({".gitworker.toml": '[verify]\ncommands = ["touch ran"]\n'})
    with Verifier(bench.session()) as verifier, pytest.raises(Refused) as caught:
        verifier.start(bench.tip(), label="it")
    assert (caught.value.code, caught.value.hint) == ("untrusted", "git worker trust")
    assert not bench.trees.exists()
    assert not (bench.world.state_dir / "logs" / "verify").exists()


def test_other_settings(bench: Bench) -> None:
    """A verifier that follows another session runs its commands."""
    bench.set("false")
    with Verifier(bench.session()) as verifier:
        assert not run(verifier, bench.tip()).passed
        bench.set("true")
        verifier.follow(bench.session())
        assert run(verifier, bench.tip()).passed


def test_no_such_commit(bench: Bench) -> None:
    """A commit that does not exist is not found, and blocks nothing."""
    bench.set("true")
    with Verifier(bench.session()) as verifier:
        with pytest.raises(NotFound):
            verifier.start(Oid("1" * 40), label="it")
        assert not verifier.running
        assert run(verifier, bench.tip()).passed


def test_a_full_disk_blames_no_worker(bench: Bench, tmp_path: Path) -> None:
    """A run that fails on a full disk is an error with a hint, and no verdict is recorded."""
    with small_disk(tmp_path / "disk", size_kib=4096) as disk:
        bench.set(f"cat /dev/zero >{disk}/worktrees/filler", worktree_root=f"{disk}/worktrees")
        with Verifier(bench.session()) as verifier:
            verifier.start(bench.tip(), label="it")
            with pytest.raises(Unavailable) as caught:
                verifier.wait(60)
            assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
            assert not verifier.running
        assert bench.runs() == []


def test_no_room_for_a_worktree(bench: Bench, tmp_path: Path) -> None:
    """If no worktree fits on the disk the error says so, and the next try finds no leftovers."""
    with small_disk(tmp_path / "disk", size_kib=2048) as disk:
        bench.set("true", worktree_root=f"{disk}/worktrees")
        tip = bench.commit({"large": os.urandom(1_000_000)})
        filler = fill(disk)
        with Verifier(bench.session()) as verifier:
            with pytest.raises(Unavailable) as caught:
                verifier.start(tip, label="it")
            assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
            filler.unlink()
            assert run(verifier, tip).passed
