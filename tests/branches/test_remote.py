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
from gitworker.progress import Event, OutputLine
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.remote.rules_transfer import TransferFailed
from tests.branches.remotes import Upstream, answering, guarded, require_program, serving
from tests.hints.following import Printed, follow, note
from tests.workers.world import World, unchanged, wait_until, without_heartbeat_daemon

# A hook in the remote runs in quarantine; it needs this to change anything by itself.
FREE = "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES"


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """A repository whose target lands on a bare remote."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(world):
        yield Upstream.make(world)


def refused(upstream: Upstream, code: str) -> GitWorkerError:
    """Push a commit, expect that error, and that the remote has not moved."""
    remote, before = upstream.remote(), upstream.tip
    with pytest.raises(TransferFailed) as caught:
        remote.push(upstream.commit(), expect=Oid(before))
    assert caught.value.code == code, caught.value
    assert upstream.tip == before
    return caught.value


def test_no_remote_is_configured(upstream: Upstream) -> None:
    """Without the setting the target is local."""
    upstream.world.git("config", "--unset", "worker.merge.remote")
    assert open_remote(upstream.world.session()) is None


def test_remote_that_git_does_not_know(upstream: Upstream) -> None:
    """A setting that names no remote is refused with the remotes there are."""
    upstream.world.git("config", "worker.merge.remote", "down")
    with pytest.raises(Refused) as caught:
        open_remote(upstream.world.session())
    assert (caught.value.code, "up" in caught.value.message) == ("no_remote", True)


def test_fetch(upstream: Upstream) -> None:
    """A fetch brings the target's tip and nothing else: no other branch, no tag."""
    other = upstream.other()
    other.git("tag", "-a", "v1", "-m", "v1")
    other.git("push", "-q", "origin", "v1", "HEAD:refs/heads/more")
    theirs = upstream.theirs()
    remote = upstream.remote()
    assert remote.fetch() == theirs == upstream.world.tip("up/main")
    refs = upstream.world.refs()
    assert "refs/tags/v1" not in refs
    assert "refs/remotes/up/more" not in refs
    assert not (upstream.world.root / ".git" / "FETCH_HEAD").exists()
    assert remote.contains(Oid(theirs))
    assert not remote.contains(upstream.commit())


def test_fetch_without_the_branch(upstream: Upstream) -> None:
    """A remote that lacks the target's branch is reported by name."""
    upstream.bare.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(NotFound) as caught:
        upstream.remote().fetch()
    assert "has no branch main" in caught.value.message


def test_push(upstream: Upstream) -> None:
    """A push moves the branch and its tracking ref, and nothing else."""
    upstream.world.git("config", "push.followTags", "true")
    upstream.world.git("config", "push.default", "matching")
    upstream.world.git("config", "remote.up.mirror", "true")
    new = upstream.commit()
    upstream.world.git("tag", "-a", "v1", "-m", "v1", new)
    assert upstream.remote().push(new, expect=Oid(upstream.tip)) is PushResult.LANDED
    assert upstream.tip == new == upstream.world.tip("up/main")
    assert upstream.bare.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert upstream.remote().push(new, expect=new) is PushResult.LANDED


def test_push_that_is_no_fast_forward(upstream: Upstream) -> None:
    """A commit that is no fast-forward is never pushed, whatever the lease says."""
    upstream.bare.git("config", "receive.denyNonFastForwards", "false")
    orphan = Oid(upstream.world.git("commit-tree", "-m", "Orphan", "main^{tree}"))
    before = upstream.tip
    with pytest.raises(Internal):
        upstream.remote().push(orphan, expect=Oid(before))
    assert upstream.tip == before


def test_another_push_was_faster(upstream: Upstream) -> None:
    """A remote that has moved since it was fetched is not changed."""
    remote = upstream.remote()
    expect = remote.fetch()
    theirs = upstream.theirs()
    assert remote.push(upstream.commit(), expect=expect) is PushResult.MOVED
    assert upstream.tip == theirs
    again = remote.fetch()
    assert remote.push(upstream.commit(), expect=again) is PushResult.LANDED
    assert theirs in upstream.bare.git("rev-list", "main")


