"""An approval covers patch, author and message of every commit, and no more."""

import json
import os
from collections.abc import Callable
from contextlib import closing

import apsw
import pytest

from fixtures.repos import Repo
from gitworker.landing.merge import NotLanded
from gitworker.workers.start import start
from tests.workers.world import World

LATER = {"GIT_COMMITTER_DATE": "2030-01-01T00:00:00Z"}


def amend(*words: str, **env: str) -> Callable[[Repo], None]:
    """Return an amendment of the newest commit."""
    return lambda repo: _git(repo, "commit", "-q", "--amend", "--allow-empty", *words, **env)


def rewrite(old: bytes, new: bytes) -> Callable[[Repo], None]:
    """Return a change of the newest commit's object."""

    def change(repo: Repo) -> None:
        raw = repo.run("cat-file", "commit", "HEAD").stdout
        assert old in raw
        repo.git("update-ref", "HEAD", repo.raw_commit(raw.replace(old, new, 1)))

    return change


def again(*commands: str) -> Callable[[Repo], None]:
    """Return git commands."""

    def change(repo: Repo) -> None:
        for command in commands:
            repo.git(*command.split(" "))

    return change


def _git(repo: Repo, *words: str, **env: str) -> None:
    repo.git(*words, env={**os.environ, **env})


def mode(repo: Repo) -> None:
    """Make a file executable in the newest commit."""
    repo.git("update-index", "--chmod=+x", "bin")
    repo.git("commit", "-q", "--amend", "--no-edit")
    repo.git("checkout", "-q", "--", "bin")


def binary(repo: Repo) -> None:
    """Change one byte of a binary file in the newest commit."""
    (repo.root / "bin").write_bytes(b"\0\1\3")
    repo.git("commit", "-q", "-a", "--amend", "--no-edit")


def submodule(repo: Repo) -> None:
    """Let the newest commit point to another commit of a submodule."""
    repo.git("update-index", "--cacheinfo", f"160000,{'2' * 40},sub")
    repo.git("commit", "-q", "--amend", "--no-edit")


def order(repo: Repo) -> None:
    """Swap the two newest commits."""
    first, second = repo.head("HEAD~1"), repo.head()
    repo.git("reset", "-q", "--hard", "HEAD~2")
    repo.git("cherry-pick", second, first)


def merge_by_hand(repo: Repo) -> None:
    """Commit a merge of the target that brings content of its own."""
    main = repo.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Moved")
    repo.git("update-ref", "refs/heads/main", main)
    repo.git("merge", "-q", "--no-commit", "--no-ff", "main")
    repo.write({"evil": "1\n"}).git("add", "evil")
    repo.git("commit", "-q", "-m", "Merge main")


CHANGES = {
    "message": amend("-m", "Other words"),
    "message, one blank": rewrite(b"\n\nSecond", b"\n\nSecond "),
    "message, blank lines at its end": rewrite(b"Ada <a@x>\n", b"Ada <a@x>\n\n\n"),
    "trailer": amend("--no-edit", "--trailer", "Reviewed-by: Boss <boss@example.org>"),
    "trailer's value": rewrite(b"Ada <a@x>", b"Bob <b@x>"),
    "author": amend("--no-edit", "--author=Eve <eve@example.org>"),
    "author's mail": rewrite(b"author Ada Tester <ada@", b"author Ada Tester <eve@"),
    "author's name": rewrite(b"author Ada Tester <", b"author Ada  Tester <"),
    "encoding": rewrite(b"\n\nSecond", b"\nencoding ISO-8859-1\n\nSecond"),
    "re-encoded": rewrite("S\u00e9".encode(), "S\u00e9".encode("latin-1")),
    "header": rewrite(b"\n\nSecond", b"\nreviewed-by Boss\n\nSecond"),
    "mode": mode,
    "binary file": binary,
    "submodule": submodule,
    "order": order,
    "empty commit more": again("commit -q --allow-empty -m Empty"),
    "commit less": again("reset -q --hard HEAD~1"),
    "squashed": again("reset -q --soft HEAD~1", "commit -q --amend --no-edit"),
    "merge": merge_by_hand,
    "reverted twice": again("revert --no-edit HEAD", "revert --no-edit HEAD"),
}  # fmt: skip


