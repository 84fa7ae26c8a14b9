"""Commits after a landing stay in sight: in the inbox, in doctor, and when the worker goes on."""

from gitworker.fsck.quick.worktree_checks import check_branches
from gitworker.landing.merge import merge
from gitworker.observe.inbox.needs import read_needs
from gitworker.progress import Event, Notice
from gitworker.workers.cancel import recycle
from gitworker.workers.spawn import SpawnRequest, spawn
from tests.workers.world import World

LATER = "branch auth/login has 1 commit since its task landed"
ASSIGN = "git worker assign auth login-2 --from auth/login"
SPAWN = "git worker spawn auth-2 login-2 --from auth/login"


def later(world: World) -> None:
    """Land work and keep its worktree, in which a process commits again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    assert read_needs(world.session(), limit=9).items == ()
    world.commit("auth", {"b": "2\n"}, "Later")


def in_sight(world: World) -> list[tuple[str, str | None]]:
    """Return the sentence and the command of the only need, which doctor repeats."""
    (need,) = read_needs(world.session(), limit=9).items
    (found,) = check_branches(world.session())
    assert (found.message, found.hint) == (need.text, need.command)
    assert (need.kind, need.source, need.task) == ("branch", "auth", "login")
    return [(need.text, need.command)]


def test_in_inbox_and_doctor(world: World) -> None:
    """The inbox of hq and doctor name the commits and their command until a branch has them."""
    later(world)
    assert in_sight(world) == [(LATER, ASSIGN)]
    notices: list[Event] = []
    merge(world.session(report=notices.append), ["auth"])
    assert notices[1:] == [Notice(f"{LATER}: {ASSIGN}")]


def test_after_recycle(world: World) -> None:
    """recycle names the commits; they stay in sight until another worker begins with them."""
    later(world)
    notices: list[Event] = []
    recycle(world.session(report=notices.append), "auth")
    assert notices == [Notice(f"{LATER}: {ASSIGN}")]
    assert in_sight(world) == [(f"{LATER}, and no worker has the branch", ASSIGN)]
    world.spawn("docs", "guide", start="auth/login")
    assert read_needs(world.session(), limit=9).items == ()


def test_after_the_next_task(world: World) -> None:
    """spawn of another task names the commits, and then they need another worker."""
    later(world)
    notices: list[Event] = []
    spawn(world.session(report=notices.append), SpawnRequest("auth", "logout"))
    assert Notice(f"{LATER}: {SPAWN}") in notices
    assert in_sight(world) == [(f"{LATER}, and no worker has the branch", SPAWN)]


def test_spawn_on_the_commits(world: World) -> None:
    """assign from the branch takes the commits over, so that nothing is reported."""
    later(world)
    notices: list[Event] = []
    request = SpawnRequest("auth", "login-2", start="auth/login")
    spawn(world.session(report=notices.append), request)
    assert notices == []
    assert read_needs(world.session(), limit=9).items == ()
