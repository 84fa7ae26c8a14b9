"""The reported state of our hooks."""

from pathlib import Path

from gitworker.repo.hooks.hook_status import status
from tests.conftest import git
from tests.repo.hooks.support import add_user_hook, make_hooked_repo


def test_status_names_worktrees_chained_hooks_and_tampering(
    repository: Path, tmp_path: Path
) -> None:
    """Status names the worktrees with our hooks, the user's hooks and the files tampered with."""
    hooked = make_hooked_repo(tmp_path, repository)
    add_user_hook(hooked.root / ".git" / "hooks", "pre-push", tmp_path / "log")
    dormant = add_user_hook(hooked.root / ".git" / "hooks", "commit-msg", tmp_path / "log")
    dormant.chmod(0o644)
    nothing = status(hooked.git, hooked.repository)
    assert (nothing.is_present, nothing.is_stale, nothing.tampered) == (False, False, ())
    assert [worktree.is_installed for worktree in nothing.worktrees] == [False]
    hooked.install_by_path()
    git(hooked.root, "worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    now = status(hooked.git, hooked.repository)
    assert {w.path: w.is_installed for w in now.worktrees} == {
        str(hooked.worktree): True,
        str(tmp_path / "other"): False,
    }
    assert now.user_hooks.names == {"pre-push": f"{hooked.root}/.git/hooks/pre-push"}
    assert now.user_hooks.dormant == ("commit-msg",)
    assert (now.is_present, now.is_stale, now.tampered) == (True, False, ())
    assert now.interpreter == str(hooked.interpreter)
    hooked.hooks.chmod(0o755)
    (hooked.hooks / "post-commit").unlink()
    (hooked.hooks / "pre-push").unlink()
    (hooked.hooks / "pre-push").write_text("#!/bin/sh\nlefthook run pre-push\n")
    (hooked.hooks / "nest").mkdir()
    later = status(hooked.git, hooked.repository)
    assert later.is_stale
    assert later.tampered == ("nest", "post-commit", "pre-push")
