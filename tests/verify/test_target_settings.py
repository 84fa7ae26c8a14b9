"""The settings that a commit brings."""

from pathlib import Path

import pytest

from gitworker.errors import Invalid, Unavailable
from gitworker.verify.target_settings import settings_at
from tests.verify.scene import VerifyScene

FILE = ".gitworker.toml"


@pytest.mark.parametrize("where", ["nowhere", "beside git"])
def test_no_settings(scene: VerifyScene, where: str) -> None:
    """A commit without the file has the defaults, even if git does not track an existing file."""
    if where == "beside git":
        (scene.world.root / FILE).write_text("[verify]\ncommands = ['make']\n")
    assert settings_at(scene.session(), scene.tip()).verify_commands == ()


def test_settings_that_git_cannot_read(scene: VerifyScene) -> None:
    """Settings that are there and cannot be read are an error: nothing would be verified."""
    session = scene.session()
    tip = scene.commit({FILE: "[verify]\ncommands = ['make']\n"})
    assert settings_at(session, tip).verify_commands == ("make",)
    blob = scene.world.git("rev-parse", f"HEAD:{FILE}")
    Path(scene.world.root, ".git", "objects", blob[:2], blob[2:]).unlink()
    with pytest.raises(Unavailable):
        settings_at(session, tip)


def test_a_directory_of_that_name(scene: VerifyScene) -> None:
    """A directory in the place of the settings file is an error."""
    session = scene.session()
    tip = scene.commit({f"{FILE}/x": "1\n"})
    with pytest.raises(Invalid):
        settings_at(session, tip)


def test_settings_with_an_error(scene: VerifyScene) -> None:
    """A commit whose settings have an error is refused, with the most similar key."""
    session = scene.session()
    tip = scene.commit({FILE: "[verify]\ncommand = ['make']\n"})
    with pytest.raises(Invalid, match="did you mean verify.commands"):
        settings_at(session, tip)
