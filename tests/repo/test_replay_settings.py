"""Replaying obeys the settings that decide how a rebase comes out: attributes, text, signing."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fixtures.repos import Content, Repo, lines
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.repository_lock import is_held
from gitworker.repo.replay.replay import ReplayConflict, Replayed, replay
from tests.repo.killing import PROJECT
from tests.repo.rebase_oracle import assert_same
from tests.workers.world import wait_until

REPLAY = """
import sys
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.replay import replay
replay(Git(sys.argv[1]), target=sys.argv[2], topic=sys.argv[3], scratch_dir=sys.argv[4])
"""
DRIVER = """\
#!/bin/sh
cat "$3" >>"$2"
exit 0
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository on main."""
    return Repo.make(tmp_path / "repo")


def diverge(
    repo: Repo,
    base: Mapping[str, Content],
    *,
    target: Mapping[str, Content],
    topic: tuple[Mapping[str, Content], ...],
) -> tuple[str, str]:
    """Build base, topic commits and one target commit; return (target, topic)."""
    repo.commit("base", base)
    repo.git("checkout", "-q", "-b", "topic")
    for number, files in enumerate(topic):
        repo.commit(f"topic {number}", files)
    repo.git("checkout", "-q", "main")
    return repo.commit("target", target), repo.head("topic")


OURS, THEIRS = {"x/log": "1\nours\n"}, {"x/log": "1\ntheirs\n"}


@pytest.mark.parametrize("place", [".gitattributes", "x/.gitattributes"])
def test_union_merge_applies(repo: Repo, place: str) -> None:
    """merge=union joins both sides, whether the attribute is set at the root or deeper."""
    base = {place: "log merge=union\n", "x/log": "1\n"}
    result = assert_same(repo, *diverge(repo, base, target=OURS, topic=(THEIRS,)))
    assert isinstance(result, Replayed)


def test_union_merge_in_the_users_attributes_applies(repo: Repo) -> None:
    """info/attributes counts too."""
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/attributes").write_text("log merge=union\n")
    result = assert_same(repo, *diverge(repo, {"x/log": "1\n"}, target=OURS, topic=(THEIRS,)))
    assert isinstance(result, Replayed)


@pytest.mark.parametrize("topic_first", [True, False])
def test_attributes_changed_inside_the_topic_hold_from_there(repo: Repo, topic_first: bool) -> None:
    """A commit is merged under the attributes of the commit before it."""
    steps = ({".gitattributes": "log merge=union\n"}, THEIRS)
    target, topic = diverge(
        repo, {"x/log": "1\n"}, target=OURS, topic=steps if topic_first else steps[::-1]
    )
    result = assert_same(repo, target, topic)
    assert isinstance(result, Replayed) is topic_first


def test_attributes_removed_inside_the_topic_end_there(repo: Repo) -> None:
    """After a commit that deletes the attributes, the next one conflicts."""
    base = {".gitattributes": "log merge=union\n", "x/log": "1\n"}
    target, topic = diverge(repo, base, target=OURS, topic=({".gitattributes": None}, THEIRS))
    assert isinstance(assert_same(repo, target, topic), ReplayConflict)


def test_attributes_at_the_new_path_of_a_rename_apply(repo: Repo) -> None:
    """A file that the target renamed merges under the attributes of its new directory."""
    body = lines(30)
    target, topic = diverge(
        repo,
        {"x/log": body, "y/.gitattributes": "* merge=union\n"},
        target={"x/log": None, "y/log": lines(30, {29: "ours"})},
        topic=({"x/log": lines(30, {29: "theirs"})},),
    )
    assert isinstance(assert_same(repo, target, topic), Replayed)


@pytest.mark.parametrize("command", ["./tools/join %O %A %B", "sh tools/join %O %A %B"])
def test_a_merge_program_of_the_users_runs(repo: Repo, command: str) -> None:
    """A custom driver, even with a path relative to the work tree, merges as in rebase."""
    repo.git("config", "merge.join.driver", command)
    repo.write({"tools/join": DRIVER})
    (repo.root / "tools/join").chmod(0o755)
    base = {".gitattributes": "log merge=join\n", "x/log": "1\n"}
    result = assert_same(repo, *diverge(repo, base, target=OURS, topic=(THEIRS,)))
    assert isinstance(result, Replayed)


def test_a_merge_program_that_is_the_default_runs(repo: Repo) -> None:
    """merge.default names a driver without any attribute."""
    repo.git("config", "merge.default", "mine")
    repo.git("config", "merge.mine.driver", "true")
    result = assert_same(repo, *diverge(repo, {"x/log": "1\n"}, target=OURS, topic=(THEIRS,)))
    assert isinstance(result, Replayed)


def test_a_merge_program_that_nothing_names_is_ignored(repo: Repo, tmp_path: Path) -> None:
    """A configured driver without an attribute costs no scratch worktree."""
    repo.git("config", "merge.join.driver", "false")
    target, topic = diverge(repo, {"f": lines(9)}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    assert_same(repo, target, topic)
    assert not (tmp_path / "scratch" / "rebase").exists()


def test_line_ends_are_renormalised(repo: Repo) -> None:
    """With merge.renormalize a file whose line ends one side converted does not conflict."""
    repo.git("config", "merge.renormalize", "true")
    repo.git("config", "core.safecrlf", "false")
    body = lines(9)
    target, topic = diverge(
        repo,
        {"f.txt": body.replace("\n", "\r\n")},
        target={".gitattributes": "*.txt text\n", "f.txt": body + "end\n"},
        topic=({"f.txt": lines(9, {0: "x"}).replace("\n", "\r\n")},),
    )
    assert isinstance(assert_same(repo, target, topic), Replayed)


@pytest.mark.parametrize("renames", ["false", "copies"])
def test_rename_settings_are_obeyed(repo: Repo, renames: str) -> None:
    """merge.renames decides whether an edit follows a rename."""
    repo.git("config", "merge.renames", renames)
    target, topic = diverge(
        repo,
        {"f": lines(30)},
        target={"f": None, "moved": lines(30)},
        topic=({"f": lines(30, {3: "x"})},),
    )
    assert_same(repo, target, topic)


def raw(repo: Repo, tree_of: str, parent: str, *, headers: bytes, message: bytes) -> str:
    """Write a commit whose author, extra headers and message are given as bytes."""
    tree = repo.git("rev-parse", f"{tree_of}^{{tree}}").encode()
    stamp = b"1700000000 +0100"
    return repo.raw_commit(
        b"tree %s\nparent %s\n%s\ncommitter C <c@e.org> %s\n%s"
        % (tree, parent.encode(), headers.split(b"|")[0], stamp, headers.partition(b"|")[2])
        + b"\n"
        + message
    )


AUTHOR = b"author A <a@e.org> 1600000000 -0330"
LATIN = b"author J\xe9r\xf4me <j@e.org> 1600000000 -0330"
TEXTS = {
    "latin-1 with header": (LATIN + b"|encoding ISO-8859-1\n", b"d\xe9j\xe0\n\nna\xefve\n"),
    "cp1252 with header": (AUTHOR + b"|encoding CP1252\n", b"\x80 and \x81\n"),
    "shift-jis with header": (AUTHOR + b"|encoding Shift_JIS\n", b"\x93\xfa\x96{\n"),
    "unknown encoding": (AUTHOR + b"|encoding klingon\n", b"d\xe9j\xe0\n"),
    "utf-8 with header": (AUTHOR + b"|encoding UTF-8\n", "déjà\n".encode()),
    "latin-1 without header": (LATIN + b"|", b"d\xe9j\xe0 \xe2\x82 x\n"),
    "non-characters": (AUTHOR + b"|", b"a\xef\xb7\x90b\xef\xbf\xbfc\xed\xa0\x80d\n"),
    "comments and blanks": (AUTHOR + b"|", b"\n \t\n# kept\n\n\n trailing  \n\n\n"),
    "no end of line": (AUTHOR + b"|", b"subject"),
    "empty message": (AUTHOR + b"|", b""),
    "blank message": (AUTHOR + b"|", b"\n\n"),
    "carriage returns": (AUTHOR + b"|", b"subject\r\n\r\nbody\r\n"),
    "extra headers": (
        AUTHOR + b"|gpgsig -----BEGIN\n \n line\n -----END\nwhatever value\n",
        b"subject\n",
    ),
    "odd author": (b"author  A B  <> 1 +0000|", b"subject\n"),
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_author_and_message_come_out_as_in_rebase(repo: Repo, name: str) -> None:
    """Bytes of author and message are kept or re-encoded exactly as rebase does."""
    target, topic = diverge(repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    headers, message = TEXTS[name]
    odd = raw(repo, topic, repo.head(f"{topic}~1"), headers=headers, message=message)
    assert_same(repo, target, odd)


@pytest.mark.parametrize(
    "setting",
    [
        "commit.cleanup=strip",
        "commit.cleanup=verbatim",
        "i18n.commitEncoding=ISO-8859-1",
        "rebase.backend=apply",
        "rebase.updateRefs=true",
        "rerere.enabled=true",
        "rebase.autoSquash=true",
        "diff.algorithm=patience",
    ],
)
def test_a_setting_has_the_same_effect_as_in_rebase(repo: Repo, setting: str) -> None:
    """Whatever the user configured about commits holds for the replay too."""
    name, _, value = setting.partition("=")
    repo.git("config", name, value)
    steps = ({"h": "1\n"}, {"h": "1\n2\n"})
    target, topic = diverge(repo, {"f": lines(9)}, target={"g": "1\n"}, topic=steps)
    odd = raw(
        repo, topic, repo.head(f"{topic}~1"),
        headers=AUTHOR + b"|", message="# é\n\n\nbody  \n".encode(),
    )  # fmt: skip
    assert_same(repo, target, odd)


def test_a_conflict_with_rerere_is_a_conflict(repo: Repo) -> None:
    """A recorded resolution changes no verdict: rebase stops all the same."""
    repo.git("config", "rerere.enabled", "true")
    target, topic = diverge(repo, {"x/log": "1\n"}, target=OURS, topic=(THEIRS,))
    repo.git("checkout", "-q", "--detach", target)
    repo.run("merge", topic)
    repo.write({"x/log": "1\nours\ntheirs\n"})
    repo.git("commit", "-qam", "resolve")
    repo.git("checkout", "-q", "main")
    assert isinstance(assert_same(repo, target, topic), ReplayConflict)


SIGN_WITH_SSH = ("gpg.format", "ssh"), ("commit.gpgSign", "true")


def test_a_signature_is_dropped_if_signing_is_off(repo: Repo, tmp_path: Path) -> None:
    """A signed commit loses its signature, which no longer fits."""
    target, topic = diverge(repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    repo.git("checkout", "-q", "topic")
    configure_signing(repo, tmp_path)
    signed = repo.commit("signed", {"i": "1\n"}, "-S")
    repo.git("checkout", "-q", "main")
    repo.git("config", "commit.gpgSign", "false")
    assert b"gpgsig" in repo.run("cat-file", "commit", signed).stdout
    result = assert_same(repo, target, signed)
    assert isinstance(result, Replayed)
    assert b"gpgsig" not in repo.run("cat-file", "commit", result.new).stdout


def test_commits_are_signed_again_if_configured(repo: Repo, tmp_path: Path) -> None:
    """With commit.gpgSign every replayed commit is signed, in the scratch worktree."""
    target, topic = diverge(
        repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"}, {"h": "2\n"})
    )
    configure_signing(repo, tmp_path)
    result = assert_same(repo, target, topic)
    assert isinstance(result, Replayed)
    assert [pick.new is None for pick in result.picks] == [False, False]
    for pick in result.picks:
        assert pick.new is not None
        assert b"gpgsig" in repo.run("cat-file", "commit", pick.new).stdout


def test_a_signing_program_that_fails_is_an_error(repo: Repo, tmp_path: Path) -> None:
    """A missing signature is a failure and not a conflict; no rebase stays open."""
    target, topic = diverge(repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", "gpg.program", "false")
    scratch = tmp_path / "s"
    with pytest.raises(GitFailed):
        replay(Git(str(repo.root)), target=Oid(target), topic=Oid(topic), scratch_dir=str(scratch))
    repo.git("config", "--unset", "gpg.program")
    repo.git("config", "commit.gpgSign", "false")
    assert "rebase in progress" not in Repo(scratch / "rebase").git("status")


def test_the_git_of_a_killed_replay_is_waited_for(repo: Repo, tmp_path: Path) -> None:
    """Its rebase holds the scratch worktree until it has ended."""
    target, topic = diverge(repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    started, gate = tmp_path / "started", tmp_path / "gate"
    os.mkfifo(gate)
    configure_signing(repo, tmp_path, first=f"touch {started}; read line <{gate}")
    replaying = subprocess.Popen(
        [sys.executable, "-c", REPLAY, str(repo.root), target, topic, str(tmp_path / "s")],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    wait_until(started.exists)
    replaying.kill()
    replaying.wait()
    lock = f"{tmp_path}/s/rebase-lock.child"
    assert is_held(lock)
    opened = os.open(gate, os.O_RDWR)
    os.write(opened, b"go\n")
    wait_until(lambda: not is_held(lock))
    os.close(opened)


def configure_signing(repo: Repo, place: Path, *, first: str = "true") -> None:
    """Sign commits by a stand-in for gpg, which prints the lines that git waits for."""
    program = place / "fake-gpg"
    program.write_text(
        f"#!/bin/sh\n{first}\ncat >/dev/null\n"
        'echo "-----BEGIN PGP SIGNATURE-----"\necho\necho fake\n'
        'echo "-----END PGP SIGNATURE-----"\n'
        'echo "[GNUPG:] SIG_CREATED " >&2\n'
    )
    program.chmod(0o755)
    repo.git("config", "gpg.program", str(program))
    repo.git("config", "commit.gpgSign", "true")


def test_notes_are_copied_if_configured(repo: Repo) -> None:
    """With notes.rewriteRef a note of an old commit is found at the new one."""
    target, topic = diverge(repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    repo.git("notes", "add", "-m", "remember", topic)
    repo.git("config", "notes.rewriteRef", "refs/notes/commits")
    result = replay(
        Git(str(repo.root)), target=Oid(target), topic=Oid(topic),
        scratch_dir=str(repo.root.parent / "scratch"),
    )  # fmt: skip
    assert isinstance(result, Replayed)
    assert repo.git("notes", "show", result.new) == "remember"


@pytest.fixture
def signing(repo: Repo, tmp_path: Path) -> tuple[str, str]:
    """A repository that needs the scratch worktree, with (target, topic) that conflict."""
    target, topic = diverge(repo, {"x/log": "1\n"}, target=OURS, topic=({"n": "1\n"}, THEIRS))
    configure_signing(repo, tmp_path)
    return target, topic


def test_a_conflict_in_the_scratch_worktree_is_reported_and_ended(
    repo: Repo, signing: tuple[str, str], tmp_path: Path
) -> None:
    """Commit and paths are named; no rebase stays open; the next replay uses the same place."""
    for _ in range(2):
        result = assert_same(repo, *signing)
        assert result == ReplayConflict(Oid(signing[1]), "topic 1", ("x/log",))
    assert Repo(tmp_path / "scratch/rebase").git("status", "--porcelain") == ""


@pytest.mark.parametrize("damage", ["dirty", "lock", "missing", "no admin", "no tree", "open"])
def test_a_broken_scratch_worktree_is_made_again(
    repo: Repo, signing: tuple[str, str], tmp_path: Path, damage: str
) -> None:
    """Whatever a killed rebase left there, the next one works."""
    assert_same(repo, *signing)
    scratch = Repo(tmp_path / "scratch/rebase")
    admin = Path(scratch.git("rev-parse", "--absolute-git-dir"))
    if damage == "dirty":
        scratch.write({"n": "dirty\n", "x/log": "dirty\n", "untracked/f": "1\n"})
    elif damage == "lock":
        (admin / "index.lock").write_text("")
    elif damage == "missing":
        import shutil

        shutil.rmtree(scratch.root)
    elif damage == "no admin":
        import shutil

        shutil.rmtree(admin)
    elif damage == "no tree":
        (scratch.root / ".git").unlink()
    else:
        scratch.run("rebase", *signing)
    result = assert_same(repo, *signing)
    assert isinstance(result, ReplayConflict)


def test_no_hook_of_the_users_runs(repo: Repo, tmp_path: Path) -> None:
    """A replay, in memory or in the scratch worktree, is silent to the user's hooks."""
    target, topic = diverge(repo, {"f": "1\n"}, target={"g": "1\n"}, topic=({"h": "1\n"},))
    calls = tmp_path / "calls"
    for name in (
        "pre-rebase",
        "post-checkout",
        "post-commit",
        "prepare-commit-msg",
        "post-rewrite",
    ):
        hook = repo.root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >>{calls}\n")
        hook.chmod(0o755)
    for setting in ("false", "true"):
        configure_signing(repo, tmp_path)
        repo.git("config", "commit.gpgSign", setting)
        result = replay(
            Git(str(repo.root)), target=Oid(target), topic=Oid(topic),
            scratch_dir=str(tmp_path / "scratch"),
        )  # fmt: skip
        assert isinstance(result, Replayed)
    assert not calls.exists()
