"""Verify worktrees: exactly one commit, whatever the commands before have done to them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Unavailable
from gitworker.verify.verify import Verifier
from gitworker.verify.verify_worktree import idle_slots, take_slot
from tests.verify.scene import EXACT, VerifyScene, kill, output, read_pid, run
from tests.workers.world import World, wait_until, without_heartbeat_daemon

# The changes that a command may make to its worktree, by name.
DAMAGES = {
    "untracked": "touch new; mkdir -p deep/er; touch deep/er/new",
    "ignored": "touch x.o; mkdir build.o; touch build.o/a",
    "empty directory": "mkdir -p one/two",
    "nested repository": "git init -q inner && touch inner/f",
    "nested worktree": "git worktree add -q --detach inner",
    "read-only directory": "mkdir closed && touch closed/f && chmod 500 closed",
    "itself closed": "touch new; chmod 000 .",
    "closed directory": "mkdir -p closed/er && chmod 000 closed",
    "read-only tracked directory": "echo 2 >src/app.py; touch src/new; chmod 500 src",
    "changed": "echo changed >README",
    "changed, with the old time": "touch -r README .t; echo ONE >README; touch -r .t README",
    "deleted": "rm -r src README",
    "staged": "echo staged >README; touch new; git add -A",
    "renamed": "git mv README READ",
    "committed": "echo c >README; git commit -qam c",
    "on a branch": "git checkout -q -b theirs; echo c >README; git commit -qam c",
    "on a branch that is not born": "git symbolic-ref HEAD refs/heads/none",
    "assumed unchanged": "git update-index --assume-unchanged README; echo c >README",
    "skipped": "git update-index --skip-worktree README; echo c >README",
    "intent to add": "touch new; git add -N new",
    "a directory for a file": "rm README; mkdir README; touch README/f",
    "a file for a directory": "rm -r src; touch src",
    "a link for a directory": "mv src ../../elsewhere; ln -s ../../elsewhere src",
    "executable": "chmod +x README",
    "odd names": "touch -- -f \"$(printf 'a\\nb')\" ' ' '*'",
    "open rebase": "git commit -q --allow-empty -m c; GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/'"
    " git rebase -q -i --allow-empty-message --keep-empty HEAD~1; true",
    "open merge": "git checkout -q -b other && echo o >README && git commit -qam o &&"
    " git checkout -q --detach HEAD~1 && echo p >README && git commit -qam p; git merge -q other;"
    " true",
    "index locked": 'touch "$(git rev-parse --git-dir)/index.lock"',
    "head locked": 'touch "$(git rev-parse --git-dir)/HEAD.lock"',
    "index broken": 'echo x >"$(git rev-parse --git-dir)/index"',
    "index missing": 'rm "$(git rev-parse --git-dir)/index"',
    "head broken": 'echo x >"$(git rev-parse --git-dir)/HEAD"',
    "pointer missing": "rm .git",
    "another repository": "rm .git && git init -q",
    "no admin directory": 'rm -r "$(git rev-parse --git-dir)"',
    "worktree missing": 'rm -r "$PWD"',
    "a file for itself": 'rm -r "$PWD"; touch "$PWD"',
    "a link for itself": 'mv "$PWD" "$PWD-moved"; ln -s "$PWD-moved" "$PWD"',
    "sparse": "git sparse-checkout set --no-cone /README",
    "attributes": "echo '* text eol=crlf' >.gitattributes; rm README; git checkout -q README",
    "untracked cache": "git update-index --force-untracked-cache; git status; touch new",
    "split index": "git update-index --split-index; echo c >README; git add README",
}
# Damage after which the worktree is made again; after all other damage a switch is enough.
REMADE = {
    "open rebase", "head broken", "pointer missing", "another repository", "no admin directory",
    "worktree missing", "a file for itself", "a link for itself", "sparse",
}  # fmt: skip


def made(scene: VerifyScene) -> object:
    """Return a value that changes when the worktree is made again."""
    pointer = scene.trees / "1" / ".git"
    found = pointer.lstat()
    return found.st_ino, found.st_ctime_ns


def check(scene: VerifyScene) -> None:
    """Require that the next runs find exactly their commits, the same and another one."""
    scene.set(EXACT, "git rev-parse HEAD; ls -A")
    more = {"README": "another\n", "src": None, "more": "more\n", "README.d/x": "x\n"}
    Repo(scene.world.root).git("rm", "-rq", "src")
    other = scene.commit({name: text for name, text in more.items() if text})
    with Verifier(scene.session()) as verifier:
        for commit in (scene.tip("main~1"), other):
            verdict = run(verifier, commit)
            assert verdict.passed, output(verdict)
            assert f"\n{commit}\n" in output(verdict)
            verifier.cancel(commit)


@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_stays(scene: VerifyScene, damage: str) -> None:
    """Whatever a command does to its worktree, the next run gets exactly its commit."""
    before = scene.world.refs()
    scene.set("true")
    scene.verify()
    first = made(scene)
    scene.set(DAMAGES[damage])
    verdict = scene.verify()
    assert verdict.passed, output(verdict)
    assert scene.world.refs().items() >= before.items()
    moved = scene.world.refs()
    check(scene)
    assert (made(scene) != first) is (damage in REMADE)
    after = scene.world.refs()
    assert {name: after[name] for name in moved if name != "refs/heads/main"} == {
        name: oid for name, oid in moved.items() if name != "refs/heads/main"
    }
    assert scene.world.git("status", "--porcelain", "--untracked-files=all") == ""


@pytest.mark.parametrize("lead", ["worker", "main", "other"])
def test_a_pointer_to_another_checkout(
    scene: VerifyScene, lead: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A verify worktree whose .git file leads to another checkout is made again; that one stays."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = scene.world
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"staged": "mine\n"})
    world.git("add", "staged", cwd=place)
    scene.set("true")
    scene.verify()
    world.git("init", "-q", str(tmp_path / "elsewhere"))
    leads = {
        "worker": world.worker("auth").admin_dir or "", "main": f"{world.root}/.git",
        "other": f"{tmp_path}/elsewhere/.git",
    }  # fmt: skip
    before = world.git("status", "--porcelain=v2", "--branch", cwd=place)
    (scene.trees / "1" / ".git").write_text(f"gitdir: {leads[lead]}\n")
    scene.set("git status")
    verdict = scene.verify()
    assert verdict.passed, output(verdict)
    assert world.git("status", "--porcelain=v2", "--branch", cwd=place) == before
    assert world.git("status", "--porcelain", "--untracked-files=no") == ""
    check(scene)


def test_a_copy_leaves_the_originals_worktree(scene: VerifyScene) -> None:
    """In a copy of a repository no verify worktree of the original is removed."""
    scene.set("true")
    scene.verify()
    original = scene.trees / "1"
    copy = World(scene.world.root.parent / "copy")
    shutil.copytree(scene.world.root, copy.root, symlinks=True)
    slot = take_slot(copy.session())
    slot.discard()
    slot.release()
    assert (original / "README").exists()
    assert scene.world.git("status", "--porcelain", cwd=original) == ""


def test_kept_files(scene: VerifyScene) -> None:
    """Files that verify.keep names stay from run to run, in every directory, and no others do."""
    scene.set(
        "ls -A . src; mkdir -p cache src/cache other; touch cache/a src/cache/b other/c",
        verify_keep="cache\n*.tmp",
        verify_retry_flaky="no",
    )
    tip = scene.tip()
    with Verifier(scene.session()) as verifier:
        run(verifier, tip)
        (scene.trees / "1" / "x.tmp").touch()
        (scene.trees / "1" / "--exclude=other").touch()
        second = output(run(verifier, tip))
    listed = second.partition("\n$ ")[2].splitlines()[1:]
    assert listed[: listed.index("")] == [".:", ".git", ".gitignore", "README", "cache", "src",
                                          "x.tmp"]  # fmt: skip
    assert "src:\napp.py\ncache\n" in second


def test_switching_costs_the_difference(
    scene: VerifyScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that both commits have is not written again, and the worktree is reused."""
    scene.set("ls -i README; stat -c %Z README", "true")
    first, second = scene.tip(), scene.commit({"more": "1\n"})
    session = scene.session()
    with Verifier(session) as verifier:
        one = output(run(verifier, first))
        trace = tmp_path / "trace"
        monkeypatch.setenv("GITWORKER_TRACE", str(trace))
        two = output(run(verifier, second))
    assert one.partition("\n$ ")[2].splitlines()[:4] == two.partition("\n$ ")[2].splitlines()[:4]
    words = [" ".join(word for word in line.split() if word in ("checkout", "clean", "worktree"))
             for line in trace.read_text().splitlines()]  # fmt: skip
    assert "checkout" in words
    assert "worktree" not in words


