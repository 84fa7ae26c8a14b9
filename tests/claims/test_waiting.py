"""Waiting for a claim: until it is released, until its lease ends, or until the time is over."""

import math
import re
import subprocess
import sys

import pytest

from gitworker import clock
from gitworker.claims import holder
from gitworker.errors import Conflict
from tests.claims.scene import Scene, refused
from tests.store.support import ROOT, participant

OTHER = """
import sys
from gitworker.claims import Claims
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
paths = StatePaths(sys.argv[1])
claims = Claims(open_database(paths.database), paths, holder="docs")
print("ready", flush=True)
claim = claims.take(sys.argv[2], wait_s=30)
print(claim.epoch, flush=True)
"""


def waiter(scene: Scene, name: str) -> "subprocess.Popen[str]":
    """Start a process that waits for a claim as `docs`, and return once it is about to wait."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, scene.paths.root, name], cwd=ROOT, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("by", ["us", "a foreign program"])
def test_woken_by_a_release(scene: Scene, by: str) -> None:
    """A waiter gets a released claim, whether our program or a foreign one released it."""
    scene.of("auth").take("x:db")
    process = waiter(scene, "x:db")
    if by == "us":
        scene.of("auth").release("x:db")
    else:
        participant(scene.paths.root, "release", "x:db", "auth")
    output, _ = process.communicate(timeout=30)
    assert output == "2\n"
    assert [row[:3] for row in scene.claims()] == [("x:db", "docs", 2)]


def test_until_the_lease_ends(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A waiter takes over when the lease ends, without polling before."""
    monkeypatch.setattr(holder, "MAX_WAIT_S", 60.0)
    until_ms = clock.monotonic_ms() + 300
    scene.of("auth").take("path:src/**", ttl_s=0.3)
    claim = scene.of("docs").take("path:src/a", wait_s=30)
    assert claim.holder == "docs"
    assert until_ms <= clock.monotonic_ms() < until_ms + 30_000


def test_the_time_is_over(scene: Scene) -> None:
    """A wait in vain ends with the same refusal as no wait."""
    scene.of("auth").take("x:db", ttl_s=6000)
    begun_ms = clock.monotonic_ms()
    with pytest.raises(Conflict) as caught:
        scene.of("docs").take("x:db", wait_s=0.2)
    assert clock.monotonic_ms() - begun_ms >= 200
    assert caught.value.code == "claimed"
    with refused("claimed"):
        scene.of("docs").take("x:db", wait_s=math.nan)
    match = re.match(r"x:db is claimed by auth for another (\d+) s, until ", caught.value.message)
    assert match is not None
    assert 5900 < int(match[1]) <= 6000


def test_no_wait_for_an_unknown_task(scene: Scene) -> None:
    """A claim on an unknown task is refused without a wait."""
    with refused("not_found"):
        scene.of("docs").take("t1", wait_s=3600)