@pytest.fixture
def place(world: World) -> Repo:
    """An approved worker with two commits, the second with a trailer and files of every kind."""
    repo = Repo(world.working("auth", "login", {"a": "1\n"}))
    (repo.root / "bin").write_bytes(b"\0\1\2")
    repo.git("add", "bin")
    repo.write({".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ../sub\n'})
    repo.git("add", ".gitmodules")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (repo.root / "sub").mkdir()
    repo.git("commit", "-q", "-m", "Second S\u00e9\n\nSigned-off-by: Ada <a@x>")
    world.submit("auth")
    world.approve("auth")
    return repo


@pytest.mark.parametrize("change", CHANGES)
def test_any_difference_withdraws_it(world: World, place: Repo, change: str) -> None:
    """Commits that the reviewer did not see do not land, and the worker is IN_REVIEW again."""
    CHANGES[change](place)
    tip = world.tip("auth/login")
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded), change
    assert result.error.code == "approval_withdrawn"
    assert world.worker("auth").state.value == "IN_REVIEW"
    assert world.tip("auth/login") == tip
    assert world.git("ls-tree", "--name-only", "main", "a") == ""


@pytest.mark.parametrize(
    "change",
    [
        amend("--no-edit", **LATER),
        amend("--no-edit", "--date=2029-01-01T00:00:00Z"),
        amend("--no-edit", GIT_COMMITTER_NAME="Carl", GIT_COMMITTER_EMAIL="c@example.org"),
        rewrite(b"\n\nSecond", b"\ngpgsig -----BEGIN\n x\n -----END\n\nSecond"),
        again("notes add -m note"),
        again("rebase -q --force-rebase main"),
    ],
)
def test_committer_dates_notes_do_not_count(
    world: World, place: Repo, change: Callable[[Repo], None]
) -> None:
    """An approval ignores committer dates, which every rebase changes, and notes."""
    change(place)
    world.land("auth")
    assert world.show("a") == "1"


@pytest.mark.parametrize("moved", [True, False])
@pytest.mark.parametrize(
    "message", [b"S\xe9cond\n", b"\n\n  Second\n\n\n", b"Second", b"\xff\xfe broken\n"]
)
def test_our_own_rebase_keeps_it(world: World, moved: bool, message: bytes) -> None:
    """A replay at approve and again at merge re-encodes a message, and the approval holds."""
    repo = Repo(world.working("auth", "login", {"a": "1\n"}))
    header = b"\nencoding ISO-8859-1" if b"\xe9" in message else b""
    raw = repo.run("cat-file", "commit", "HEAD").stdout.partition(b"\n\n")[0]
    repo.git("update-ref", "HEAD", repo.raw_commit(raw + header + b"\n\n" + message))
    world.submit("auth")
    if moved:
        world.advance({"b": "2\n"})
    world.approve("auth")
    world.advance({"c": "3\n"})
    world.git("rebase", "-q", "main", cwd=repo.root)
    world.advance({"d": "4\n"})
    world.land("auth")
    assert world.show("a") == "1"


def test_a_stack_keeps_its_approvals(world: World) -> None:
    """A child's approval holds after its parent has landed, and not with another message."""
    world.approved("auth", "login", {"a": "1\n"})
    for worker, task in (("ui", "form"), ("api", "rest")):
        world.spawn(worker, task, start="auth/login")
        start(world.session(), worker, pid=os.getpid())
        world.commit(worker, {worker: "1\n"})
        world.submit(worker)
        world.approve(worker)
    amend("-m", "Other words")(Repo(world.path("api")))
    world.advance({"b": "2\n"})
    results = world.merge("auth", "ui", "api")
    assert [isinstance(one, NotLanded) for one in results] == [False, False, True]


def make_old(world: World) -> None:
    """Leave the patch ids only in the newest approval, as an older version recorded it."""
    with closing(apsw.Connection(f"{world.state_dir}/bus.db")) as connection:
        rows = connection.execute("SELECT id, patches FROM reviews WHERE verdict = 'approved'")
        for number, patches in rows.fetchall():
            old = json.dumps([one.split(" ")[0] for one in json.loads(patches)])
            connection.execute("UPDATE reviews SET patches = ? WHERE id = ?", (old, number))


@pytest.mark.parametrize("moved", [True, False])
def test_an_older_record_holds_for_its_commit(world: World, place: Repo, moved: bool) -> None:
    """An approval without authors and messages lands while the branch is at its commit."""
    make_old(world)
    if moved:
        world.advance({"b": "2\n"})
    world.land("auth")
    assert not place.root.exists()


@pytest.mark.parametrize("change", ["message", "author", "empty commit more"])
def test_an_older_record_holds_for_nothing_else(world: World, place: Repo, change: str) -> None:
    """For any other tip it is withdrawn, and a new approval is enough."""
    make_old(world)
    CHANGES[change](place)
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert result.error.code == "approval_withdrawn"
    world.approve("auth", at="auth/login")
    world.land("auth")


def test_the_message_names_the_change(world: World, place: Repo) -> None:
    """The reason names author and message, or the order, and the view shows plain patch ids."""
    assert all(len(one) == 40 for one in world.view("auth", "reviews")["patches"])
    CHANGES["trailer"](place)
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert "author or message" in result.error.message
    world.approve("auth", at="auth/login")
    order(place)
    (result,) = world.merge("auth")
    assert isinstance(result, NotLanded)
    assert "order" in result.error.message
