"""A review whose sender or reader is killed is sent as a whole or not at all, and never lost."""

import json
import os
import random
import signal
import subprocess
import sys

import pytest

from gitworker.review.comments.draft import comment
from gitworker.review.comments.send import CHANGES_REQUESTED, COMMENTED, send
from gitworker.store.reviewing.comments import is_read
from tests.review.kit import begin, comments
from tests.workers.world import World

KILLED = -9


@pytest.mark.parametrize("verdict", [COMMENTED, CHANGES_REQUESTED])
@pytest.mark.parametrize(("point", "is_sent"), [("review.published", False), ("review.sent", True)])
def test_a_killed_sender(world: World, verdict: str, point: str, is_sent: bool) -> None:
    """Before the end of the transaction all comments stay drafts; after it all are delivered."""
    begin(world)
    for place in ("code.py:5", "code.py:30"):
        comment(world.session(), "auth", place, text="why?")
    done = world.drive("send_review", "auth", verdict, GITWORKER_CRASH_AT=point)
    assert done.returncode == KILLED, (done.stdout, done.stderr)
    assert {one.state for one in comments(world)} == {"sent" if is_sent else "draft"}
    assert len(world.messages("review_result")) == is_sent
    if not is_sent:
        send(world.session(), "auth", verdict=verdict)
    (result,) = world.messages("review_result")
    assert [one["number"] for one in result["comments"]] == [1, 2]
    state = "WORKING" if verdict == CHANGES_REQUESTED else "IN_REVIEW"
    assert world.states("auth", "login")[0] == state


def test_a_killed_reader(world: World) -> None:
    """A reader that is killed at any moment gets the comments again, until it has acknowledged."""
    begin(world)
    comment(world.session(), "auth", "code.py:5", text="why?")
    send(world.session(), "auth")
    place = world.path("auth")
    seed = int(os.environ.get("GITWORKER_TEST_SEED", "7"))
    dice = random.Random(seed)
    scale = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
    words = [sys.executable, "-m", "gitworker", "msg", "poll"]
    for _ in range(int(4 * scale)):
        with subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE) as reader:
            try:
                out, _ = reader.communicate(timeout=dice.random() * 0.6)
            except subprocess.TimeoutExpired:
                reader.send_signal(signal.SIGKILL)
                out, _ = reader.communicate()
        with world.session().store.read() as stored:
            (one,) = comments(world)
            has_read = is_read(stored, one)
        if has_read:
            assert _numbers(out) == [1], f"acknowledged without output, seed {seed}"
            return
    done = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, check=True)
    assert _numbers(done.stdout) == [1]


def _numbers(out: bytes) -> list[int]:
    """Return the numbers of the comments in the output of `msg poll`."""
    found = [json.loads(line) for line in out.splitlines() if line.endswith(b"}")]
    results = [one["payload"] for one in found if one["type"] == "review_result"]
    return [each["number"] for one in results for each in one["comments"]]
