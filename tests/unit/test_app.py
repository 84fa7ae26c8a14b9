"""Opening a session: the state, identity, target and settings that a command gets."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitworker.app import (
    EXCLUDE_BEGIN,
    add_excludes,
    open_session,
    remove_excludes,
    require_target_tip,
)
from gitworker.errors import Invalid, NotFound, Refused, Unavailable
from gitworker.lifecycle.find import require_worker
from gitworker.paths import write_worktree_owner
from gitworker.progress import Event, Notice
from gitworker.session import Session
from tests.conftest import git


@pytest.fixture
def at(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that opens a session in a directory, as a command does."""

    def open_at(place: Path = repository, **options: Any) -> Session:
        monkeypatch.chdir(place)
        return open_session(**options)

    return open_at


def test_the_first_command_prepares_the_state(repository: Path, at: Any) -> None:
    """State directory, link and excludes are made once and private, and git ignores them."""
    session = at()
    state = repository / ".git" / "worker-state"
    assert session.paths.root == str(state)
    assert state.stat().st_mode & 0o777 == 0o700
    assert os.readlink(repository / ".worker-state") == ".git/worker-state"
    assert (repository / ".worker-state" / "bus.db").exists()
    assert git(repository, "status", "--porcelain") == ""
    assert at().paths.root == session.paths.root
    exclude = (repository / ".git" / "info" / "exclude").read_text()
    assert exclude.count(EXCLUDE_BEGIN) == 1


def test_sixteen_first_commands_may_race(repository: Path) -> None:
    """Sixteen first commands at once prepare one state, and all of them succeed."""
    program = (
        "import sys; sys.stdin.readline()\nfrom gitworker.app import open_session\nopen_session()"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program], cwd=repository, stdin=subprocess.PIPE, text=True
        )
        for _ in range(16)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate()
    assert [racer.returncode for racer in racers] == [0] * 16
    exclude = (repository / ".git" / "info" / "exclude").read_text()
    assert exclude.count(EXCLUDE_BEGIN) == 1
    assert [p.name for p in (repository / ".git" / "info").iterdir()] == ["exclude"]


def test_a_command_that_only_reads_makes_nothing(repository: Path, at: Any) -> None:
    """Before setup, `create=False` names the command that sets the repository up."""
    with pytest.raises(Unavailable) as caught:
        at(create=False)
    assert (caught.value.code, caught.value.hint) == ("not_initialised", "git worker init")
    assert not (repository / ".git" / "worker-state").exists()


def test_a_lost_link_is_made_again(repository: Path, at: Any) -> None:
    """Any command restores the link; a user's file in its place stays."""
    at()
    link = repository / ".worker-state"
    link.unlink()
    at()
    assert link.is_symlink()
    link.unlink()
    link.write_text("the user's")
    at()
    assert link.read_text() == "the user's"


def test_excludes_keep_the_users_lines(repository: Path) -> None:
    """Our lines are added once, after the user's, and removed without a trace."""
    path = repository / ".git" / "info" / "exclude"
    for before in ("", "*.tmp\n", "*.tmp", "\udcff\n"):
        path.write_text(before, errors="surrogateescape")
        add_excludes(str(repository / ".git"))
        add_excludes(str(repository / ".git"))
        assert path.read_text(errors="surrogateescape").startswith(before)
        remove_excludes(str(repository / ".git"))
        wanted = before if before.endswith("\n") or not before else before + "\n"
        assert path.read_text(errors="surrogateescape") == wanted
    remove_excludes(str(repository / ".git"))
    path.unlink()
    path.parent.rmdir()
    remove_excludes(str(repository / ".git"))
    add_excludes(str(repository / ".git"))
    assert path.exists()


