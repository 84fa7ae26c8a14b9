"""The landing queue if the commits of one worker, not its code, block the other workers."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.landing.merge import Landed, NotLanded, merge
from tests.store.disks import small_disk
from tests.workers.world import World

NAMES = ("amy", "bob", "cat", "dan")


@pytest.fixture
def verified(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a repository whose target is verified by a command of its user's."""
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", "true")
    return world


@pytest.fixture
def declining(
    verified: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Repo]:
    """Return a function that gives the remote a hook that declines certain paths."""

    def make(pattern: str) -> Repo:
        monkeypatch.setenv("GITWORKER_MERGE_REMOTE", "origin")
        bare = tmp_path / "bare.git"
        Repo(tmp_path).git("clone", "-q", "--bare", str(verified.root), str(bare))
        verified.git("remote", "add", "origin", str(bare))
        hook = bare / "hooks" / "pre-receive"
        hook.write_text(
            f'#!/bin/sh\nread old new ref\n! git diff --name-only "$old" "$new" | grep {pattern}\n'
        )
        hook.chmod(0o755)
        return Repo(bare)

    return make


def landed(results: list[Landed | NotLanded]) -> list[str]:
    """Return the workers that landed."""
    return [result.worker_id for result in results if isinstance(result, Landed)]


def codes(results: list[Landed | NotLanded]) -> dict[str, str]:
    """Return the error code of each worker that did not land."""
    return {one.worker_id: one.error.code for one in results if isinstance(one, NotLanded)}


@pytest.mark.parametrize(("bad", "parallel"), [("amy", "1"), ("cat", "1"), ("cat", "3")])
def test_commits_that_cannot_be_checked_out(
    verified: World, monkeypatch: pytest.MonkeyPatch, bad: str, parallel: str
) -> None:
    """A commit that git cannot check out stops only its own worker, which is not blamed."""
    monkeypatch.setenv("GITWORKER_MERGE_PARALLEL", parallel)
    verified.git("config", "filter.need.required", "true")
    verified.git("config", "filter.need.clean", "cat")
    verified.git("config", "filter.need.smudge", "false")
    for name in NAMES:
        files = {name: "1\n"}
        if name == bad:
            files |= {f"{name}.d/.gitattributes": "* filter=need\n", f"{name}.d/file": "1\n"}
        verified.approved(name, f"t-{name}", files)
    results = verified.merge(everything=True)
    assert landed(results) == [name for name in NAMES if name != bad]
    assert codes(results) == {bad: "unavailable"}
    assert verified.states(bad, f"t-{bad}")[0] == "APPROVED"
    verified.git("config", "filter.need.smudge", "cat")
    verified.land(bad)


def test_several_at_the_head_of_the_line(verified: World) -> None:
    """Workers that can never land do not block the workers behind them."""
    verified.git("config", "filter.need.required", "true")
    verified.git("config", "filter.need.clean", "cat")
    verified.git("config", "filter.need.smudge", "false")
    for name in NAMES:
        files = {f"{name}/.gitattributes": "* filter=need\n", f"{name}/file": "1\n"}
        verified.approved(name, f"t-{name}", files)
    verified.approved("eve", "t-eve", {"eve": "1\n"})
    for _ in range(40):  # each has a chance of two in five at least
        if landed(verified.merge(everything=True)) == ["eve"]:
            break
    assert verified.states("eve", "t-eve")[0] == "COMPLETED"


def test_nothing_can_be_checked_out(verified: World) -> None:
    """If the target cannot be checked out either, no worker is searched for a bad commit."""
    for name in NAMES[:2]:
        verified.approved(name, f"t-{name}", {name: "1\n"})
    root = verified.root / "worktrees" / ".verify"
    root.write_text("")
    results = verified.merge(everything=True)
    assert codes(results) == dict.fromkeys(NAMES[:2], "place_taken")
    (error,) = {id(one.error) for one in results if isinstance(one, NotLanded)}
    root.unlink()
    assert landed(verified.merge(everything=True)) == [*NAMES[:2]]


@pytest.mark.parametrize("greedy", ["bob", "all"])
def test_commands_that_fill_the_disk(
    verified: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, greedy: str
) -> None:
    """A disk that the commands fill is cleared, no worker is blamed, and the others land."""
    for name in NAMES:
        verified.approved(name, f"t-{name}", {name: "1\n"})
    condition = "true" if greedy == "all" else f"test -e {greedy}"
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", f"! {condition} || cat /dev/zero >filler")
    with small_disk(tmp_path / "disk", size_kib=4096) as disk:
        monkeypatch.setenv("GITWORKER_WORKTREE_ROOT", str(disk))
        results = verified.merge(everything=True)
        free = os.statvfs(disk)
        assert free.f_bavail * free.f_frsize > 2_000_000
    bad = NAMES if greedy == "all" else (greedy,)
    assert codes(results) == dict.fromkeys(bad, "disk")
    assert landed(results) == [name for name in NAMES if name not in bad]
    assert {verified.states(name, f"t-{name}")[0] for name in bad} == {"APPROVED"}
    assert len(verified.query("SELECT 1 FROM windows")) <= 3


