"""The hints about the repository, its settings, adopted work and undone operations help."""

import os
import shutil
from pathlib import Path

import pytest

from fixtures.repos import Repo
from tests.cli.test_hint_walk import approved, landed
from tests.hints.case import Case, check
from tests.hints.following import Printed, note, perform
from tests.hints.test_usage_hints import W, _working, perform_in
from tests.hints.test_worker_hints import run_in
from tests.workers.test_adopt import by_hand
from tests.workers.world import World


def hand_made(world: World) -> None:
    """Make a worktree by hand, one commit on a branch of its own."""
    by_hand(world)
    world.git("branch", "side")


def locked_by_hand(world: World) -> None:
    """Lock a worktree that was made by hand."""
    world.git("worktree", "lock", str(by_hand(world)))


def detached_by_hand(world: World) -> None:
    """Detach HEAD in a worktree that was made by hand."""
    world.git("checkout", "-q", "--detach", cwd=by_hand(world))


def nested_by_hand(world: World) -> None:
    """Make a worktree inside one that was made by hand."""
    world.git("worktree", "add", "-q", "-b", "inner", str(by_hand(world) / "inner"))


def on_feature(world: World) -> None:
    """Switch the main checkout to another branch."""
    world.git("branch", "side")
    world.git("switch", "-q", "-c", "feature")


def twice(world: World) -> None:
    """Check a branch out in two worktrees."""
    by_hand(world)
    world.git("worktree", "add", "-q", "--force", str(world.root.parent / "again"), "feature")


def name_taken(world: World) -> None:
    """Give another branch the name that adopted work would get."""
    by_hand(world)
    world.git("branch", "auth/login")


def open_rebase(world: World) -> None:
    """Stop a rebase in a worktree that was made by hand."""
    place = by_hand(world)
    Repo(place).commit("Mine", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    run_git(world, "rebase", "main", at=place)


def resolve_by_hand(world: World) -> None:
    """Resolve the conflict of that rebase, as its author."""
    place = world.root.parent / "by-hand"
    Repo(place).write({"README": "both\n"})
    world.git("add", "README", cwd=place)


def run_git(world: World, *words: str, at: Path | None = None) -> None:
    """Run git, whatever its status."""
    os.spawnvp(os.P_WAIT, "git", ["git", "-C", str(at or world.root), *words])


def of_a_worker(world: World) -> None:
    """Let a worker be at work."""
    _working(world)


def cancelled(world: World) -> None:
    """Cancel a task."""
    _working(world)
    perform_in(world, "git worker cancel auth")


def place_taken(world: World) -> None:
    """Cancel a task, and put a file where its worktree was."""
    _working(world)
    place = world.path("auth")
    perform_in(world, "git worker cancel auth")
    place.mkdir(exist_ok=True)
    (place / "mine").write_text("1\n")


def built_upon(world: World) -> None:
    """Commit on the target after a landing."""
    landed(world)
    world.advance({"later": "1\n"})


def pushed_on(world: World) -> None:
    """Undo an approval of a branch that has moved since."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "1\n"})
    world.approve("auth")
    world.commit("auth", {"c": "1\n"})


def link_wrong(world: World) -> None:
    """Let the link lead elsewhere."""
    _working(world)
    (world.root / ".worker-state").unlink()
    (world.root / ".worker-state").symlink_to(world.root.parent)


def open_to_others(world: World) -> None:
    """Let other users read the state directory."""
    _working(world)
    world.state_dir.chmod(0o755)


def no_excludes(world: World) -> None:
    """Take our lines out of info/exclude."""
    _working(world)
    (world.root / ".git" / "info" / "exclude").write_text("")


def stray_directory(world: World) -> None:
    """Make a directory among the worktrees."""
    _working(world)
    (world.path("auth").parent / "stray").mkdir()


def stray_worktree(world: World) -> None:
    """Make a worktree by hand among the workers'."""
    _working(world)
    world.git("worktree", "add", "-q", "-b", "stray", str(world.path("auth").parent / "stray"))


def twice_checked_out(world: World) -> None:
    """Check the target out in a second worktree."""
    approved(world)
    world.git("worktree", "add", "-q", "--force", str(world.root.parent / "again"), "main")


def old_lock(world: World) -> None:
    """Leave an old lock of git's index in the main checkout."""
    _working(world)
    lock = world.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (1_000_000_000, 1_000_000_000))


