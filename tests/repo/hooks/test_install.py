"""Install and uninstall: one setting in one worktree, and afterwards no trace."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.errors import Conflict, Refused
from gitworker.repo.hooks.hook_status import status
from gitworker.repo.hooks.install import install, uninstall
from gitworker.repo.plumbing.git import Git
from tests.conftest import git
from tests.repo.hooks.support import HookedRepo, commit, make_hooked_repo, snapshot, wait_until

OURS = ("worker-state",)


def kept(hooked: HookedRepo) -> dict[str, bytes | str]:
    """Return everything in the common git directory that is not our state."""
    everything = snapshot(Path(hooked.repository.common_dir))
    return {name: value for name, value in everything.items() if not name.startswith(OURS)}


def plain(base: Path) -> Path:
    """Build an ordinary repository."""
    root = base / "repo"
    root.mkdir(parents=True)
    git(root, "init", "-q")
    commit(root, "README")
    return root


def with_extension(base: Path) -> Path:
    """Build one that has the extension on, and settings of the main worktree."""
    root = plain(base)
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "core.hooksPath", ".githooks")
    git(root, "config", "--worktree", "user.nickname", "ada")
    return root


def with_odd_configuration(base: Path) -> Path:
    """Build one whose configuration has comments, an empty section and the extension off."""
    root = plain(base)
    with (root / ".git" / "config").open("a") as file:
        file.write(
            "; mine\n[extensions]\n[Core]\n  bare = no # said\n[extensions]\n\tworktreeConfig=off\n"
        )
    return root


def bare(base: Path) -> Path:
    """Build a bare repository."""
    root = base / "bare.git"
    git(base, "clone", "-q", "--bare", str(plain(base)), str(root))
    return root


def bare_in_dot_git(base: Path) -> Path:
    """Build a bare repository in a directory `.git`, for worktrees beside it."""
    root = base / "trees"
    root.mkdir(parents=True)
    git(base, "clone", "-q", "--bare", str(plain(base)), str(root / ".git"))
    return root


def with_work_tree_elsewhere(base: Path) -> Path:
    """Build a repository whose git directory is elsewhere, as a submodule's is."""
    root = plain(base)
    (root / ".git").rename(base / "elsewhere")
    (root / ".git").write_text(f"gitdir: {base}/elsewhere\n")
    git(root, "config", "core.worktree", "../repo")
    return root


Builder = Callable[[Path], Path]
BUILDERS = [plain, with_extension, with_odd_configuration, bare, bare_in_dot_git,
            with_work_tree_elsewhere]  # fmt: skip


@pytest.fixture(params=BUILDERS, ids=lambda builder: builder.__name__)
def any_hooked(request: pytest.FixtureRequest, tmp_path: Path) -> HookedRepo:
    """A worktree without hooks in each kind of repository."""
    base = tmp_path / 'a "b" it\'s'
    base.mkdir()
    return make_hooked_repo(base, request.param(base))


def test_uninstall_leaves_no_trace(any_hooked: HookedRepo) -> None:
    """After install and uninstall every file of the git directory is unchanged."""
    before = kept(any_hooked)
    is_bare = git(any_hooked.root, "rev-parse", "--is-bare-repository")
    any_hooked.install()
    assert git(any_hooked.worktree, "status", "--short") == ""
    assert git(any_hooked.root, "rev-parse", "--is-bare-repository") == is_bare
    assert kept(any_hooked) != before
    uninstall(any_hooked.git, any_hooked.repository)
    assert kept(any_hooked) == before
    assert not any_hooked.hooks.exists()
    uninstall(any_hooked.git, any_hooked.repository)
    assert kept(any_hooked) == before


def test_install_works_and_again_changes_nothing(any_hooked: HookedRepo) -> None:
    """A commit starts a drain in any kind of repository, and a second install writes nothing."""
    any_hooked.install()
    commit(any_hooked.worktree)
    assert [line[1] for line in any_hooked.spooled()] == ["post-commit"]
    wait_until(lambda: not (any_hooked.spool / "ring").exists(), "the drain")
    before = snapshot(Path(any_hooked.repository.common_dir))
    any_hooked.install()
    assert snapshot(Path(any_hooked.repository.common_dir)) == before