def test_a_submodule_is_emptied(scene: VerifyScene, tmp_path: Path) -> None:
    """A commit left in a submodule, which no other repository has, does not reach the next run."""
    Repo.make(tmp_path / "sub").commit("Sub", {"s": "s\n"})
    Repo(scene.world.root).git("submodule", "add", "-q", str(tmp_path / "sub"), "sub")
    tip = scene.commit({})
    scene.world.git("submodule", "--quiet", "deinit", "--force", "sub")
    scene.set(
        "test -z \"$(ls -A sub)\" && git submodule update -q --init && echo changed >sub/s"
        " && touch sub/new"
    )  # fmt: skip
    with Verifier(scene.session()) as verifier:
        for _ in range(2):
            verdict = run(verifier, tip)
            assert verdict.passed, output(verdict)
        scene.set(EXACT)
        verifier.follow(scene.session())
        assert run(verifier, scene.tip("main~1")).passed


def test_submodules_are_filled(scene: VerifyScene, tmp_path: Path) -> None:
    """A submodule that the main checkout has is there at its commit, whatever was done to it."""
    sub = Repo.make(tmp_path / "sub")
    sub.commit("Sub", {"s": "one\n", "other": "o\n"})
    main = Repo(scene.world.root)
    main.git("submodule", "add", "-q", str(tmp_path / "sub"), "sub")
    first = scene.commit({})
    sub.commit("More", {"s": "two\n"})
    main.git("-C", "sub", "pull", "-q")
    second = scene.commit({})
    scene.set(
        EXACT, "cat sub/s; test -z \"$(git -C sub status --porcelain --ignored)\"",
        "cd sub && echo x >s && touch new && git commit -qam x"
        " && git update-index --skip-worktree other && rm other",
    )  # fmt: skip
    with Verifier(scene.session()) as verifier:
        for commit, text in ((first, "one"), (second, "two"), (second, "two"), (first, "one")):
            verdict = run(verifier, commit)
            assert verdict.passed, output(verdict)
            assert f"\n{text}\n" in output(verdict)
    assert main.git("status", "--porcelain") == ""
    assert (main.root / "sub" / "s").read_text() == "two\n"


