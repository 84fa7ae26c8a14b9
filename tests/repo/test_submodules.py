"""Submodules of linked worktrees: filled from the main checkout's, and nothing of them lost."""

import socket
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.model.ids import Oid, TaskId, WorkerId
from gitworker.repo.plumbing.git import Git
from gitworker.repo.worktrees.submodules import (
    Unpublished,
    populate_submodules,
    rescue_submodules,
    unpublished_submodule_commits,
)
from tests.hints.following import Printed, note, perform

FILE = ("-c", "protocol.file.allow=always")


@pytest.fixture
def upstream(tmp_path: Path) -> Repo:
    """A library `lib` whose submodule is `inner`, both in bare repositories."""
    inner = Repo.make(tmp_path / "inner")
    inner.commit("Inner", {"inner.txt": "inner\n"})
    lib = Repo.make(tmp_path / "lib")
    lib.commit("Lib", {"lib.txt": "lib\n"})
    lib.git(*FILE, "submodule", "--quiet", "add", str(inner.root), "deep/inner")
    lib.git("commit", "-qm", "Inner")
    return lib


@pytest.fixture
def repo(tmp_path: Path, upstream: Repo) -> Repo:
    """A repository with the library filled, and another submodule that is not."""
    made = Repo.make(tmp_path / "repo")
    made.commit("Start", {"README": "one\n"})
    made.git(*FILE, "submodule", "--quiet", "add", str(upstream.root), "lib")
    made.git(*FILE, "submodule", "--quiet", "add", str(upstream.root), "other")
    made.git(*FILE, "submodule", "--quiet", "update", "--init", "--recursive", "lib")
    made.git("commit", "-qm", "Submodules")
    made.git("submodule", "--quiet", "deinit", "--force", "other")
    return made


def worktree(repo: Repo, name: str = "wt") -> Repo:
    """Add a worktree whose submodules are filled."""
    place = repo.root.parent / name
    repo.git("worktree", "add", "-q", "-b", name, str(place))
    populate_submodules(Git(str(repo.root)), str(place))
    return Repo(place)


def offline(upstream: Repo) -> None:
    """Let the remotes be out of reach."""
    for name in ("lib", "inner"):
        (upstream.root.parent / name).rename(upstream.root.parent / f"{name}-away")


def test_filled_offline(repo: Repo, upstream: Repo) -> None:
    """Submodules filled in the main checkout are filled without a fetch, nested ones too."""
    offline(upstream)
    made = worktree(repo)
    assert (made.root / "lib/lib.txt").read_text() == "lib\n"
    assert (made.root / "lib/deep/inner/inner.txt").read_text() == "inner\n"
    assert list((made.root / "other").iterdir()) == []
    assert made.git("status", "--porcelain") == ""
    assert repo.git("status", "--porcelain") == ""
    listed = made.git("submodule", "status", "--recursive").splitlines()
    assert [line.split()[1] for line in listed if line[0] != "-"] == ["lib", "lib/deep/inner"]


def test_as_a_clone_would_be(repo: Repo, upstream: Repo) -> None:
    """A filled submodule borrows its objects, and has the remote and the branches of the main's."""
    made = Repo(worktree(repo).root / "lib")
    main = Repo(repo.root / "lib")
    assert made.git("remote", "get-url", "origin") == str(upstream.root)
    refs = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/remotes/origin/main")
    assert made.git(*refs) == main.git(*refs) != ""
    alternates = Path(made.git("rev-parse", "--git-path", "objects/info/alternates"))
    assert str(repo.root / ".git/modules/lib") in (made.root / alternates).read_text()
    upstream.commit("More", {"more": "1\n"})
    made.git("fetch", "-q")
    assert made.git("rev-parse", "origin/main") == upstream.git("rev-parse", "main")


def test_a_commit_that_the_main_checkout_lacks(repo: Repo, upstream: Repo) -> None:
    """A commit that the main checkout lacks is fetched; one that no repository has is refused."""
    new = upstream.commit("New", {"new": "1\n"})
    repo.git("update-index", "--cacheinfo", f"160000,{new},lib")
    repo.git("config", "protocol.file.allow", "always")
    repo.git("commit", "-qm", "Newer")
    assert (worktree(repo).root / "lib/new").exists()
    repo.git("update-index", "--cacheinfo", f"160000,{'1' * 40},lib")
    repo.git("commit", "-qm", "Nowhere")
    with pytest.raises(Refused) as caught:
        worktree(repo, "wt2")
    assert caught.value.code == "submodule_missing"


def test_the_hint_about_a_remote_that_was_away(repo: Repo, upstream: Repo) -> None:
    """As soon as the remote is back, the command of the refusal lets the worktree be populated."""
    new = upstream.commit("New", {"new": "1\n"})
    repo.git("update-index", "--cacheinfo", f"160000,{new},lib")
    repo.git("config", "protocol.file.allow", "always")
    repo.git("commit", "-qm", "Newer")
    away = upstream.root.with_name("lib-away")
    upstream.root.rename(away)
    with pytest.raises(Refused) as caught:
        worktree(repo)
    away.rename(upstream.root)
    command = caught.value.hint or ""
    done = perform(command, Printed([], str(repo.root)))
    assert done.status == 0, done
    place = repo.root.parent / "wt"
    populate_submodules(Git(str(repo.root)), str(place))
    assert (place / "lib/new").exists()
    note(command, caught.value.message)