def test_identity(repository: Path, at: Any, tmp_path: Path) -> None:
    """The identity is the option, else GITWORKER_ID, else the worktree's worker, else hq."""
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    write_worktree_owner(git(linked, "rev-parse", "--absolute-git-dir"), "auth", "t")
    env = {**os.environ, "GITWORKER_ID": "docs"}
    assert at().actor == "hq"
    assert at(linked).actor == "auth"
    assert at(linked, env=env).actor == "docs"
    assert at(linked, env=env, identity="orchestrator").actor == "orchestrator"
    with pytest.raises(Invalid):
        at(identity="No Such Name")


def test_two_identities(repository: Path, at: Any, tmp_path: Path) -> None:
    """Without a name, GITWORKER_ID of one worker is refused in the worktree of another one."""
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    write_worktree_owner(git(linked, "rev-parse", "--absolute-git-dir"), "auth", "t")
    env = {**os.environ, "GITWORKER_ID": "docs"}
    session = at(linked, env=env)
    with session.store.read() as reader, pytest.raises(Refused) as caught:
        require_worker(reader, None, session)
    assert caught.value.message == "GITWORKER_ID is docs, but this worktree belongs to auth"
    assert "--as docs" in (caught.value.hint or "")
    with session.store.read() as reader, pytest.raises(NotFound):
        require_worker(reader, "docs", session)
    assert at(linked, env=env, identity="docs").other_worker is None
    assert at(linked, env={**env, "GITWORKER_ID": "auth"}).other_worker is None
    assert at(env=env).other_worker is None


@pytest.mark.parametrize(
    ("branches", "default", "target"),
    [(["main", "master"], "", "main"), (["master", "trunk"], "trunk", "trunk"),
     (["master", "x"], "", "master"), (["x"], "", "main")],
)  # fmt: skip
def test_the_first_target(
    repository: Path, at: Any, branches: list[str], default: str, target: str
) -> None:
    """Without a setting the target is main, else git's default branch, else master."""
    for name in branches:
        git(repository, "branch", "-f", f"b-{name}")
        git(repository, "branch", "-m", f"b-{name}", f"{name}-later")
    git(repository, "checkout", "-q", "--detach")
    git(repository, "branch", "-D", "main")
    for name in branches:
        git(repository, "branch", "-m", f"{name}-later", name)
    if default:
        git(repository, "config", "init.defaultBranch", default)
    assert at().target == f"refs/heads/{target}"


def test_a_branch_that_appears_is_not_the_target(repository: Path, at: Any) -> None:
    """The target is chosen once: neither a new main nor a missing target changes it."""
    git(repository, "branch", "-m", "main", "master")
    assert at().target == "refs/heads/master"
    git(repository, "branch", "main")
    assert at().target == "refs/heads/master"
    git(repository, "branch", "-m", "master", "trunk")
    git(repository, "config", "init.defaultBranch", "trunk")
    session = at()
    assert session.target == "refs/heads/master"
    with pytest.raises(Refused, match="master") as caught:
        require_target_tip(session)
    assert (caught.value.code, caught.value.hint) == (
        "no_target",
        "git config worker.target <name>   # or create it: git branch master <commit>",
    )


def test_a_checkout_by_environment_alone(repository: Path, at: Any, tmp_path: Path) -> None:
    """If git finds the repository by GIT_DIR only, the error names a way out, nothing is made."""
    (repository / ".git").rename(tmp_path / "elsewhere")
    env = {**os.environ, "GIT_DIR": str(tmp_path / "elsewhere"), "GIT_WORK_TREE": str(repository)}
    with pytest.raises(Unavailable, match="only by GIT_DIR"):
        at(env=env)
    assert not (tmp_path / "elsewhere" / "worker-state").exists()


def target_of(at: Any, place: Any = None, **options: Any) -> tuple[str, str]:
    """Open a session; return its target and the text that was reported."""
    events: list[Event] = []
    where = [] if place is None else [place]
    session = at(*where, report=events.append, **options)
    return session.target, "".join(one.text for one in events if isinstance(one, Notice))