def test_slots(scene: VerifyScene) -> None:
    """A worktree in use is not given to another run; a released one is taken again."""
    session = scene.session()
    first, second = take_slot(session), take_slot(session)
    assert (first.number, second.number) == (1, 2)
    assert idle_slots(session) == []
    first.release()
    first.release()
    again = take_slot(session)
    assert again.number == 1
    again.prepare(scene.tip())
    again.release()
    (idle,) = idle_slots(session)
    assert os.path.isdir(idle.tree)
    idle.discard()
    idle.release()
    assert not os.path.exists(idle.tree)
    assert scene.world.worktrees() == []
    second.release()


@pytest.mark.parametrize("ending", ["true", "false", "git bisect start -q; kill -9 $PPID"])
def test_a_branch_that_the_commands_switch_to(scene: VerifyScene, ending: str) -> None:
    """A branch that the commands have checked out is free again, at its old commit."""
    scene.set(f"git checkout -q -b theirs && git commit -q --allow-empty -m Theirs; {ending}")
    scene.verify()
    theirs = scene.tip("theirs")
    scene.world.git("checkout", "-q", "theirs")
    assert scene.tip("theirs") == theirs != scene.tip()


def test_two_processes(scene: VerifyScene, tmp_path: Path) -> None:
    """Two queues at once never run in one worktree."""
    met = tmp_path / "met"
    meet = f"echo >>{met}; until [ $(wc -l <{met}) -ge 2 ]; do sleep 0.01; done"
    scene.set(f"test ! -e taken && touch taken && {{ {meet}; }} && sleep 0.2 && rm taken")
    script = (
        "import sys\nfrom gitworker.app import open_session\n"
        "from gitworker.verify.verify_once import verify_once\n"
        "session = open_session()\n"
        "for _ in range(3):\n"
        "    verdict = verify_once(session, sys.argv[1], label='it', force=True)\n"
        "    assert verdict.passed, open(verdict.log).read()\n"
    )
    argv = [sys.executable, "-c", script, scene.tip()]
    both = [subprocess.Popen(argv, cwd=scene.world.root) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert sorted(os.listdir(scene.trees)) == [".gitignore", "1", "2"]


def test_commands_do_not_hold_the_slot(scene: VerifyScene, tmp_path: Path) -> None:
    """A process that a command leaves elsewhere does not keep the worktree from the next run."""
    pid = tmp_path / "pid"
    daemon = f"(cd / && setsid sh -c 'echo $$ >{pid}; exec sleep 300' &)"
    scene.set(f"{daemon}; until test -s {pid}; do sleep 0.01; done")
    with Verifier(scene.session()) as verifier:
        assert run(verifier, scene.tip()).passed
        slot = take_slot(scene.session())
        assert slot.number == 1
        slot.release()
    kill(read_pid(pid))


@pytest.mark.parametrize("options", [("--bare",), ("--object-format=sha256",)])
def test_other_repositories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """Verifying works in a bare repository and with sha256."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    formats = [option for option in options if option != "--bare"]
    world = World.make(tmp_path / "repo", *formats)
    if "--bare" in options:
        world.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
        world = World(tmp_path / "bare")
    scene = VerifyScene(world, monkeypatch)
    with without_heartbeat_daemon(world):
        scene.set(EXACT, "touch left")
        tip = scene.tip()
        with Verifier(scene.session()) as verifier:
            for _ in range(2):
                verdict = run(verifier, tip)
                assert verdict.passed, output(verdict)


def test_a_sparse_checkout(scene: VerifyScene) -> None:
    """The verify worktree is sparse as the main checkout is now, and whole when that is whole."""
    scene.set("ls")
    scene.world.git("sparse-checkout", "set", "--no-cone", "/README")
    with Verifier(scene.session()) as verifier:
        assert "\nREADME\n\n" in output(run(verifier, scene.tip()))
        scene.world.git("sparse-checkout", "disable")
        assert "\nREADME\nsrc\n\n" in output(run(verifier, scene.tip()))


def test_sparse_since_the_run_began(scene: VerifyScene) -> None:
    """A verdict is for the commit checked out when the commands began, not when they ended."""
    scene.world.git("sparse-checkout", "set", "--no-cone", "/README")
    patterns = scene.world.root / ".git" / "info" / "sparse-checkout"
    before = patterns.read_text()
    scene.set(f"echo /src >>{patterns}")
    scene.verify()
    with Verifier(scene.session()) as verifier:
        assert verifier.known(scene.tip()) is None
        patterns.write_text(before)
        assert verifier.known(scene.tip()) is not None


def test_a_partial_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a partial clone git fetches the objects that a checkout needs."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    origin = World.make(tmp_path / "origin")
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.git("config", "uploadpack.allowAnySHA1InWant", "true")
    origin.advance({"README": "newer\n"})
    url = f"file://{origin.root}"
    origin.git("clone", "-q", "--filter=blob:none", url, str(tmp_path / "clone"))
    scene = VerifyScene(World(tmp_path / "clone"), monkeypatch)
    with without_heartbeat_daemon(scene.world):
        scene.set(EXACT, "grep one README")
        assert scene.verify(scene.tip("main~1")).passed


def test_filters(scene: VerifyScene) -> None:
    """Files come through the user's filters, as with git-lfs, and count as unchanged."""
    for name, how in (("smudge", "tr a-z A-Z"), ("clean", "tr A-Z a-z")):
        scene.world.git("config", f"filter.up.{name}", how)
    first = scene.commit({".gitattributes": "*.up filter=up\n", "f.up": "hello\n"})
    second = scene.commit({"f.up": "world\n"})
    scene.set(EXACT, "cat f.up; echo changed >f.up")
    with Verifier(scene.session()) as verifier:
        assert "\nHELLO\n" in output(run(verifier, first))
        assert "\nWORLD\n" in output(run(verifier, second))
        assert "\nHELLO\n" in output(run(verifier, first))


def test_an_odd_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces, quotes and line feeds in the repository's path are no trouble."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "a 'b\" $c" / "-d")
    scene = VerifyScene(world, monkeypatch)
    with without_heartbeat_daemon(world):
        scene.set(EXACT, "touch left")
        with Verifier(scene.session()) as verifier:
            for _ in range(2):
                verdict = run(verifier, scene.tip())
                assert verdict.passed, output(verdict)


