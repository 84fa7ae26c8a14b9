"""The remote as the truth: compare-and-set, every refusal by its name, and the target that follows.

Against a bare repository on disk and a web server on the loopback.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.branches.remote import PushResult, follow_remote, open_remote
from gitworker.errors import Conflict, GitWorkerError, Internal, NotFound, Refused
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.remote.rules_transfer import TransferFailed
from tests.branches.remotes import Shore, answering, require_program, serving
from tests.workers.world import World, unchanged, wait_until, without_heartbeat_daemon

# A hook in the remote runs in quarantine; it needs this to change anything by itself.
FREE = "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES"


@pytest.fixture
def shore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shore]:
    """A repository whose target lands on a bare remote."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(world):
        yield Shore.make(world)


def refused(shore: Shore, code: str) -> GitWorkerError:
    """Push a commit, expect that error, and that the remote has not moved."""
    remote, before = shore.remote(), shore.tip
    with pytest.raises(TransferFailed) as caught:
        remote.push(shore.commit(), expect=Oid(before))
    assert caught.value.code == code, caught.value
    assert shore.tip == before
    return caught.value


def test_no_remote_is_configured(shore: Shore) -> None:
    """Without the setting the target is local."""
    shore.world.git("config", "--unset", "worker.merge.remote")
    assert open_remote(shore.world.session()) is None


def test_remote_that_git_does_not_know(shore: Shore) -> None:
    """A setting that names no remote is refused with the remotes there are."""
    shore.world.git("config", "worker.merge.remote", "down")
    with pytest.raises(Refused) as caught:
        open_remote(shore.world.session())
    assert (caught.value.code, "up" in caught.value.message) == ("no_remote", True)


def test_fetch(shore: Shore) -> None:
    """A fetch brings the target's tip and nothing else: no other branch, no tag."""
    other = shore.other()
    other.git("tag", "-a", "v1", "-m", "v1")
    other.git("push", "-q", "origin", "v1", "HEAD:refs/heads/more")
    theirs = shore.theirs()
    remote = shore.remote()
    assert remote.fetch() == theirs == shore.world.tip("up/main")
    refs = shore.world.refs()
    assert "refs/tags/v1" not in refs
    assert "refs/remotes/up/more" not in refs
    assert not (shore.world.root / ".git" / "FETCH_HEAD").exists()
    assert remote.contains(Oid(theirs))
    assert not remote.contains(shore.commit())


def test_fetch_without_the_branch(shore: Shore) -> None:
    """A remote that lacks the target's branch is reported by name."""
    shore.bare.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(NotFound) as caught:
        shore.remote().fetch()
    assert "has no branch main" in caught.value.message


def test_push(shore: Shore) -> None:
    """A push moves the branch and its tracking ref, and nothing else."""
    shore.world.git("config", "push.followTags", "true")
    shore.world.git("config", "push.default", "matching")
    shore.world.git("config", "remote.up.mirror", "true")
    new = shore.commit()
    shore.world.git("tag", "-a", "v1", "-m", "v1", new)
    assert shore.remote().push(new, expect=Oid(shore.tip)) is PushResult.LANDED
    assert shore.tip == new == shore.world.tip("up/main")
    assert shore.bare.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert shore.remote().push(new, expect=new) is PushResult.LANDED


def test_push_that_is_no_fast_forward(shore: Shore) -> None:
    """A commit that is no fast-forward is never pushed, whatever the lease says."""
    shore.bare.git("config", "receive.denyNonFastForwards", "false")
    orphan = Oid(shore.world.git("commit-tree", "-m", "Orphan", "main^{tree}"))
    before = shore.tip
    with pytest.raises(Internal):
        shore.remote().push(orphan, expect=Oid(before))
    assert shore.tip == before


def test_another_push_was_faster(shore: Shore) -> None:
    """A remote that has moved since it was fetched is not changed."""
    remote = shore.remote()
    expect = remote.fetch()
    theirs = shore.theirs()
    assert remote.push(shore.commit(), expect=expect) is PushResult.MOVED
    assert shore.tip == theirs
    again = remote.fetch()
    assert remote.push(shore.commit(), expect=again) is PushResult.LANDED
    assert theirs in shore.bare.git("rev-list", "main")


def test_another_push_is_faster_during_ours(shore: Shore) -> None:
    """A push that wins the race inside the remote is not overwritten."""
    theirs = shore.commit("Theirs")
    shore.world.git("push", "-q", "up", f"{theirs}:refs/heads/side")
    shore.hook("pre-receive", f"cat >/dev/null; {FREE}; git update-ref refs/heads/main {theirs}")
    assert shore.remote().push(shore.commit(), expect=Oid(shore.tip)) is PushResult.MOVED
    assert shore.tip == theirs


def test_branch_deleted_meanwhile(shore: Shore) -> None:
    """A branch that was deleted on the remote is not created again."""
    remote = shore.remote()
    expect = remote.fetch()
    new = shore.commit()
    shore.bare.git("update-ref", "-d", "refs/heads/main")
    assert remote.push(new, expect=expect) is PushResult.MOVED
    assert shore.bare.git("for-each-ref") == ""