def wrong_setting(world: World) -> None:
    """Write a value into git config that is no number."""
    _working(world)
    world.git("config", "worker.worktree.pool", "many")


def unknown_setting(world: World) -> None:
    """Write a setting into git config that does not exist."""
    _working(world)
    world.git("config", "worker.worktree.puul", "1")


def wrong_file(world: World) -> None:
    """Commit a file of settings with an error."""
    _working(world)
    world.advance({".gitworker.toml": "[verify]\ncomands = []\n"})


def correct_the_file(world: World) -> None:
    """Correct the file of settings, as its author."""
    Repo(world.root).write({".gitworker.toml": "[verify]\ncommands = []\n"})


def without_hooks(world: World) -> None:
    """Remove the worktree's hooks."""
    _working(world)
    world.git("config", "--worktree", "--unset-all", "core.hooksPath", cwd=world.path("auth"))


def removed_target(world: World) -> None:
    """Delete the target after a landing."""
    landed(world)
    world.git("switch", "-q", "-c", "side")
    world.git("branch", "-q", "-D", "main")


def rewritten_target(world: World) -> None:
    """Take a landing out of the target by force."""
    landed(world)
    world.git("reset", "-q", "--hard", "HEAD^")


def root_inside(world: World) -> None:
    """Ask for worktrees inside git's own directory."""
    world.git("config", "worker.worktree.root", ".git/worktrees-of-workers")


def root_of_the_file(world: World) -> None:
    """Let the committed settings ask for worktrees elsewhere."""
    world.advance({".gitworker.toml": f'[worktree]\nroot = "{world.root.parent}/.hidden/x"\n'})


def renamed_branch(world: World) -> None:
    """Rename the branch of a worker."""
    _working(world)
    run_in(world, "git worker status")
    world.git("branch", "-m", "auth/login", "other")


def deleted_unpublished(world: World) -> None:
    """Delete the branch of a worker that has published nothing."""
    world.spawn("auth", "login")
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))
    world.git("branch", "-q", "-D", "auth/login")


def gone(world: World) -> None:
    """Delete the directory of a worktree."""
    _working(world)
    shutil.rmtree(world.path("auth"))


def no_room(world: World) -> None:
    """Ask for more free space than any disk has."""
    world.git("config", "worker.worktree.spare-bytes", str(10**15))


def other_link(world: World) -> None:
    """Put a file in the place of the state directory."""
    shutil.rmtree(world.root / ".git" / "worker-state", ignore_errors=True)
    (world.root / ".git" / "worker-state").write_text("mine\n")


def of_the_main_checkout(world: World) -> None:
    """Copy the repository with its worktree."""
    _working(world)
    shutil.copytree(world.root, world.root.parent / "copy", symlinks=True)


def settings_link(world: World) -> None:
    """Commit a link in the place of the file of settings."""
    _working(world)
    (world.root / ".gitworker.toml").symlink_to("README")
    world.git("add", ".gitworker.toml")
    world.git("commit", "-q", "-m", "Link")