def test_a_root_that_others_share(scene: VerifyScene, tmp_path: Path) -> None:
    """Repositories that share a directory for worktrees have their verify worktrees apart."""
    scene.set("pwd", worktree_root=f"{tmp_path}/shared")
    place = output(scene.verify()).partition("$ pwd\n")[2].splitlines()[0]
    assert place.startswith(f"{tmp_path}/shared/.verify/repo-")
    assert place.endswith("/1")


def test_another_root(scene: VerifyScene, tmp_path: Path) -> None:
    """If the directory for worktrees has changed, the old verify worktree is deleted."""
    scene.set("true")
    scene.verify()
    scene.set("pwd", worktree_root=f"{tmp_path}/elsewhere")
    assert f"\n{tmp_path}/elsewhere/.verify/" in output(scene.verify())
    assert not (scene.trees / "1").exists()
    assert len(scene.world.worktrees()) == 1


def test_a_checkout_from_a_workers_worktree(scene: VerifyScene) -> None:
    """A run from a worker's worktree gives none of its settings to the verify worktree."""
    scene.world.spawn("auth", "login")
    worktree = scene.world.path("auth")
    scene.set("git config --get core.hooksPath && exit 1; true")
    with Verifier(scene.world.session(worktree)) as verifier:
        verdict = run(verifier, scene.tip())
        assert verdict.passed, output(verdict)