def test_other_changes_survive_uninstall(any_hooked: HookedRepo) -> None:
    """Settings made between install and uninstall stay, and so do the ones from before."""
    listed = git(any_hooked.root, "config", "--local", "--list")
    any_hooked.install()
    git(any_hooked.root, "config", "--local", "color.ui", "never")
    git(any_hooked.worktree, "config", "--worktree", "user.nickname", "bob")
    uninstall(any_hooked.git, any_hooked.repository)
    assert git(any_hooked.worktree, "config", "user.nickname") == "bob"
    now = git(any_hooked.root, "config", "--local", "--list").splitlines()
    assert "color.ui=never" in now
    assert git(any_hooked.worktree, "status", "--short") == ""
    moved = ("core.bare", "core.worktree", "extensions.")
    assert {line for line in listed.splitlines() if not line.startswith(moved)} <= set(now)
    assert "worker-state" not in git(any_hooked.worktree, "config", "--worktree", "--list")


def test_the_extension_is_removed_when_only_the_shared_file_changed(any_hooked: HookedRepo) -> None:
    """A setting added to the shared file does not keep the extension on."""
    listed = git(any_hooked.root, "config", "--local", "--list").splitlines()
    any_hooked.install()
    git(any_hooked.root, "config", "--local", "color.ui", "never")
    uninstall(any_hooked.git, any_hooked.repository)
    now = git(any_hooked.root, "config", "--local", "--list").splitlines()
    last = {line.partition("=")[0]: line for line in listed}
    assert {line.partition("=")[0]: line for line in now} == {**last, "color.ui": "color.ui=never"}


@pytest.mark.parametrize("build", [bare, with_work_tree_elsewhere])
def test_the_main_worktrees_own_settings_keep_the_extension(tmp_path: Path, build: Builder) -> None:
    """A setting made later for the main worktree stays, with the extension that it needs."""
    hooked = make_hooked_repo(tmp_path, build(tmp_path))
    is_bare = git(hooked.root, "rev-parse", "--is-bare-repository")
    hooked.install()
    git(hooked.root, "config", "--worktree", "user.nickname", "ada")
    uninstall(hooked.git, hooked.repository)
    assert git(hooked.root, "config", "--worktree", "user.nickname") == "ada"
    assert git(hooked.root, "rev-parse", "--is-bare-repository") == is_bare
    assert git(hooked.worktree, "status", "--short") == ""


@pytest.mark.parametrize("build", [bare, with_work_tree_elsewhere])
def test_a_leftover_of_the_main_worktree_is_restored(tmp_path: Path, build: Builder) -> None:
    """A config.worktree from before the extension is unchanged, whatever happened in between."""
    hooked = make_hooked_repo(tmp_path, build(tmp_path))
    private = Path(hooked.repository.common_dir, "config.worktree")
    private.write_text("# from before\n")
    hooked.install()
    git(hooked.root, "config", "--worktree", "user.nickname", "ada")
    git(hooked.root, "config", "--worktree", "--unset", "user.nickname")
    uninstall(hooked.git, hooked.repository)
    assert private.read_text() == "# from before\n"
    assert git(hooked.worktree, "status", "--short") == ""


def test_a_worktrees_own_hooks_path_is_restored(tmp_path: Path) -> None:
    """A core.hooksPath that the worktree had itself is there again, other changes or not."""
    hooked = make_hooked_repo(tmp_path, with_extension(tmp_path))
    git(hooked.worktree, "config", "--worktree", "core.hooksPath", "mine")
    before = kept(hooked)
    hooked.install()
    uninstall(hooked.git, hooked.repository)
    assert kept(hooked) == before
    hooked.install()
    git(hooked.worktree, "config", "--worktree", "color.ui", "never")
    uninstall(hooked.git, hooked.repository)
    assert git(hooked.worktree, "config", "--worktree", "core.hooksPath") == "mine"