def test_another_name_of_the_target(repository: Path, at: Any) -> None:
    """A symbolic ref as target means its branch: that branch is moved and protected."""
    git(repository, "branch", "-m", "main", "trunk")
    git(repository, "symbolic-ref", "refs/heads/main", "refs/heads/trunk")
    for _ in range(2):
        assert target_of(at) == ("refs/heads/trunk", "")
    git(repository, "symbolic-ref", "refs/heads/trunk", "refs/heads/main")  # in a circle
    assert at().target.startswith("refs/heads/")


def test_a_person_changes_the_target(repository: Path, at: Any) -> None:
    """git's configuration, or the environment over it, names another target; reported once."""
    at()
    git(repository, "branch", "trunk")
    git(repository, "branch", "next")
    git(repository, "config", "worker.target", "trunk")
    assert target_of(at) == (
        "refs/heads/trunk", "the target is now trunk; it was main",
    )  # fmt: skip
    assert target_of(at)[1] == ""
    assert target_of(at, env={**os.environ, "GITWORKER_TARGET": "next"}) == (
        "refs/heads/next", "the target is now next; it was trunk",
    )  # fmt: skip
    git(repository, "config", "worker.target", "unborn")
    assert target_of(at) == ("refs/heads/unborn", "")
    git(repository, "config", "--unset", "worker.target")
    assert at().target == "refs/heads/next"


def test_an_agent_changes_no_target(repository: Path, at: Any, tmp_path: Path) -> None:
    """A worker cannot change the target, in its worktree or from a hook's job."""
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    write_worktree_owner(git(linked, "rev-parse", "--absolute-git-dir"), "auth", "t")
    at()
    git(repository, "branch", "evil")
    env = {**os.environ, "GITWORKER_TARGET": "evil"}
    assert at(linked, env=env).target == "refs/heads/main"
    assert "the target stays main" in target_of(at, linked, env=env, identity="hq")[1]
    assert at(env={**env, "GITWORKER_ID": "auth"}).target == "refs/heads/main"
    assert at(env=env, attended=False).target == "refs/heads/main"
    git(linked, "config", "worker.target", "evil")
    assert at(linked).target == "refs/heads/main"
    assert at().target == "refs/heads/evil"


def test_one_worktrees_settings_do_not_count(repository: Path, at: Any, tmp_path: Path) -> None:
    """Our keys in config.worktree are ignored, git's own are not."""
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    git(repository, "config", "extensions.worktreeConfig", "true")
    git(repository, "branch", "evil")
    for key, value in (("target", "evil"), ("review.self", "true")):
        git(linked, "config", "--worktree", f"worker.{key}", value)
    git(linked, "config", "--worktree", "user.name", "A")
    session = at(linked)
    assert (session.target, session.settings.review_self) == ("refs/heads/main", False)
    assert session.git_config["user.name"] == "A"


def test_a_target_without_a_commit(repository: Path, at: Any) -> None:
    """If the target has no commit yet, commands that need one name the next step."""
    assert require_target_tip(at()) == git(repository, "rev-parse", "main")
    git(repository, "config", "worker.target", "unborn")
    with pytest.raises(Refused) as caught:
        require_target_tip(at())
    assert caught.value.code == "no_target"


def test_settings_are_the_targets(repository: Path, at: Any) -> None:
    """The team's file counts as committed on the target, not as it is in a worktree."""
    file = repository / ".gitworker.toml"
    file.write_text("[claims]\nlease_s = 7\n")
    assert at().settings.claims_lease_s == 60
    git(repository, "add", file.name)
    git(repository, "commit", "-qm", "Settings")
    file.write_text("[claims]\nlease_s = 8\n")
    git(repository, "checkout", "-q", "-b", "other")
    git(repository, "commit", "-qam", "Mine")
    assert at().settings.claims_lease_s == 7
    git(repository, "config", "worker.claims.lease-s", "9")
    assert at().settings.claims_lease_s == 9


