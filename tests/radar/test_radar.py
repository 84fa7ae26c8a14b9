"""The survey: the workers on the radar, and the conflicts between each two of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.errors import Refused
from gitworker.model.ids import Ref
from gitworker.radar.radar import survey
from tests.radar.radar_scene import TEXT, RadarScene, at_line
from tests.workers.world import World, without_heartbeat_daemon


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RadarScene]:
    """A repository without workers; our hooks there start no drain."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.advance({"f": TEXT})
    with without_heartbeat_daemon(world):
        yield RadarScene(world)


def test_everybody_with_everybody(scene: RadarScene) -> None:
    """Branches are compared with each other and with the target, those with the target first."""
    scene.working("auth", at_line(3, "auth"))
    scene.working("docs", at_line(3, "docs"))
    scene.working("ui", {**at_line(15, "ui"), "new": "1\n"})
    assert scene.clashes() == {("auth", "docs"): ("f",)}
    scene.world.advance({**at_line(15, "target"), "new": "2\n"})
    assert list(scene.clashes().items()) == [
        (("ui", "main"), ("f", "new")), (("auth", "docs"), ("f",)),
    ]  # fmt: skip
    assert len(scene.survey().meetings) == 6


def test_workers_on_the_radar(scene: RadarScene) -> None:
    """A worker that has no commits, has not begun, has failed or is done is not compared."""
    from gitworker.lifecycle.fail import fail

    world = scene.world
    scene.working("auth", at_line(3, "auth"))
    world.in_review("docs", "docs-task", at_line(3, "docs"))
    world.approved("ui", "ui-task", at_line(4, "ui"))
    scene.working("gone", at_line(3, "gone"))
    fail(world.session(), "gone", reason="No")
    world.spawn("new", "new-task")
    scene.working("idle", {})
    world.git("reset", "-q", "--hard", "main", cwd=world.path("idle"))
    assert [blip.worker for blip in scene.survey().blips] == ["auth", "docs", "ui"]
    world.merge("ui")
    found = scene.survey()
    assert [blip.worker for blip in found.blips] == ["auth", "docs"]
    assert scene.clashes()[("auth", "main")] == ("f",)


def test_chosen_branches(scene: RadarScene) -> None:
    """Of chosen branches every pair is there, of others none."""
    for name in ("auth", "docs", "ui"):
        scene.working(name, at_line(3, name))
    chosen = {Ref("refs/heads/docs/docs-task")}
    found = survey(scene.world.session(), chosen=chosen)
    assert [(one.one.name, one.other.name) for one in found.meetings] == [
        ("docs", "main"), ("auth", "docs"), ("docs", "ui"),
    ]  # fmt: skip
    assert survey(scene.world.session(), chosen=set()).meetings == ()


def test_a_deleted_branch(scene: RadarScene) -> None:
    """A deleted branch is skipped; without a target a survey is refused."""
    scene.working("auth", at_line(3, "auth"))
    world = scene.world
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))
    world.git("branch", "-q", "-D", "auth/auth-task")
    assert scene.survey().blips == ()
    session = world.session()
    world.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(Refused) as caught:
        survey(session)
    assert caught.value.code == "no_target"


EVERY_VERDICT = (
    "SELECT one_oid, other_oid FROM merge_verdicts"
    " UNION ALL SELECT target_oid, tip_oid FROM replay_verdicts"
)


def test_nothing_is_kept_of_old_tips(scene: RadarScene) -> None:
    """Verdicts on two tips that no branch has any more are deleted by the next survey."""
    for name in ("auth", "docs"):
        scene.working(name, at_line(3, name))
    scene.survey()
    first = scene.world.query(EVERY_VERDICT)
    for name in ("auth", "docs"):
        scene.commit(name, {"more": name})
    scene.world.advance({"README": "other\n"})
    scene.survey()
    now = scene.world.query(EVERY_VERDICT)
    assert len(first) == len(now) == 3
    assert not set(first) & set(now)
