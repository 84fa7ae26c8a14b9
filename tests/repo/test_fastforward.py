"""The target moves forward in every state of a checkout, or not at all, and loses nothing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo, lines, tree_bytes
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.model.ids import Oid
from gitworker.repo.checkout.fastforward import fast_forward
from gitworker.repo.plumbing.git import Git
from gitworker.repo.worktrees.worktree_list import find_checkout
from tests.hints.following import Printed, follow, note
from tests.repo.forwarding import MAIN, assert_moved, assert_refused, forward, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Main is checked out one commit behind `new`."""
    return make_repo(tmp_path)


def test_a_clean_checkout_follows(repo: Repo) -> None:
    """Ref, index and files move together."""
    forward(repo)
    assert_moved(repo)


def test_a_stat_dirty_checkout_follows(repo: Repo) -> None:
    """A file touched but not changed is no obstacle."""
    os.utime(repo.root / "f", ns=(1, 1))
    forward(repo)
    assert_moved(repo)


def test_work_elsewhere_is_kept(repo: Repo) -> None:
    """Unstaged, staged, untracked and ignored work that the move does not touch stays."""
    repo.write({"g": "dirty\n", "staged": "s\n", "untracked": "u\n", "my.log": "i\n"})
    repo.git("add", "staged")
    repo.git("rm", "-q", "--cached", "dir/x")
    forward(repo)
    assert (repo.root / "my.log").read_text() == "i\n"
    assert_moved(repo, dirty="D  dir/x\n M g\nA  staged\n?? dir/\n?? untracked")


OBSTACLES: dict[str, tuple[Callable[[Repo], object], str]] = {
    "dirty": (lambda repo: repo.write({"f": "mine\n"}), "f"),
    "dirty where it is deleted": (lambda repo: repo.write({"gone": "mine\n"}), "gone"),
    "staged": (lambda repo: (repo.write({"f": "mine\n"}), repo.git("add", "f")), "f"),
    "staged and put back": (
        lambda repo: (
            repo.write({"f": "mine\n"}),
            repo.git("add", "f"),
            repo.write({"f": lines(9)}),
        ),
        "f",
    ),
    "staged new": (lambda repo: (repo.write({"added": "m\n"}), repo.git("add", "added")), "added"),
    "untracked": (lambda repo: repo.write({"added": "mine\n"}), "added"),
    "ignored": (lambda repo: repo.write({"out.log": "mine\n"}), "out.log"),
    "untracked file for a directory": (lambda repo: repo.write({"deep": "mine\n"}), "deep"),
    "untracked directory for a file": (lambda repo: repo.write({"added/z": "mine\n"}), "added/z"),
    "ignored directory for a file": (
        lambda repo: repo.write({"added/z.log": "m\n"}),
        "added/z.log",
    ),
    "link for a directory": (lambda repo: (repo.root / "deep").symlink_to("dir"), "deep"),
    "dangling link": (lambda repo: (repo.root / "added").symlink_to("nowhere"), "added"),
}


@pytest.mark.parametrize("name", sorted(OBSTACLES))
def test_overlapping_work_is_refused_and_kept(repo: Repo, name: str) -> None:
    """Whatever the move would overwrite is named, and nothing moves."""
    make, path = OBSTACLES[name]
    make(repo)
    assert_refused(repo, path)


def test_hidden_dirt_is_refused_by_git(repo: Repo) -> None:
    """A change that status does not show (assume-unchanged) is not overwritten either."""
    repo.git("update-index", "--assume-unchanged", "f")
    repo.write({"f": "mine\n"})
    assert_refused(repo)