def test_a_hook_that_minds_one(verified: World, declining: Callable[[str], Repo]) -> None:
    """If a remote hook declines the commits of one worker, the others land."""
    remote = declining("cat")
    for name in NAMES:
        verified.approved(name, f"t-{name}", {name: "1\n"})
    results = verified.merge(everything=True)
    assert landed(results) == ["amy", "bob", "dan"]
    assert codes(results) == {"cat": "remote_hook_declined"}
    assert verified.states("cat", "t-cat")[0] == "APPROVED"
    assert remote.git("rev-parse", "main") == verified.tip()


def test_a_hook_that_declines_several(verified: World, declining: Callable[[str], Repo]) -> None:
    """If a remote hook declines several workers in a row, the rest is not offered to it."""
    declining(".")
    for name in (*NAMES, "eve"):
        verified.approved(name, f"t-{name}", {name: "1\n"})
    before = verified.tip()
    results = verified.merge(everything=True, windows=1)
    assert codes(results) == dict.fromkeys((*NAMES, "eve"), "remote_hook_declined")
    assert len(verified.query("SELECT 1 FROM windows")) == 4
    assert verified.tip() == before


def test_one_window_at_a_time(world: World) -> None:
    """Landing one window at a time, as `queue --watch` does, progresses if a window is split."""
    for name in NAMES:
        world.approved(name, f"t-{name}", {name: "1\n"})
    lock = world.root / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    results = world.merge(everything=True, windows=1)
    assert codes(results) == {"amy": "merge_refused"}
    lock.unlink()
    assert landed(world.merge(everything=True, windows=1)) == [*NAMES]


def test_a_target_that_git_cannot_move(verified: World) -> None:
    """If git refuses to move the target for several workers in a row, the rest is not verified."""
    for name in (*NAMES, "eve", "fay"):
        verified.approved(name, f"t-{name}", {name: "1\n"})
    lock = verified.root / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    results = verified.merge(everything=True)
    assert codes(results) == dict.fromkeys((*NAMES, "eve", "fay"), "merge_refused")
    assert len(verified.query("SELECT 1 FROM verify_runs")) == 4
    lock.unlink()
    assert landed(verified.merge(everything=True)) == [*NAMES, "eve", "fay"]


def test_a_target_that_git_moves_for_one(world: World) -> None:
    """If an attempt costs no run, every worker is tried, however many moves git refuses."""
    world.git("config", "filter.need.required", "true")
    world.git("config", "filter.need.clean", "cat")
    world.git("config", "filter.need.smudge", "false")
    for name in NAMES:
        files = {f"{name}/.gitattributes": "* filter=need\n", f"{name}/file": "1\n"}
        world.approved(name, f"t-{name}", files)
    world.approved("eve", "t-eve", {"eve": "1\n"})
    results = world.merge(everything=True)
    assert landed(results) == ["eve"]
    assert codes(results) == dict.fromkeys(NAMES, "merge_refused")


def test_settings_that_name_an_unknown_remote(world: World) -> None:
    """Settings that would send every landing to a remote that git does not know do not land."""
    world.approved("amy", "t-amy", {".gitworker.toml": "[merge]\nremote = 'nowhere'\n"})
    world.approved("bob", "t-bob", {"bob": "1\n"})
    results = world.merge(everything=True)
    assert landed(results) == ["bob"]
    assert codes(results) == {"amy": "no_remote"}
    assert world.states("amy", "t-amy")[0] == "APPROVED"


@pytest.mark.parametrize("words", [("merge", "amy"), ("verify",)])
def test_a_verify_command_that_lands_or_verifies(
    verified: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A verify command that starts a landing or a verification is refused: it would never end."""
    said = tmp_path / "said"
    command = " ".join(verified.argv(*words))
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", f"! {command} >{said} 2>&1")
    monkeypatch.setenv("GITWORKER_VERIFY_TIMEOUT_S", "60")
    verified.approved("amy", "t-amy", {"amy": "1\n"})
    assert landed(merge(verified.session(), ["amy"])) == ["amy"]
    assert "inside_verify" in said.read_text()
