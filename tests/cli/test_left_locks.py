"""A lock that a killed git left: each verb names it, and works once it is removed."""

import pytest

from fixtures.repos import Repo
from tests.cli.conftest import Scene
from tests.hints.following import note

RESCUE = "refs/worker/rescue/auth/t1/1.lock"
LOCKS = {
    "packed-refs": ("packed-refs.lock", ("cancel", "auth"), "submitted"),
    "a branch": ("refs/heads/ui/t2.lock", ("spawn", "ui", "t2"), "working"),
    "a rescue ref": (RESCUE, ("cancel", "auth"), "submitted"),
    "the target": ("refs/heads/main.lock", ("merge", "auth"), "approved"),
    "the index": ("index.lock", ("merge", "auth"), "approved"),
    "a worktree's index": ("worktrees/t1/index.lock", ("done", "--commit", "-m", "x"), "working"),
    "a worktree's HEAD": ("worktrees/t1/HEAD.lock", ("done", "--commit", "-m", "x"), "working"),
    "an approved branch": ("refs/heads/auth/t1.lock", ("approve", "auth"), "submitted"),
    "the settings": ("config.lock", ("spawn", "ui", "t2"), "root"),
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_git_left(scene: Scene, name: str) -> None:
    """The message names the lock, the hint removes it, and the verb succeeds after that."""
    path, words, stage = LOCKS[name]
    place = scene.root if stage == "root" else getattr(scene, stage)()
    if stage == "submitted" and words[0] == "approve":
        scene.commit(scene.root, "theirs")
    if stage == "working":
        (place / "late").write_text("1\n")
    lock = scene.root / ".git" / path
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    where = place if words[0] == "done" else scene.root
    refused = scene.run(*words, cwd=where)
    shown = f"<root>/.git/{path}"
    if refused.status:
        assert refused.status in (1, 3), refused
        assert shown in refused.err, refused
        assert f"rm {shown}" in refused.err, refused
    else:  # an operation that is left open is reported
        assert shown in refused.err or not lock.name.startswith("1"), refused
    lock.unlink()
    note(f"rm {lock}", refused.err)
    again = scene.run(*words, cwd=where)
    settled = "settled an interrupted" in again.err
    assert again.status == 0 or settled or not refused.status, again


@pytest.mark.parametrize("words", [("fsck",), ("spawn", "ui", "t2")])
def test_an_admin_directory_that_git_left(scene: Scene, words: tuple[str, ...]) -> None:
    """An empty commondir of a user's worktree is named, and the hint makes git work again."""
    scene.submitted()
    Repo(scene.root).git("worktree", "add", "-q", str(scene.root.parent / "theirs"))
    path = scene.root / ".git/worktrees/theirs/commondir"
    path.write_text("")
    refused = scene.run(*words)
    assert refused.status in (1, 3), refused
    said = refused.out + refused.err
    assert "<root>/.git/worktrees/theirs/commondir" in said, refused
    if words[0] == "spawn":
        assert "hint: git -C <root> worker fsck --repair" in refused.err, refused
    assert scene.run("fsck", "--repair").status == 0
    assert path.read_text() == "../..\n"
    assert scene.run(*words).status == 0