@pytest.mark.parametrize("operation", ["merge", "rebase", "bisect", "cherry-pick", "revert"])
def test_an_open_operation_is_refused(repo: Repo, operation: str) -> None:
    """Nothing lands into a merge, rebase, bisect, cherry-pick or revert of the user's."""
    repo.git("checkout", "-q", "-b", "other", "main")
    repo.commit("other", {"g": "other\n"})
    repo.git("checkout", "-q", "main")
    mine = repo.commit("mine", {"g": "mine\n"})
    repo.commit("more", {"g": "more\n"})
    repo.git("branch", "-qf", "new", "main")
    repo.git("checkout", "-q", "new")
    repo.commit("newer", {"newer": "1\n"})
    repo.git("checkout", "-q", "main")
    commands = {
        "merge": ["merge", "other"], "rebase": ["rebase", "other"], "bisect": ["bisect", "start"],
        "cherry-pick": ["cherry-pick", "other"], "revert": ["revert", "--no-edit", mine],
    }  # fmt: skip
    repo.run(*commands[operation])
    assert_refused(repo, operation)


def test_a_bisect_of_the_target_elsewhere_is_found(repo: Repo) -> None:
    """A bisect has a detached HEAD, yet its branch counts as checked out there."""
    repo.git("bisect", "start")
    repo.git("bisect", "bad", "main")
    repo.git("checkout", "-q", "--detach")
    assert find_checkout(Git(str(repo.root)), MAIN) == str(repo.root)
    assert_refused(repo, "bisect")


def test_a_held_index_lock_is_a_conflict(repo: Repo) -> None:
    """While another git works there, nothing moves."""
    (repo.root / ".git/index.lock").write_text("")
    before = repo.head("main")
    with pytest.raises(Conflict):
        forward(repo)
    assert repo.head("main") == before
    assert (repo.root / ".git/index.lock").exists()


def test_a_held_ref_lock_leaves_no_half_state(repo: Repo) -> None:
    """If git has moved the files and cannot move the ref, the files are restored."""
    (repo.root / ".git/refs/heads/main.lock").write_text("")
    repo.write({"g": "dirty\n"})
    assert_refused(repo)


def test_a_hook_that_forbids_the_move_leaves_no_half_state(repo: Repo) -> None:
    """The same holds if the user's reference-transaction hook refuses."""
    install(repo, "reference-transaction", 'while read -r old new ref; do case "$ref" in'
            ' refs/heads/main) exit 1;; esac; done')  # fmt: skip
    assert_refused(repo)


@pytest.mark.parametrize(
    "setting",
    [
        "merge.autoStash=true",
        "branch.main.mergeOptions=--squash",
        "branch.main.mergeOptions=--no-ff --no-commit",
        "merge.ff=false",
        "merge.verifySignatures=true",
        "merge.stat=true",
        "core.abbrev=7",
    ],
)
def test_a_setting_of_the_users_changes_nothing(repo: Repo, setting: str) -> None:
    """Settings that make `git merge` do something else are neutralised."""
    name, _, value = setting.partition("=")
    repo.git("config", name, value)
    repo.write({"g": "dirty\n"})
    forward(repo)
    assert_moved(repo, dirty=" M g")
    assert repo.git("stash", "list") == ""


def test_autostash_does_not_hide_an_overlap(repo: Repo) -> None:
    """merge.autoStash would stash the user's file away: refused instead."""
    repo.git("config", "merge.autoStash", "true")
    repo.write({"f": "mine\n"})
    assert_refused(repo, "f")


def test_the_users_post_merge_hook_runs(repo: Repo, tmp_path: Path) -> None:
    """The user's hooks run as git runs them, and a failing one fails nothing of ours."""
    install(repo, "post-merge", f"echo ran >{tmp_path}/ran; exit 1")
    forward(repo)
    assert_moved(repo)
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_a_switch_after_the_move_is_the_users_own(repo: Repo) -> None:
    """A hook that switches branches once the target has moved takes nothing back."""
    repo.git("branch", "elsewhere")
    install(repo, "post-merge", "git checkout -q elsewhere")
    forward(repo)
    assert repo.head("main") == repo.head("new")
    assert repo.head("elsewhere") == repo.head("main~1")