def test_a_key_without_a_value_is_true(repository: Path, at: Any) -> None:
    """In git's configuration a key without `=` is true, one with an empty value false."""
    config = repository / ".git" / "config"
    text = config.read_text()
    config.write_text(text + '[worker "review"]\n\tself\n')
    assert at().settings.review_self is True
    config.write_text(text + '[worker "review"]\n\trequired =\n')
    assert at().settings.review_required is False


def test_the_main_worktree(repository: Path, at: Any, tmp_path: Path) -> None:
    """From a linked worktree, a bare repository or a submodule the main worktree is found."""
    linked, bare = tmp_path / "linked", tmp_path / "x.git"
    git(repository, "worktree", "add", "-q", str(linked))
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "of-bare"))
    git(repository, "submodule", "--quiet", "add", str(bare), "sub")
    assert at(linked).main_top == str(repository)
    assert at(bare).main_top == str(bare)
    assert at(tmp_path / "of-bare").main_top == str(bare)
    assert at(repository / "sub").main_top == str(repository / "sub")
    git(repository / "sub", "worktree", "add", "-q", str(tmp_path / "of-sub"))
    assert at(tmp_path / "of-sub").main_top == str(repository / "sub")
    assert at(linked).worktree_root == f"{repository}/worktrees"


def test_a_separate_git_directory(at: Any, tmp_path: Path) -> None:
    """A main worktree that its git directory does not name is recorded, and found from others."""
    main, linked = tmp_path / "main", tmp_path / "linked"
    git(tmp_path, "init", "-q", "--separate-git-dir=x.git", str(main))
    git(main, "commit", "-q", "--allow-empty", "-m", "Start")
    git(main, "worktree", "add", "-q", str(linked))
    assert at(main).main_top == str(main)
    assert at(linked).main_top == str(main)
    main.rename(tmp_path / "moved")
    assert at(linked).main_top == str(tmp_path / "x.git")
    assert at(tmp_path / "moved").main_top == str(tmp_path / "moved")
    assert at(linked).main_top == str(tmp_path / "moved")


def test_a_bare_repository_in_its_own_directory(repository: Path, at: Any, tmp_path: Path) -> None:
    """A directory whose `.git` leads to a bare repository inside it is the main directory."""
    place = tmp_path / "place"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(place / ".bare"))
    (place / ".git").write_text("gitdir: ./.bare\n")
    git(place, "worktree", "add", "-q", "main", "main")
    assert at(place / "main").main_top == str(place)
    assert at(place).main_top == str(place)


def test_a_state_directory_that_cannot_be_made(repository: Path, at: Any) -> None:
    """If the state directory cannot be made, the error names it."""
    (repository / ".git" / "worker-state").write_text("in the way")
    with pytest.raises(Unavailable) as caught:
        at()
    assert caught.value.code == "read_only"
    assert "worker-state" in caught.value.message


def test_a_path_that_is_not_utf8(tmp_path: Path, at: Any) -> None:
    """If SQLite cannot open the path, the error says so, and nothing is made."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/raw-\xff"))
    place.mkdir()
    git(place, "init", "-q")
    with pytest.raises(Unavailable) as caught:
        at(place)
    assert caught.value.code == "not_utf8"
    assert "raw-\\xff" in caught.value.message
    assert not (place / ".git" / "worker-state").exists()


def test_the_excludes_hide_nothing_of_the_projects(repository: Path, at: Any) -> None:
    """Only our link and our log at the top are ignored, in the main checkout and in worktrees."""
    at()
    (repository / "worktrees").mkdir()
    (repository / ".trash").mkdir()
    for name in ("worktrees/a", ".trash/a", "deep.worker.log", ".worker.log"):
        (repository / name).write_text("x\n")
    seen = git(repository, "status", "--porcelain").split()
    assert sorted(seen[1::2]) == [".trash/", "deep.worker.log", "worktrees/"]