ADOPT = W + "adopt "
CASES = {
    "rename": Case(hand_made, ADOPT + "feature auth login", W + "adopt --rename {} {} {}"),
    "unknown": Case(hand_made, ADOPT + "nothing auth login", "git branch"),
    "main-checkout": Case(on_feature, ADOPT + "feature auth login", "git switch <other-branch>"),
    "target": Case(
        on_feature, ADOPT + "main auth login --rename", "git branch '<new-branch>' {}", instead=True
    ),
    "locked": Case(locked_by_hand, ADOPT + "feature auth login --rename", "git worktree unlock {}"),
    "detached": Case(
        detached_by_hand, ADOPT + "../by-hand auth login --rename",
        "git -C {} switch -c <new-branch>",
    ),
    "nested": Case(
        nested_by_hand, ADOPT + "feature auth login --rename", "git worktree move {} <directory>"
    ),
    "twice": Case(twice, ADOPT + "feature auth login --rename", "git -C {} switch --detach"),
    "name-taken": Case(
        name_taken, ADOPT + "feature auth login --rename", "git branch -m {} <new-name>"
    ),
    "rebasing": Case(
        open_rebase, ADOPT + "../by-hand auth login --rename", "git -C {} {}", meets=resolve_by_hand
    ),
    "of-a-worker": Case(of_a_worker, ADOPT + "auth/login docs next", W + "show {}"),
    "undo-place": Case(place_taken, W + "undo", "mv {} {}.old"),
    "undo-landed": Case(built_upon, W + "undo", "git revert {}", instead=True),
    "undo-moved": Case(pushed_on, W + "undo", "git log {}"),
    "link-elsewhere": Case(link_wrong, W + "doctor", "mv {} {} && git worker init"),
    "mode": Case(open_to_others, W + "doctor", "chmod 700 {}"),
    "excludes": Case(no_excludes, W + "doctor", W + "init"),
    "stray-directory": Case(stray_directory, W + "doctor", "ls -la {}"),
    "stray-worktree": Case(stray_worktree, W + "doctor", "git worktree remove {}"),
    "checked-out-twice": Case(twice_checked_out, W + "doctor", "git -C {} switch --detach"),
    "lands-twice": Case(twice_checked_out, W + "merge auth", "git -C {} switch --detach"),
    "old-lock": Case(old_lock, W + "doctor", "rm {}"),
    "fsck-lock": Case(old_lock, W + "fsck", "rm {}"),
    "setting": Case(wrong_setting, W + "doctor", "git config {} --unset-all {}"),
    "no-setting": Case(unknown_setting, W + "doctor", "git config {} --unset-all {}"),
    "file": Case(wrong_file, W + "doctor", "git commit {}", meets=correct_the_file),
    "variable": Case(
        _working, W + "doctor", "unset {}", env={"GITWORKER_WORKTREE_PUOL": "1"}
    ),
    "value": Case(_working, W + "doctor", "unset {}", env={"GITWORKER_WORKTREE_POOL": "many"}),
    "hooks": Case(without_hooks, W + "doctor", W + "hooks install"),
    "target-gone": Case(removed_target, W + "fsck", "git branch {} {}"),
    "target-lost": Case(removed_target, W + "doctor", "git branch {} {}"),
    "landing-lost": Case(rewritten_target, W + "fsck", "git cherry-pick {}..{}"),
    "landing-missing": Case(rewritten_target, W + "doctor", "git reflog show {}"),
    "root-inside": Case(
        root_inside, W + "spawn auth login", "git config worker.worktree.root ../worktrees"
    ),
    "root-elsewhere": Case(
        root_of_the_file, W + "spawn auth login", "git config worker.worktree.root {}"
    ),
    "renamed": Case(renamed_branch, W + "done auth", "git branch -m {} {}"),
    "renamed-show": Case(renamed_branch, W + "show auth --json", "git branch -m {} {}"),
    "unpublished": Case(deleted_unpublished, W + "done auth", W + "fsck --repair"),
    "gone": Case(gone, W + "done auth", W + "cancel {} && git worker undo"),
    "gone-doctor": Case(gone, W + "doctor", W + "cancel {} && git worker undo"),
    "no-room": Case(no_room, W + "spawn auth login", W + "gc", instead=True),
    "state-taken": Case(other_link, W + "spawn auth login", "mv {} {}.found"),
    "settings-link": Case(
        settings_link, W + "spawn docs guide", "git rm --cached {}", instead=True
    ),
    "cancel-landed": Case(landed, W + "cancel auth", W + "{}"),
    "assign-busy": Case(_working, W + "assign auth next", W + "show {}"),
    "reset-working": Case(_working, W + "reset auth", W + "{}"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_of_the_repository_helps(quiet: World, name: str) -> None:
    """A refusal or a finding names a command that works, and that ends it or shows its cause."""
    check(quiet, CASES[name])


def test_outside_of_a_repository(tmp_path: Path) -> None:
    """The hint outside leads into a repository, and in a new one it makes the first commit."""
    refused = perform("git worker status", Printed([], str(tmp_path)))
    assert refused.err.endswith("hint: cd <directory>\n")
    note("cd <directory>", refused.err)
    place = Printed([], str(tmp_path / "new"))
    assert perform("git init new", Printed([], str(tmp_path))).status == 0
    for hint, command in (
        ("git worker init", "status"),
        ("git commit --allow-empty -m Start", "spawn auth login"),
    ):  # fmt: skip
        refused = perform(f"git worker {command}", place)
        assert f"hint: {hint}" in refused.err, refused
        assert perform(hint, place).status == 0
        note(hint, refused.err)
    assert perform("git worker spawn auth login", place).status == 0
