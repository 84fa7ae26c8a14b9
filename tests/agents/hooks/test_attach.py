"""agent install and uninstall on real files: restored byte for byte, tracked files untouched."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.agents.hooks.attach import (
    AttachedAgent,
    attach_for_user,
    attach_here,
    detach_for_user,
    detach_here,
    local_records,
)
from gitworker.agents.hooks.rules_settings import AGENTS
from gitworker.errors import Invalid, Refused
from gitworker.fsck.quick.agent_checks import check_agents
from gitworker.repo.pool.parked import list_parked
from gitworker.service import open_repository
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from gitworker.worktrees.populate.attached_files import copy_attached
from tests.workers.world import World, without_heartbeat_daemon

PROGRAM = "/bin/true"
LOCAL = ".claude/settings.local.json"
USERS = '{ "permissions":{"allow":["Bash(make:*)"]},\n\t"hooks" : {"Stop": []}}'


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository with the worker `auth`."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = World.make(tmp_path / "repo")
    made.spawn("auth", "t1")
    with without_heartbeat_daemon(made):
        yield made


def install(world: World, agent: str = "claude") -> AttachedAgent:
    """Attach an agent in the repository."""
    return attach_here(world.session(), agent, PROGRAM)


def files_of(root: Path) -> dict[str, bytes]:
    """Return every file and directory below a place, without git's."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"/"
        for path in root.rglob("*")
        if ".git" not in path.relative_to(root).parts
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_every_byte_returns(world: World, agent: str) -> None:
    """After install and uninstall all files are as before, and git never sees a change."""
    (world.root / ".claude").mkdir()
    (world.root / LOCAL).write_text(USERS)
    (world.root / LOCAL).chmod(0o600)
    world.git("config", "core.excludesFile", "/dev/null")
    world.advance({".gitignore": f"*.o\n{LOCAL}\n"})
    exclude = world.root / ".git/info/exclude"
    before, excluded = files_of(world.root), exclude.read_bytes()
    for _ in range(2):
        done = install(world, agent)
    assert len(done.files) == 2
    assert world.git("status", "--porcelain") == ""
    assert world.git("status", "--porcelain", cwd=world.path("auth")) == ""
    detach_here(world.session(), agent)
    assert files_of(world.root) == before
    assert exclude.read_bytes() == excluded
    assert (world.root / LOCAL).stat().st_mode & 0o777 == 0o600


def test_new_worktrees_are_attached(world: World) -> None:
    """A worktree that is made later has the hooks, is clean, and loses them with the others."""
    install(world)
    world.spawn("docs", "t2")
    path = world.path("docs")
    assert PROGRAM in (path / LOCAL).read_text()
    assert world.git("status", "--porcelain", cwd=path) == ""
    detach_here(world.session(), "claude")
    assert not (path / ".claude").exists()


def test_parked_worktrees_lose_them(world: World) -> None:
    """A worktree that went to the pool with the hooks does not keep them."""
    world.git("config", "worker.worktree.pool", "1")
    install(world)
    keep_pool(world.session())
    session = world.session()
    (parked,) = list_parked(open_pool(session))
    file = Path(parked.tree, LOCAL)
    file.parent.mkdir()
    file.write_bytes(world.path("auth").joinpath(LOCAL).read_bytes())
    detach_here(session, "claude")
    assert not file.parent.exists()


def test_hooks_uninstall_takes_them_along(world: World) -> None:
    """After `hooks uninstall` no agent is attached, and git shows no file of ours."""
    before = files_of(world.root).keys()
    install(world)
    install(world, "qwen")
    said: list[str] = []
    open_repository(str(world.root), progress=lambda one: said.append(str(one))).uninstall_hooks()
    assert sum("the hooks of" in one for one in said) == len(("claude", "qwen"))
    assert [one.message for one in check_agents(world.session())] == ["no hooks attached"]
    assert not files_of(world.root).keys() - before


def test_later_changes_stay(world: World) -> None:
    """If the user or the agent has changed the file since, only our entries are removed."""
    install(world)
    file = world.root / LOCAL
    file.write_text(file.read_text().replace("{", '{"model": "x",', 1))
    detach_here(world.session(), "claude")
    assert file.read_text() == '{\n  "model": "x"\n}\n'