def test_hook_of_the_remotes(shore: Shore) -> None:
    """A hook that declines is reported in its own words, without control characters."""
    shore.hook("pre-receive", "printf '\\033[31mno tabs\\033[0m please\\n' >&2; exit 1")
    error = refused(shore, "remote_hook_declined")
    assert "remote: no tabs please" in error.detail
    assert "\x1b" not in error.detail


def test_branch_that_is_checked_out_there(shore: Shore) -> None:
    """A branch that the remote protects is reported as protected."""
    shore.bare.git("config", "core.bare", "false")
    refused(shore, "remote_protected")


def test_pre_push_hook(shore: Shore) -> None:
    """The user's own pre-push hook runs with the refs, and may decline."""
    said = shore.world.root.parent / "said"
    shore.hook("pre-push", f"cat >{said}; echo no >&2; exit 1", where=shore.world.root / ".git")
    before = shore.tip
    error = refused(shore, "pre_push_declined")
    assert "no" in error.detail
    assert said.read_text().split()[2:] == ["refs/heads/main", before]


def test_hooks_keep_the_users_characters(shore: Shore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's hook runs in his own character set, while git's messages stay untranslated."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    said = shore.world.root.parent / "said"
    hook = f'echo "$LC_ALL,$LC_CTYPE,$LC_MESSAGES" >{said}; exit 1'
    shore.hook("pre-push", hook, where=shore.world.root / ".git")
    refused(shore, "pre_push_declined")
    assert said.read_text() == ",de_DE.UTF-8,C\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_remote(shore: Shore) -> None:
    """A remote that cannot be written is a matter of permission."""
    folder = shore.bare.root / "objects"
    folder.chmod(0o500)
    try:
        refused(shore, "remote_permission")
    finally:
        folder.chmod(0o700)


def test_deleted_remote(shore: Shore) -> None:
    """If the repository no longer exists both fetch and push report it."""
    new, expect = shore.commit(), Oid(shore.tip)
    shore.bare.root.rename(shore.bare.root.with_name("elsewhere"))
    remote = shore.remote()
    with pytest.raises(TransferFailed) as caught:
        remote.fetch()
    assert caught.value.code == "remote_not_found"
    with pytest.raises(TransferFailed) as caught:
        remote.push(new, expect=expect)
    assert caught.value.code == "remote_not_found"


def test_remote_without_a_server(shore: Shore) -> None:
    """An address at which no server listens is not reachable."""
    require_program("git-remote-http")
    shore.world.git("remote", "set-url", "up", "http://127.0.0.1:1/repo.git")
    with pytest.raises(TransferFailed) as caught:
        shore.remote().fetch()
    assert caught.value.code == "remote_unreachable"


def test_wrong_credentials(shore: Shore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the remote wants a password that no user can enter, the command does not wait for it."""
    askpass = tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\nexit 1\n")
    askpass.chmod(0o755)
    with answering(401, {"WWW-Authenticate": 'Basic realm="x"'}) as address:
        shore.world.git("remote", "set-url", "up", address)
        for program in (None, str(askpass)):
            if program:
                monkeypatch.setenv("GIT_ASKPASS", program)
            with pytest.raises(TransferFailed) as caught:
                shore.remote().fetch()
            assert caught.value.code == "remote_authentication"
            with pytest.raises(TransferFailed) as caught:
                shore.remote().push(shore.commit(), expect=Oid(shore.world.tip("up/main")))
            assert caught.value.code == "remote_authentication"


def test_forbidden(shore: Shore) -> None:
    """A push that the remote forbids is an error of permission."""
    with answering(403, {}) as address:
        shore.world.git("remote", "set-url", "up", address)
        with pytest.raises(TransferFailed) as caught:
            shore.remote().push(shore.commit(), expect=Oid(shore.world.tip("up/main")))
    assert caught.value.code == "remote_permission"


def test_time_limit(shore: Shore) -> None:
    """A push that takes too long is ended; if the remote took nothing, its error is reported."""
    fifo = shore.bare.root / "fifo"
    os.mkfifo(fifo)
    shore.hook("pre-receive", f"cat >/dev/null; read x <{fifo}; exit 1")
    shore.world.git("config", "worker.merge.remote-timeout-s", "1")
    try:
        refused(shore, "remote_timeout")
    finally:
        release(fifo)


def release(fifo: Path) -> None:
    """Release a hook that waits at a fifo; it may have ended already."""
    descriptor = os.open(fifo, os.O_RDWR)
    os.write(descriptor, b"go\n")
    os.close(descriptor)


def test_answer_is_lost(shore: Shore) -> None:
    """A push whose answer got lost has landed if the remote has it."""
    shore.hook("post-receive", "kill -9 $PPID")
    new = shore.commit()
    assert shore.remote().push(new, expect=Oid(shore.tip)) is PushResult.LANDED
    assert shore.tip == new


def test_interrupt(shore: Shore) -> None:
    """Ctrl-C ends a push that hangs; a later fetch finds out whether the remote took it."""
    fifo, begun = shore.bare.root / "fifo", shore.bare.root / "begun"
    os.mkfifo(fifo)
    shore.hook("pre-receive", f"cat >/dev/null; echo >{begun}; read x <{fifo}")
    new = shore.commit()
    code = (
        "import sys; from gitworker.app import open_session;"
        "from gitworker.branches.remote import open_remote;"
        "open_remote(open_session()).push(sys.argv[1], expect=sys.argv[2])"
    )
    pushing = subprocess.Popen(
        [sys.executable, "-c", code, new, shore.tip], cwd=shore.world.root,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
    )  # fmt: skip
    wait_until(begun.exists)
    pushing.send_signal(signal.SIGINT)
    _, err = pushing.communicate(timeout=60)
    assert b"KeyboardInterrupt" in err
    fifo.write_text("go\n")  # it waits until the hook is there
    remote = shore.remote()

    def took() -> bool:
        remote.fetch()
        return remote.contains(new)

    wait_until(took)


def test_progress(shore: Shore) -> None:
    """A listener gets the progress of the transfer, line by line."""
    lines: list[str] = []
    remote = open_remote(shore.world.session(), narrate=lines.append)
    assert remote is not None
    remote.push(shore.commit(), expect=Oid(shore.tip))
    assert [line for line in lines if "100%" in line]


def test_hook_variables(shore: Shore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that git exports to a hook do not mislead a push or a fetch."""
    elsewhere = Repo.make(shore.world.root.parent / "elsewhere")
    remote, new, expect = shore.remote(), shore.commit(), Oid(shore.tip)
    monkeypatch.setenv("GIT_DIR", str(elsewhere.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(elsewhere.root / ".git" / "index"))
    assert remote.push(new, expect=expect) is PushResult.LANDED
    assert remote.fetch() == new


def test_relative_address(shore: Shore) -> None:
    """A relative address begins at the main checkout, wherever the command is run."""
    world = shore.world
    world.git("remote", "set-url", "up", "../up.git")
    place = world.spawn("auth", "login").path
    remote = open_remote(world.session(place))
    assert remote is not None
    assert remote.fetch() == shore.tip
    assert remote.push(shore.commit(), expect=Oid(shore.tip)) is PushResult.LANDED


def test_over_the_network(shore: Shore) -> None:
    """git's own server: it takes a push, and reports the reason if it takes none."""
    with serving(shore.bare.root.parent, "--enable=receive-pack") as address:
        shore.world.git("remote", "set-url", "up", f"{address}/up.git")
        remote = shore.remote()
        assert remote.push(shore.commit(), expect=remote.fetch()) is PushResult.LANDED
        theirs, tip = shore.theirs(), remote.fetch()
        assert remote.push(shore.commit(), expect=tip) is PushResult.LANDED
        assert theirs in shore.bare.git("rev-list", "main")
    with serving(shore.bare.root.parent) as address:
        shore.world.git("remote", "set-url", "up", f"{address}/up.git")
        refused(shore, "remote_permission")


def test_follow(shore: Shore) -> None:
    """The local target and its checkout follow the remote, the user's own changes stay."""
    theirs = shore.theirs()
    Repo(shore.world.root).write({"README": "mine\n"})
    session = shore.world.session()
    with hold(session.landing_lock, name="landing"):
        follow_remote(session, shore.remote().fetch())
        follow_remote(session, shore.remote().fetch())
    assert shore.world.tip() == theirs
    assert (shore.world.root / "theirs").read_text() == "theirs\n"
    assert (shore.world.root / "README").read_text() == "mine\n"


def test_follow_with_commits_of_ones_own(shore: Shore) -> None:
    """A local target that is ahead is left alone, and the push that helps is named."""
    shore.world.advance({"mine": "m\n"})
    session, tip = shore.world.session(), shore.remote().fetch()
    with unchanged(shore.world, "target_ahead") as caught:
        follow_remote(session, tip)
    assert caught.value.hint == "git push up main"


def test_follow_with_new_commits_on_both_sides(shore: Shore) -> None:
    """A local target that has diverged is left alone, and so is the remote."""
    shore.world.advance({"mine": "m\n"})
    shore.theirs()
    session, tip = shore.world.session(), shore.remote().fetch()
    with unchanged(shore.world, "target_diverged", Conflict):
        follow_remote(session, tip)


def test_follow_over_local_changes(shore: Shore) -> None:
    """The user's uncommitted changes are not overwritten by the commits of others."""
    shore.theirs("README.new")
    Repo(shore.world.root).write({"README.new": "mine\n"})
    session, tip = shore.world.session(), shore.remote().fetch()
    with unchanged(shore.world, "would_overwrite"):
        follow_remote(session, tip)