def test_a_worktree_made_from_ours_is_cleaned_too(tmp_path: Path) -> None:
    """`git worktree add` run in our worktree copies our setting; uninstall takes it out there."""
    hooked = make_hooked_repo(tmp_path, plain(tmp_path))
    hooked.install()
    git(hooked.worktree, "worktree", "add", "-q", "--detach", str(tmp_path / "copy"))
    commit(tmp_path / "copy")
    assert len(hooked.spooled()) == 2  # its post-checkout and its commit
    uninstall(hooked.git, hooked.repository)
    assert not list(Path(hooked.repository.common_dir).rglob("config.worktree"))
    assert (
        git(hooked.root, "config", "--local", "--get", "extensions.worktreeConfig", check=False)
        == ""
    )


def test_a_repository_that_was_moved_is_installed_again(tmp_path: Path) -> None:
    """After a move install points to the new place, and uninstall still leaves no trace."""
    base = tmp_path / "old"
    base.mkdir()
    hooked = make_hooked_repo(base, plain(base))
    config = (hooked.root / ".git" / "config").read_bytes()
    hooked.install()
    base.rename(tmp_path / "new")
    moved = HookedRepo(*(Path(str(path).replace("/old/", "/new/")) for path in hooked))
    git(moved.root, "worktree", "repair", str(moved.worktree))
    assert [w.is_installed for w in status(moved.git, moved.repository).worktrees] == [False]
    moved.install()
    assert [w.is_installed for w in status(moved.git, moved.repository).worktrees] == [True]
    commit(moved.worktree)
    assert [line[1] for line in moved.spooled()] == ["post-commit"]
    uninstall(moved.git, moved.repository)
    assert not list((moved.root / ".git").rglob("config.worktree"))
    assert (moved.root / ".git" / "config").read_bytes() == config


def test_one_git_process_if_all_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second worktree costs one `git config --worktree` and nothing else."""
    hooked = make_hooked_repo(tmp_path, plain(tmp_path))
    hooked.install()
    second = tmp_path / "second"
    git(hooked.root, "worktree", "add", "-q", "--detach", str(second))
    trace = tmp_path / "trace"
    monkeypatch.setenv("GITWORKER_TRACE", str(trace))
    install(hooked.git, hooked.repository, Git(str(second)))
    (call,) = trace.read_text().splitlines()
    assert " config --worktree " in call
    install(hooked.git, hooked.repository, Git(str(second)))
    assert len(trace.read_text().splitlines()) == 1


def test_a_main_checkout_is_refused(tmp_path: Path) -> None:
    """Our hooks are never installed in the main checkout, nor through another repository."""
    hooked = make_hooked_repo(tmp_path, plain(tmp_path))
    before = kept(hooked)
    with pytest.raises(Refused, match="never installed in a main checkout"):
        install(hooked.git, hooked.repository, Git(str(hooked.root)))
    other = make_hooked_repo(tmp_path / "o", plain(tmp_path / "o"))
    with pytest.raises(Refused):
        install(hooked.git, hooked.repository, Git(str(other.worktree)))
    assert kept(hooked) == before


def test_a_locked_configuration_is_a_conflict(tmp_path: Path) -> None:
    """While another git holds config.lock, install fails and changes nothing."""
    hooked = make_hooked_repo(tmp_path, bare(tmp_path))
    before = (hooked.root / "config").read_bytes()
    (hooked.root / "config.lock").write_text("theirs")
    with pytest.raises(Conflict, match="locked"):
        hooked.install()
    assert (hooked.root / "config").read_bytes() == before
    assert (hooked.root / "config.lock").read_text() == "theirs"
    (hooked.root / "config.lock").unlink()
    assert git(hooked.worktree, "status", "--short") == ""
    hooked.install()
    commit(hooked.worktree)
    uninstall(hooked.git, hooked.repository)
    assert (hooked.root / "config").read_bytes() == before


def test_a_linked_configuration_stays_a_link(tmp_path: Path) -> None:
    """A config file that is a symbolic link is changed in the file that it points to."""
    hooked = make_hooked_repo(tmp_path, plain(tmp_path))
    config = hooked.root / ".git" / "config"
    config.rename(tmp_path / "real")
    config.symlink_to(tmp_path / "real")
    os.chmod(tmp_path / "real", 0o640)
    before = config.read_bytes()
    hooked.install()
    assert config.is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    uninstall(hooked.git, hooked.repository)
    assert config.is_symlink()
    assert config.read_bytes() == before