def test_another_push_is_faster_during_ours(upstream: Upstream) -> None:
    """A push that wins the race inside the remote is not overwritten."""
    theirs = upstream.commit("Theirs")
    upstream.world.git("push", "-q", "up", f"{theirs}:refs/heads/side")
    upstream.hook("pre-receive", f"cat >/dev/null; {FREE}; git update-ref refs/heads/main {theirs}")
    assert upstream.remote().push(upstream.commit(), expect=Oid(upstream.tip)) is PushResult.MOVED
    assert upstream.tip == theirs


def test_branch_deleted_meanwhile(upstream: Upstream) -> None:
    """A branch that was deleted on the remote is not created again."""
    remote = upstream.remote()
    expect = remote.fetch()
    new = upstream.commit()
    upstream.bare.git("update-ref", "-d", "refs/heads/main")
    assert remote.push(new, expect=expect) is PushResult.MOVED
    assert upstream.bare.git("for-each-ref") == ""


def test_hook_of_the_remotes(upstream: Upstream) -> None:
    """A hook that declines is reported in its own words, without control characters."""
    upstream.hook("pre-receive", "printf '\\033[31mno tabs\\033[0m please\\n' >&2; exit 1")
    error = refused(upstream, "remote_hook_declined")
    assert "remote: no tabs please" in error.detail
    assert "\x1b" not in error.detail


def test_branch_that_is_checked_out_there(upstream: Upstream) -> None:
    """A remote with a checkout of the branch takes no pushes, and the error says why."""
    upstream.bare.git("config", "core.bare", "false")
    assert "checked out" in refused(upstream, "remote_protected").message


def test_pre_push_hook(upstream: Upstream) -> None:
    """The user's own pre-push hook runs with the refs, and may decline."""
    said = upstream.world.root.parent / "said"
    upstream.hook(
        "pre-push", f"cat >{said}; echo no >&2; exit 1", where=upstream.world.root / ".git"
    )
    before = upstream.tip
    error = refused(upstream, "pre_push_declined")
    assert "no" in error.detail
    assert said.read_text().split()[2:] == ["refs/heads/main", before]


