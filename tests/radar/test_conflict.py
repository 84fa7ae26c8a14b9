"""One conflict with the three versions of each file, of real branches."""

import os

import pytest

from fixtures.repos import Content, lines
from gitworker.errors import NotFound
from gitworker.radar.conflict import ConflictView
from gitworker.repo.replay.conflict_versions import BYTES_AT_MOST
from gitworker.service import Service, open_repository, to_json
from tests.radar.radar_scene import TEXT, RadarScene, at_line
from tests.workers.world import World

Files = dict[str, Content]


@pytest.fixture
def scene(world: World) -> RadarScene:
    """A target with a file of twenty lines."""
    world.advance({"f": TEXT, "g": "g\n"})
    return RadarScene(world)


def service(scene: RadarScene) -> Service:
    """Return the service of a scene."""
    return open_repository(str(scene.world.root))


def between(scene: RadarScene, one: Files, other: Files) -> ConflictView:
    """Return the conflict of two workers with these files."""
    scene.working("auth", one)
    scene.working("menu", other)
    return service(scene).show_conflict("auth", "menu")


def test_two_workers(scene: RadarScene) -> None:
    """A line that two workers changed has both versions and that of their common commit."""
    found = between(scene, at_line(7, "ours"), {**at_line(7, "theirs"), "g": "other\n"})
    (file,) = found.files
    assert (found.worker, found.other, found.is_target) == ("auth", "menu", False)
    assert (file.path, file.kind, file.note) == ("f", "changed by both", "")
    (area,) = file.areas
    assert area[2:5] == (("ours",), ("line 7",), ("theirs",))
    assert area.line == 8
    assert (len(area.before), len(area.after)) == (3, 3)
    assert to_json(found)["files"][0]["areas"][0]["base"] == ("line 7",)


def test_the_target(scene: RadarScene) -> None:
    """Without another worker the conflict is that with the branch on which the work lands."""
    scene.working("auth", at_line(7, "ours"))
    assert service(scene).show_conflict("auth").files == ()
    scene.world.advance(at_line(7, "theirs"))
    found = service(scene).show_conflict("auth")
    assert (found.other, found.is_target, found.stopped) == ("main", True, None)
    assert service(scene).show_conflict("auth", "main") == found
    assert found.files[0].areas[0].theirs == ("theirs",)


def test_a_commit_at_which_a_rebase_stops(scene: RadarScene) -> None:
    """If the tips merge and a rebase stops, the commit is named, with its own versions."""
    scene.working("auth", at_line(7, "ours"))
    scene.commit("auth", at_line(7, "line 7"))
    scene.world.advance(at_line(7, "theirs"))
    found = service(scene).show_conflict("auth")
    assert found.stopped is not None
    assert found.stopped.subject == "Work"
    (area,) = found.files[0].areas
    assert (area.ours, area.base, area.theirs) == (("ours",), ("line 7",), ("theirs",))


def test_a_commit_that_only_a_real_rebase_knows(scene: RadarScene) -> None:
    """After a change of the settings the conflict is shown without that commit."""
    scene.working("auth", at_line(7, "ours"))
    scene.commit("auth", at_line(7, "line 7"))
    scene.world.advance(at_line(7, "theirs"))
    assert service(scene).show_conflict("auth").stopped is not None
    scene.world.git("config", "rebase.backend", "apply")
    assert service(scene).show_conflict("auth").stopped is None


def test_a_deleted_file(scene: RadarScene) -> None:
    """A file that one side deleted has a note and no areas."""
    scene.working("auth", {"x": "x\n"})
    scene.world.git("rm", "-q", "g", cwd=scene.world.path("auth"))
    scene.world.git("commit", "-qm", "Delete", cwd=scene.world.path("auth"))
    scene.working("menu", {"g": "other\n"})
    (file,) = service(scene).show_conflict("auth", "menu").files
    assert file.kind == "changed by menu, deleted or renamed by auth"
    assert not file.areas
    assert "menu " in file.note


def test_both_added(scene: RadarScene) -> None:
    """A file that both added has no common version."""
    found = between(scene, {"new": "a\nsame\n"}, {"new": "b\nsame\n"})
    (file,) = found.files
    assert file.kind == "added by both"
    assert (file.areas[0].ours, file.areas[0].base) == (("a",), ())


def test_binary_and_large_files(scene: RadarScene) -> None:
    """Binary and large files are named with their sizes, and not read as text."""
    large = "x" * BYTES_AT_MOST
    found = between(scene, {"b": b"\0one", "l": f"{large}1\n"}, {"b": b"\0two", "l": f"{large}2\n"})
    binary, too_large = found.files
    assert binary.note.startswith("binary: auth ")
    assert "4 bytes" in binary.note
    assert too_large.note.startswith("too large to be shown (more than 256 KiB): auth ")
    assert not binary.areas
    assert not too_large.areas


def test_lines_that_look_like_markers(scene: RadarScene) -> None:
    """Markers in the files are lines like others."""
    marker = f"{'<' * 20} x"
    found = between(scene, at_line(7, marker), at_line(7, "=" * 9))
    (area,) = found.files[0].areas
    assert (area.ours, area.theirs) == ((marker,), ("=" * 9,))


def test_a_link(scene: RadarScene) -> None:
    """The targets of a symbolic link are in the note."""
    for worker, target in (("auth", "one"), ("menu", "two")):
        scene.working(worker, {worker: "x\n"})
        place = scene.world.path(worker)
        os.symlink(target, place / "link")
        scene.world.git("add", "link", cwd=place)
        scene.world.git("commit", "-qm", "Link", cwd=place)
    (file,) = service(scene).show_conflict("auth", "menu").files
    assert file.note == "auth → one, menu → two"


def test_own_conflicts_only(scene: RadarScene) -> None:
    """A file in which only one worker conflicts with the target of the other is left out."""
    scene.working("auth", {**at_line(7, "ours"), "g": "mine\n"})
    scene.world.advance(at_line(7, "theirs"))
    scene.working("menu", {"g": "other\n"})
    assert [one.path for one in service(scene).show_conflict("auth", "menu").files] == ["g"]


def test_programs_of_the_user_do_not_run(scene: RadarScene) -> None:
    """A merge driver of the user is not started for the page."""
    ran = scene.world.root.parent / "ran"
    scene.world.advance({".gitattributes": "f merge=mine\n"})
    scene.world.git("config", "merge.mine.driver", f"touch {ran}; exit 1")
    found = between(scene, at_line(7, "ours"), at_line(7, "theirs"))
    assert [one.path for one in found.files] == ["f"]
    assert not ran.exists()


def test_refusals(scene: RadarScene) -> None:
    """A worker that does not exist, and one without a branch, are refused."""
    scene.working("auth", at_line(7, "ours"))
    scene.working("menu", {"g": lines(3)})
    service(scene).cancel("menu")
    for other in ("nobody", "menu"):
        with pytest.raises(NotFound):
            service(scene).show_conflict("auth", other)


def test_a_branch_that_was_deleted(scene: RadarScene) -> None:
    """A missing branch is refused with the command that shows its worker."""
    scene.working("auth", at_line(7, "ours"))
    scene.world.git("update-ref", "-d", scene.world.worker("auth").ref)
    with pytest.raises(NotFound) as refused:
        service(scene).show_conflict("auth")
    assert refused.value.hint == "git worker show auth"
    assert service(scene).show("auth").worker.worker_id == "auth"
