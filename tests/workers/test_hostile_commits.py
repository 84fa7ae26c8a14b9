"""A malformed commit is refused by every command that accepts work, and blocks only its worker."""

import json

import pytest

from fixtures.hostile_commits import HARMLESS, hostile_commit
from fixtures.hostile_trees import commit_tree
from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.landing.merge import NotLanded
from gitworker.model.ids import TaskId, WorkerId
from gitworker.workers.adopt import AdoptRequest, adopt
from tests.cli.kit import run
from tests.workers.world import World, unchanged

FEW = (
    "no author", "two authors", "no email", "date of 64 bits", "two trees", "NUL in the header",
    "NUL in the message", "no tree",
)  # fmt: skip


def plant(world: World, shape: str, *, below: bool = False, branch: str = "auth/login") -> str:
    """Put a malformed commit on a branch, below a good commit if asked; return its id."""
    repo = Repo(world.root)
    bad = hostile_commit(repo, shape, parent=world.tip(branch))
    tree = world.git("rev-parse", f"{branch}^{{tree}}")
    tip = commit_tree(repo, tree, parent=bad) if below else bad
    ref = world.root / ".git" / "refs" / "heads" / branch  # `update-ref` refuses some of them
    ref.write_text(f"{tip}\n")
    return bad


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("shape", FEW)
def test_done(world: World, shape: str, below: bool) -> None:
    """`done` refuses it, names worker, commit and reason, and changes nothing."""
    world.working("auth", "login", {"a": "1\n"})
    bad = plant(world, shape, below=below)
    answer = run(world.path("auth"), "done", "--json")
    error = json.loads(answer.out)["error"]
    assert (answer.status, error["code"]) == (1, "malformed_commit"), answer
    assert "auth" in error["message"]
    assert bad[:12] in error["message"]
    assert world.worker("auth").state.value == "WORKING"


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("shape", FEW)
def test_approve(world: World, shape: str, below: bool) -> None:
    """`approve` refuses it, and the branch stays as it is."""
    world.in_review("auth", "login", {"a": "1\n"})
    bad = plant(world, shape, below=below)
    before = (world.root / ".git/refs/heads/auth/login").read_text()
    with pytest.raises(Refused) as caught:
        world.approve("auth")
    assert caught.value.code == "malformed_commit"
    assert bad[:12] in caught.value.message
    assert (world.root / ".git/refs/heads/auth/login").read_text() == before
    assert world.worker("auth").state.value == "IN_REVIEW"


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("shape", FEW)
def test_merge(world: World, shape: str, below: bool) -> None:
    """A malformed commit planted after the approval lands nowhere; every other worker lands."""
    for worker, task in (("auth", "login"), ("ui", "form")):
        world.approved(worker, task, {worker: "1\n"})
    bad = plant(world, shape, below=below)
    results = world.merge("auth", "ui")
    assert [isinstance(one, NotLanded) for one in results] == [True, False]
    assert isinstance(results[0], NotLanded)
    assert results[0].error.code == "malformed_commit"
    assert bad[:12] in results[0].error.message
    assert bad not in world.git("rev-list", "main")


@pytest.mark.parametrize("shape", ["no author", "two trees", "NUL in the header"])
def test_adopt(world: World, shape: str) -> None:
    """`adopt` refuses such a branch before anything is touched."""
    world.git("branch", "auth/login")
    plant(world, shape)
    with unchanged(world, code="malformed_commit"):
        adopt(world.session(), AdoptRequest("auth/login", WorkerId("auth"), TaskId("login")))


@pytest.mark.parametrize("shape", HARMLESS)
def test_odd_commits_land(world: World, shape: str) -> None:
    """A commit that `git fsck` accepts lands, however odd its header is."""
    world.working("auth", "login", {"a": "1\n"})
    plant(world, shape)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    world.git("fsck", "--strict")