def test_a_lost_record(world: World) -> None:
    """Without a readable record our entries are removed all the same, and no other file is read."""
    install(world)
    record = Path(local_records(world.session()), "claude.json")
    record.write_text("damaged")
    file = world.root / LOCAL
    file.write_text(file.read_text().replace("{", '{"model": "x",', 1))
    detach_here(world.session(), "claude")
    assert file.read_text() == '{\n  "model": "x"\n}\n'
    assert not (world.path("auth") / LOCAL).exists()
    assert not record.exists()
    file.write_text("{} // mine")
    assert detach_here(world.session(), "claude").files == ()


def test_tracked_files_are_refused(world: World) -> None:
    """A tracked settings file is not changed in any worktree."""
    world.advance({".gemini/settings.json": "{}"})
    with pytest.raises(Refused) as caught:
        install(world, "gemini")
    assert caught.value.hint == "git worker agent install gemini --user"
    assert world.git("status", "--porcelain") == ""


def test_an_unusable_file_is_refused(world: World) -> None:
    """A file with comments is refused before anything is written."""
    (world.root / ".qwen").mkdir()
    (world.root / ".qwen/settings.json").write_text("{} // mine")
    with pytest.raises(Invalid):
        install(world, "qwen")
    assert not (world.path("auth") / ".qwen").exists()


def test_a_link_stays_a_link(world: World, tmp_path: Path) -> None:
    """A settings file that is a link to another place is changed there and restored there."""
    real = tmp_path / "dotfiles.json"
    real.write_text(USERS)
    env = {"HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    (tmp_path / "claude").mkdir()
    link = tmp_path / "claude/settings.json"
    link.symlink_to(real)
    assert attach_for_user("claude", PROGRAM, env).files == (str(link),)
    assert PROGRAM in real.read_text()
    detach_for_user("claude", env)
    assert link.is_symlink()
    assert real.read_text() == USERS


@pytest.mark.parametrize("link", [".claude", LOCAL], ids=["directory", "file"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_links_of_a_branch(world: World, tmp_path: Path, link: str, when: str) -> None:
    """A link that a worker's branch has on the way to the file is never written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    if when == "after":
        install(world)
    place = world.root / "worktrees/t1"
    shutil.rmtree(place / ".claude", ignore_errors=True)
    (place / link).parent.mkdir(exist_ok=True)
    (place / link).symlink_to(outside if link == ".claude" else outside / "theirs.json")
    theirs = outside / ("settings.local.json" if link == ".claude" else "theirs.json")
    theirs.write_bytes((world.root / LOCAL).read_bytes() if when == "after" else b"{}")
    before = files_of(outside)
    installed = install(world)
    assert installed.files == (str(world.root / LOCAL),)
    detach_here(world.session(), "claude")
    assert files_of(outside) == before
    assert not (world.root / ".claude").exists()


def test_a_new_worktree_with_a_link(world: World, tmp_path: Path) -> None:
    """A new worktree whose commit has a link for the agent's directory gets no file behind it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    install(world)
    place = Path(world.spawn("docs", "t2").path)
    shutil.rmtree(place / ".claude")
    (place / ".claude").symlink_to(outside)
    copy_attached(local_records(world.session()), str(place))
    assert files_of(outside) == {}


def test_a_link_without_a_target_stays(tmp_path: Path) -> None:
    """A link to a file that does not exist yet stays, and the file is removed again."""
    home = tmp_path / "codex"
    home.mkdir()
    link, real = home / "hooks.json", tmp_path / "dotfile.json"
    link.symlink_to(real)
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(home)}
    attach_for_user("codex", PROGRAM, env)
    assert PROGRAM in real.read_text()
    detach_for_user("codex", env)
    assert link.is_symlink()
    assert not real.exists()


def test_a_user_without_settings(tmp_path: Path) -> None:
    """New files and directories of the user are removed again."""
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    for agent in AGENTS:
        attach_for_user(agent, PROGRAM, env)
        detach_for_user(agent, env)
    assert {path.name for path in tmp_path.iterdir()} == {"state"}


def test_doctor_lists_the_agents(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` lists attached agents, and warns of a lost file and a missing program."""
    install(world)
    assert [one.message for one in check_agents(world.session())] == ["hooks attached: claude"]
    (world.root / LOCAL).unlink()
    assert LOCAL in next(iter(check_agents(world.session()))).message
    attach_here(world.session(), "claude", "/no/such/program")
    assert "does not exist" in next(iter(check_agents(world.session()))).message
    detach_here(world.session(), "claude")
    assert [one.message for one in check_agents(world.session())] == ["no hooks attached"]