def switch_before_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Put a `git` on PATH that runs a command of the user's just before our merge."""
    real = next(p for p in os.environ["PATH"].split(":") if Path(p, "git").exists())
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" merge --ff-only "*) (PATH="{real}:$PATH"; cd "$2";'
        f' {command}) >/dev/null 2>&1;; esac\nexec {real}/git "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("behind", [0, 1])
@pytest.mark.parametrize("detached", [False, True])
def test_a_switch_in_the_middle_is_taken_back(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: int, detached: bool
) -> None:
    """If git moved another branch or a detached HEAD, it is moved back with its files and work."""
    repo.commit("second", {"second": "1\n"})
    old = repo.head()
    repo.git("branch", "feature", f"main~{behind}")
    repo.git("checkout", "-q", "new")
    repo.git("rebase", "-q", "main")
    repo.git("checkout", "-q", "main")
    repo.write({"g": "dirty\n", "untracked": "u\n"})
    feature = repo.head("feature")
    option = "--detach " if detached else ""
    switch_before_merge(tmp_path, monkeypatch, f"git checkout -q {option}feature")
    with pytest.raises(Conflict) as caught:
        forward(repo)
    monkeypatch.undo()
    assert caught.value.code == "checkout_moved"
    assert repo.head("main") == old
    assert repo.head("feature") == feature
    assert repo.head() == feature
    assert repo.git("status", "--porcelain").split() == ["M", "g", "??", "untracked"]
    assert (repo.root / "g").read_text() == "dirty\n"


def test_a_switch_that_cannot_be_taken_back(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another git holds the index then, the hint is the command that moves the branch back."""
    old = repo.head("main")
    repo.git("branch", "feature")
    switch_before_merge(tmp_path, monkeypatch, "git checkout -q feature")
    install(repo, "post-merge", "touch .git/index.lock")
    with pytest.raises(Conflict) as caught:
        forward(repo)
    monkeypatch.undo()
    assert caught.value.code == "wrong_branch_moved"
    assert repo.head("feature") == repo.head("new")
    (repo.root / ".git" / "index.lock").unlink()
    hint = str(caught.value.hint)
    assert follow(Printed([], str(repo.root)), hint) is None
    assert (repo.head("feature"), repo.head("main")) == (old, old)
    assert repo.git("status", "--porcelain") == ""
    note(hint, caught.value.message)


def test_a_switch_to_an_unrelated_branch_moves_nothing(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If git cannot fast-forward the checkout that it finds, nothing has changed."""
    repo.git("checkout", "-q", "-b", "feature")
    feature = repo.commit("own", {"own": "1\n"})
    repo.git("checkout", "-q", "main")
    old = repo.head()
    switch_before_merge(tmp_path, monkeypatch, "git checkout -q feature")
    with pytest.raises(GitWorkerError):
        forward(repo)
    assert (repo.head("main"), repo.head("feature")) == (old, feature)
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_in_the_middle_is_kept(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that the user makes on the target just before is never lost."""
    switch_before_merge(tmp_path, monkeypatch, "git commit -q --allow-empty -m users")
    with pytest.raises(Conflict) as caught:
        forward(repo)
    assert caught.value.code == "ref_moved"
    assert repo.git("log", "-1", "--format=%s", "main") == "users"
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_of_the_files_git_wrote_keeps_it(repo: Repo) -> None:
    """A commit made while git is between index and ref has the landed files and keeps them."""
    install(
        repo, "post-index-change",
        "test -e .git/once && exit 0; touch .git/once; git commit -qm 'By the user'",
    )  # fmt: skip
    with pytest.raises((Conflict, Refused)):
        forward(repo)
    assert repo.git("log", "-1", "--format=%s", "main") == "By the user"
    assert repo.git("show", "main:added") == "1"
    assert repo.git("status", "--porcelain") == ""
    assert (repo.root / "added").read_text() == "1\n"


def test_an_index_lock_in_the_middle_changes_nothing(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock taken after our look makes git refuse before anything moves."""
    switch_before_merge(tmp_path, monkeypatch, "touch .git/index.lock")
    with pytest.raises(Refused):
        forward(repo)
    (repo.root / ".git/index.lock").unlink()
    assert repo.git("status", "--porcelain") == ""
    assert repo.head("main") != repo.head("new")


def test_not_checked_out_the_ref_moves_alone(repo: Repo) -> None:
    """With another branch checked out, no file moves."""
    repo.git("checkout", "-q", "-b", "other")
    before = tree_bytes(repo.root / "dir")
    forward(repo)
    assert repo.head("main") == repo.head("new")
    assert repo.git("status", "--porcelain") == ""
    assert tree_bytes(repo.root / "dir") == before


def test_a_detached_head_stays(repo: Repo) -> None:
    """A HEAD detached at the target does not move with it."""
    repo.git("checkout", "-q", "--detach")
    old = repo.head()
    forward(repo)
    assert (repo.head(), repo.head("main")) == (old, repo.head("new"))


def test_a_bare_repository_moves(repo: Repo, tmp_path: Path) -> None:
    """A bare repository has no checkout, though its HEAD names the target."""
    bare = Repo(tmp_path / "bare.git")
    repo.git("clone", "-q", "--bare", str(repo.root), str(bare.root))
    forward(bare)
    assert bare.head("main") == bare.head("new")


def test_a_linked_worktree_of_the_target_follows(repo: Repo, tmp_path: Path) -> None:
    """The target may be checked out in another worktree."""
    repo.git("checkout", "-q", "-b", "other")
    linked = repo.worktree(tmp_path / "linked", "main")
    linked.write({"g": "dirty\n"})
    forward(repo)
    assert_moved(linked, dirty=" M g")
    assert repo.git("status", "--porcelain") == ""


def test_a_missing_worktree_of_the_target_is_refused(repo: Repo, tmp_path: Path) -> None:
    """An unmounted worktree would be behind its branch when mounted again: refused."""
    repo.git("checkout", "-q", "-b", "other")
    repo.worktree(tmp_path / "linked", "main")
    (tmp_path / "linked").rename(tmp_path / "unmounted")
    old = repo.head("main")
    with pytest.raises(Refused):
        forward(repo)
    assert repo.head("main") == old


def test_a_checkout_that_appears_after_the_look_follows(repo: Repo) -> None:
    """If the caller says that the target is nowhere checked out, the move detects that it is."""
    fast_forward(
        Git(str(repo.root)), ref=MAIN, old=Oid(repo.head("main")), new=Oid(repo.head("new")),
        worktree=None, reason="landing: test",
    )  # fmt: skip
    assert_moved(repo)


def test_a_commit_that_does_not_descend_is_refused(repo: Repo) -> None:
    """Nothing ever force-moves the target."""
    repo.commit("own", {"own": "1\n"})
    assert_refused(repo)


def test_a_target_that_moved_is_a_conflict(repo: Repo) -> None:
    """The caller's old tip is compared."""
    old, new = repo.head("main"), repo.head("new")
    repo.commit("own", {"own": "1\n"})
    with pytest.raises(Conflict):
        fast_forward(
            Git(str(repo.root)), ref=MAIN, old=Oid(old), new=Oid(new),
            worktree=str(repo.root), reason="landing: test",
        )  # fmt: skip


def install(repo: Repo, name: str, script: str) -> None:
    """Make a hook of the user's."""
    hook = repo.root / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def test_a_second_checkout_of_the_target_is_refused(repo: Repo, tmp_path: Path) -> None:
    """Only one checkout can follow, so that two are too many."""
    repo.git("worktree", "add", "-q", "--force", str(tmp_path / "second"), "main")
    assert_refused(repo, str(repo.root), str(tmp_path / "second"))


def test_a_separate_git_directory_follows(repo: Repo, tmp_path: Path) -> None:
    """The main checkout of a git directory elsewhere is found from there, and asked for else."""
    repo.git("init", "-q", "--separate-git-dir", str(tmp_path / "gd"))
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    with pytest.raises(Refused, match="does not show the path of the main checkout"):
        forward(repo, tmp_path / "linked")
    forward(repo)
    assert_moved(repo)