def test_hooks_keep_the_users_characters(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's hook runs in his own character set, while git's messages stay untranslated."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    said = upstream.world.root.parent / "said"
    hook = f'echo "$LC_ALL,$LC_CTYPE,$LC_MESSAGES" >{said}; exit 1'
    upstream.hook("pre-push", hook, where=upstream.world.root / ".git")
    refused(upstream, "pre_push_declined")
    assert said.read_text() == ",de_DE.UTF-8,C\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_remote(upstream: Upstream) -> None:
    """A remote that cannot be written is a matter of permission."""
    folder = upstream.bare.root / "objects"
    folder.chmod(0o500)
    try:
        refused(upstream, "remote_permission")
    finally:
        folder.chmod(0o700)


def test_deleted_remote(upstream: Upstream) -> None:
    """If the repository no longer exists both fetch and push report it."""
    new, expect = upstream.commit(), Oid(upstream.tip)
    upstream.bare.root.rename(upstream.bare.root.with_name("elsewhere"))
    remote = upstream.remote()
    with pytest.raises(TransferFailed) as caught:
        remote.fetch()
    assert caught.value.code == "remote_not_found"
    with pytest.raises(TransferFailed) as caught:
        remote.push(new, expect=expect)
    assert caught.value.code == "remote_not_found"


def test_remote_without_a_server(upstream: Upstream) -> None:
    """An address at which no server listens is not reachable."""
    require_program("git-remote-http")
    upstream.world.git("remote", "set-url", "up", "http://127.0.0.1:1/repo.git")
    with pytest.raises(TransferFailed) as caught:
        upstream.remote().fetch()
    assert caught.value.code == "remote_unreachable"


def test_wrong_credentials(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the remote wants a password that no user can enter, the command does not wait for it."""
    askpass = tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\nexit 1\n")
    askpass.chmod(0o755)
    with answering(401, {"WWW-Authenticate": 'Basic realm="x"'}) as address:
        upstream.world.git("remote", "set-url", "up", address)
        for program in (None, str(askpass)):
            if program:
                monkeypatch.setenv("GIT_ASKPASS", program)
            with pytest.raises(TransferFailed) as caught:
                upstream.remote().fetch()
            assert caught.value.code == "remote_authentication"
            with pytest.raises(TransferFailed) as caught:
                upstream.remote().push(upstream.commit(), expect=Oid(upstream.world.tip("up/main")))
            assert caught.value.code == "remote_authentication"


def test_a_password_that_git_asks_for(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once the user has answered git, whose helper keeps the answer, the remote accepts it."""
    upstream.bare.git("update-server-info")
    upstream.world.git("config", "credential.helper", f"store --file={tmp_path}/kept")
    askpass = tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\necho secret\n")
    askpass.chmod(0o755)
    with guarded(upstream.bare.root, password="secret") as address:
        upstream.world.git("remote", "set-url", "up", address)
        with pytest.raises(TransferFailed) as caught:
            upstream.remote().fetch()
        hint = str(caught.value.hint).partition("   # ")[0]
        asked = Printed([], str(upstream.world.root), {**os.environ, "GIT_ASKPASS": str(askpass)})
        assert follow(asked, hint) is None
        assert upstream.remote().fetch() == upstream.tip
    note(hint, caught.value.message)


def test_a_fetch_whose_ref_is_locked(upstream: Upstream) -> None:
    """A lock that a killed git left on the remote-tracking ref is named, and can be deleted."""
    (upstream.world.root / ".git/refs/remotes/up/main.lock").touch()
    upstream.theirs()
    with pytest.raises(TransferFailed) as caught:
        upstream.remote().fetch()
    assert caught.value.code == "git_locked"
    hint = str(caught.value.hint).partition("   # ")[0]
    assert follow(Printed([], str(upstream.world.root)), hint) is None
    assert upstream.remote().fetch() == upstream.tip


def test_forbidden(upstream: Upstream) -> None:
    """A push that the remote forbids is an error of permission."""
    with answering(403, {}) as address:
        upstream.world.git("remote", "set-url", "up", address)
        with pytest.raises(TransferFailed) as caught:
            upstream.remote().push(upstream.commit(), expect=Oid(upstream.world.tip("up/main")))
    assert caught.value.code == "remote_permission"


def test_time_limit(upstream: Upstream) -> None:
    """A push that takes too long is ended; if the remote took nothing, its error is reported."""
    fifo = upstream.bare.root / "fifo"
    os.mkfifo(fifo)
    upstream.hook("pre-receive", f"cat >/dev/null; read x <{fifo}; exit 1")
    upstream.world.git("config", "worker.merge.remote-timeout-s", "1")
    try:
        refused(upstream, "remote_timeout")
    finally:
        release(fifo)


def release(fifo: Path) -> None:
    """Release a hook that waits at a fifo; it may have ended already."""
    descriptor = os.open(fifo, os.O_RDWR)
    os.write(descriptor, b"go\n")
    os.close(descriptor)


def test_answer_is_lost(upstream: Upstream) -> None:
    """A push whose answer got lost has landed if the remote has it."""
    upstream.hook("post-receive", "kill -9 $PPID")
    new = upstream.commit()
    assert upstream.remote().push(new, expect=Oid(upstream.tip)) is PushResult.LANDED
    assert upstream.tip == new


def test_interrupt(upstream: Upstream) -> None:
    """Ctrl-C ends a push that hangs; a later fetch finds out whether the remote took it."""
    fifo, begun = upstream.bare.root / "fifo", upstream.bare.root / "begun"
    os.mkfifo(fifo)
    upstream.hook("pre-receive", f"cat >/dev/null; echo >{begun}; read x <{fifo}")
    new = upstream.commit()
    code = (
        "import sys; from gitworker.app import open_session;"
        "from gitworker.branches.remote import open_remote;"
        "open_remote(open_session()).push(sys.argv[1], expect=sys.argv[2])"
    )
    pushing = subprocess.Popen(
        [sys.executable, "-c", code, new, upstream.tip], cwd=upstream.world.root,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
    )  # fmt: skip
    wait_until(begun.exists)
    pushing.send_signal(signal.SIGINT)
    _, err = pushing.communicate(timeout=60)
    assert b"KeyboardInterrupt" in err
    fifo.write_text("go\n")  # it waits until the hook is there
    remote = upstream.remote()

    def took() -> bool:
        remote.fetch()
        return remote.contains(new)

    wait_until(took)


def test_progress(upstream: Upstream) -> None:
    """The progress of a transfer is reported line by line if a person is present."""
    events: list[Event] = []
    session = upstream.world.session(report=events.append)
    remote = open_remote(session._replace(is_interactive=True))
    assert remote is not None
    remote.push(upstream.commit(), expect=Oid(upstream.tip))
    assert [one for one in events if isinstance(one, OutputLine) and "100%" in one.text]


def test_hook_variables(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that git exports to a hook do not mislead a push or a fetch."""
    elsewhere = Repo.make(upstream.world.root.parent / "elsewhere")
    remote, new, expect = upstream.remote(), upstream.commit(), Oid(upstream.tip)
    monkeypatch.setenv("GIT_DIR", str(elsewhere.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(elsewhere.root / ".git" / "index"))
    assert remote.push(new, expect=expect) is PushResult.LANDED
    assert remote.fetch() == new


def test_relative_address(upstream: Upstream) -> None:
    """A relative address begins at the main checkout, wherever the command is run."""
    world = upstream.world
    world.git("remote", "set-url", "up", "../up.git")
    place = world.spawn("auth", "login").path
    remote = open_remote(world.session(place))
    assert remote is not None
    assert remote.fetch() == upstream.tip
    assert remote.push(upstream.commit(), expect=Oid(upstream.tip)) is PushResult.LANDED


def test_over_the_network(upstream: Upstream) -> None:
    """git's own server: it takes a push, and reports the reason if it takes none."""
    with serving(upstream.bare.root.parent, "--enable=receive-pack") as address:
        upstream.world.git("remote", "set-url", "up", f"{address}/up.git")
        remote = upstream.remote()
        assert remote.push(upstream.commit(), expect=remote.fetch()) is PushResult.LANDED
        theirs, tip = upstream.theirs(), remote.fetch()
        assert remote.push(upstream.commit(), expect=tip) is PushResult.LANDED
        assert theirs in upstream.bare.git("rev-list", "main")
    with serving(upstream.bare.root.parent) as address:
        upstream.world.git("remote", "set-url", "up", f"{address}/up.git")
        refused(upstream, "remote_permission")


def test_follow(upstream: Upstream) -> None:
    """The local target and its checkout follow the remote, the user's own changes stay."""
    theirs = upstream.theirs()
    Repo(upstream.world.root).write({"README": "mine\n"})
    session = upstream.world.session()
    with hold(session.landing_lock, name="landing"):
        follow_remote(session, upstream.remote().fetch())
        follow_remote(session, upstream.remote().fetch())
    assert upstream.world.tip() == theirs
    assert (upstream.world.root / "theirs").read_text() == "theirs\n"
    assert (upstream.world.root / "README").read_text() == "mine\n"


def test_follow_what_another_command_has_passed(upstream: Upstream) -> None:
    """A tip that was fetched before another command followed a later one asks for nothing."""
    session = upstream.world.session()
    before = upstream.remote().fetch()
    theirs = upstream.theirs()
    with hold(session.landing_lock, name="landing"):
        follow_remote(session, upstream.remote().fetch())
        follow_remote(session, before)
    assert upstream.world.tip() == theirs


def test_follow_with_commits_of_ones_own(upstream: Upstream) -> None:
    """A local target that is ahead is left alone, and the push that helps is named."""
    upstream.world.advance({"mine": "m\n"})
    session, tip = upstream.world.session(), upstream.remote().fetch()
    with unchanged(upstream.world, "target_ahead") as caught:
        follow_remote(session, tip)
    assert caught.value.hint == "git push up main"


def test_follow_with_new_commits_on_both_sides(upstream: Upstream) -> None:
    """A local target that has diverged is left alone, and so is the remote."""
    upstream.world.advance({"mine": "m\n"})
    upstream.theirs()
    session, tip = upstream.world.session(), upstream.remote().fetch()
    with unchanged(upstream.world, "target_diverged", Conflict):
        follow_remote(session, tip)


def test_follow_over_local_changes(upstream: Upstream) -> None:
    """The user's uncommitted changes are not overwritten by the commits of others."""
    upstream.theirs("README.new")
    Repo(upstream.world.root).write({"README.new": "mine\n"})
    session, tip = upstream.world.session(), upstream.remote().fetch()
    with unchanged(upstream.world, "would_overwrite"):
        follow_remote(session, tip)