def test_a_remote_that_does_not_answer(repo: Repo) -> None:
    """A fetch that takes too long is given up, since it holds everybody's worktrees up."""
    repo.git("update-index", "--cacheinfo", f"160000,{'1' * 40},lib")
    repo.git("commit", "-qm", "Nowhere")
    place = repo.root.parent / "wt"
    repo.git("worktree", "add", "-q", "-b", "wt", str(place))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"git://127.0.0.1:{silent.getsockname()[1]}/lib"
        Repo(repo.root / "lib").git("config", "remote.origin.url", url)
        with pytest.raises(Refused) as caught:
            populate_submodules(Git(str(repo.root)), str(place), limit_s=1)
    assert caught.value.code == "submodule_missing"


def unpublished(repo: Repo, made: Repo) -> tuple[Unpublished, ...]:
    """Return the submodule commits of a worktree's branch that are nowhere else."""
    tip = Oid(made.git("rev-parse", "HEAD"))
    base = Oid(repo.git("rev-parse", "main"))
    return unpublished_submodule_commits(Git(str(repo.root)), base, tip, str(made.root))


def test_unpublished(repo: Repo, upstream: Repo) -> None:
    """A pointer to a submodule commit is unpublished until it is pushed or in the main checkout."""
    made = worktree(repo)
    made.commit("No submodule", {"a": "1\n"})
    assert unpublished(repo, made) == ()
    lib = Repo(made.root / "lib")
    own = lib.commit("Mine", {"mine": "1\n"})
    made.git("commit", "-qam", "Point to it")
    made.commit("Later", {"b": "1\n"})
    assert unpublished(repo, made) == (Unpublished("lib", Oid(own)),)
    upstream.git("config", "receive.denyCurrentBranch", "ignore")
    lib.git(*FILE, "push", "-q", "origin", "HEAD:main")
    assert unpublished(repo, made) == ()


def test_published_in_the_main_checkout(repo: Repo) -> None:
    """A submodule commit that the main checkout has fetched may be pointed to."""
    made = worktree(repo)
    own = Repo(made.root / "lib").commit("Mine", {"mine": "1\n"})
    made.git("commit", "-qam", "Point to it")
    Repo(repo.root / "lib").git(*FILE, "fetch", "-q", str(made.root / "lib"), own)
    assert unpublished(repo, made) == ()


def test_unknown_state_is_not_reported(repo: Repo) -> None:
    """An unfilled submodule, and a pointer without a line in .gitmodules, is not reported."""
    made = worktree(repo)
    made.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},unnamed")
    made.git("commit", "-qm", "Pointers")
    assert unpublished(repo, made) == ()


def rescued(repo: Repo, made: Repo) -> list[str]:
    """Rescue a worktree's submodules; return the refs that keep something."""
    admin = made.git("rev-parse", "--absolute-git-dir")
    return rescue_submodules(
        Git(str(repo.root)), worker=WorkerId("auth"), task=TaskId("login"), admin_dir=admin
    )


def test_rescue(repo: Repo) -> None:
    """Commits of any branch and unfinished work of a submodule move into the main checkout's."""
    made = worktree(repo)
    assert rescued(repo, made) == []
    lib = Repo(made.root / "lib")
    lib.git("switch", "-q", "-c", "idea")
    own = lib.commit("Mine", {"mine": "1\n"})
    lib.git("switch", "-q", "--detach", "HEAD~")
    inner = Repo(lib.root / "deep/inner").commit("Inner", {"own": "1\n"})
    lib.write({"lib.txt": "changed\n", "untracked": "new\n"})
    refs = rescued(repo, made)
    assert len(refs) == 2
    main = Repo(repo.root / "lib")
    assert own in main.git("rev-list", "--all")
    kept = main.git("for-each-ref", "--format=%(refname)", "refs/worker/submodules/auth/login")
    (work,) = [ref for ref in kept.splitlines() if "/work/" in ref]
    assert main.git("show", f"{work}:lib.txt") == "changed"
    assert inner in Repo(main.root / "deep/inner").git("rev-list", "--all")
    again = rescued(repo, made)
    assert len(again) == 2
    assert not set(again) & set(refs)


def test_rescue_if_the_main_checkout_has_none(repo: Repo, upstream: Repo) -> None:
    """The work of a submodule that only the worktree has is kept in the repository itself."""
    made = worktree(repo)
    made.git(*FILE, "submodule", "--quiet", "add", "--name", "a b~c", str(upstream.root), "new")
    own = Repo(made.root / "new").commit("Mine", {"mine": "1\n"})
    (ref,) = rescued(repo, made)
    assert repo.git("rev-parse", ref) == own