def test_the_users_git_clean(scene: VerifyScene) -> None:
    """After `git clean -fdx` in the main checkout our directory is still hidden from git status."""
    scene.set("true")
    scene.verify()
    scene.world.git("clean", "-fdxq")
    with Verifier(scene.session()) as verifier:
        assert run(verifier, scene.tip()).passed
    assert scene.world.git("status", "--porcelain", "--untracked-files=all") == ""


def test_the_directory_cannot_be_made(scene: VerifyScene) -> None:
    """If the directory for worktrees cannot be made the error names it, and no run begins."""
    scene.set("true")
    (scene.world.root / "worktrees").write_text("the user's\n")
    with Verifier(scene.session()) as verifier:
        with pytest.raises(Unavailable) as caught:
            verifier.start(scene.tip(), label="it")
        assert str(scene.trees) in caught.value.message
        assert not verifier.running


def test_the_run_cannot_be_recorded(scene: VerifyScene) -> None:
    """A run whose process cannot be written down does not begin."""
    scene.set("touch ran")
    (scene.world.state_dir / "verify" / "1.index.tmp").mkdir(parents=True)
    with Verifier(scene.session()) as verifier:
        with pytest.raises(Unavailable):
            verifier.start(scene.tip(), label="it")
        (scene.world.state_dir / "verify" / "1.index.tmp").rmdir()
        assert run(verifier, scene.tip()).passed


def test_a_checkout_that_outlives_its_command(scene: VerifyScene, tmp_path: Path) -> None:
    """The next verification uses another worktree until that git has ended."""
    started, gate = tmp_path / "started", tmp_path / "gate"
    os.mkfifo(gate)
    scene.set("true")
    scene.world.git("config", "filter.slow.smudge", f"touch {started}; read line <{gate}; cat")
    scene.verify(scene.commit({"first": "1\n"}))
    scene.commit({".gitattributes": "*.bin filter=slow\n", "a.bin": "a\n"})
    scene.world.git("config", "filter.slow.clean", "cat")
    verifier = subprocess.Popen(scene.world.argv("verify"), cwd=scene.world.root)
    wait_until(started.exists)
    verifier.kill()
    verifier.wait()

    def free_slot() -> int:
        slot = take_slot(scene.session())
        slot.release()
        return slot.number

    assert free_slot() == 2
    gate.write_text("go\n")
    wait_until(lambda: free_slot() == 1)
