"""Builders of one repository of each kind that git knows, each on `main` with the same files.

Every kind has README, src/app.py and the settings of a verify command on its target; a kind with a
partial checkout keeps README and src.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixtures.repos import Content, Repo
from tests.conftest import git

VERIFY = '[verify]\ncommands = ["test -f README && test ! -e broken"]\n'
START: Mapping[str, Content] = {
    "README": "line 1\nline 2\nline 3\n",
    "src/app.py": "print('hello')\n",
    "docs/guide.txt": "a guide\n",
    "docs/deep/page.txt": "a page\n",
    ".gitignore": "*.o\n",
    ".gitworker.toml": VERIFY,
}


def nothing(place: Path) -> None:
    """Assert nothing."""


@dataclass(frozen=True)
class Kind:
    """A kind of repository: its builder, the git that it needs, and its assertions.

    `build` gets an empty directory and returns the directory of the commands. `worktree` checks a
    worker's new worktree, `landed` the repository after its work has landed.
    """

    name: str
    build: Callable[[Path], Path]
    worktree: Callable[[Path], None] = nothing
    landed: Callable[[Path], None] = nothing
    edits: Mapping[str, Content] = field(default_factory=lambda: {"src/new.txt": "new\n"})
    since: tuple[int, ...] = (2, 39)


def git_version() -> tuple[int, ...]:
    """Return the version of the git on PATH."""
    words = git(Path("/"), "version").split()
    return tuple(int(part) for part in words[2].split(".")[:2])


def require(kind: Kind) -> None:
    """Skip the test if the git on PATH is older than the kind."""
    if git_version() < kind.since:
        pytest.skip(f"{kind.name} needs git {'.'.join(map(str, kind.since))}")


def start(root: Path, *options: str, files: Mapping[str, Content] = START) -> Repo:
    """Make a repository with its first commit."""
    repo = Repo.make(root, *options)
    repo.commit("Start", files)
    return repo


def configured(*settings: str) -> Callable[[Path], Path]:
    """Return the builder of an ordinary repository with these settings, each NAME=VALUE."""

    def build(place: Path) -> Path:
        root = place / "repo"
        repo = Repo.make(root)
        for setting in settings:
            repo.git("config", *setting.split("=", 1))
        repo.commit("Start", START)
        return root

    return build


def made_with(*options: str) -> Callable[[Path], Path]:
    """Return the builder of a repository that `git init` makes with these options."""
    return lambda place: start(place / "repo", *options).root


def separate(place: Path) -> Path:
    """Make a repository whose git directory is elsewhere."""
    return start(place / "repo", f"--separate-git-dir={place / 'elsewhere.git'}").root


def cloned(place: Path, *options: str) -> Path:
    """Clone a repository of two commits by the file transport, with these options."""
    origin = start(place / "origin")
    origin.commit("More", {"docs/more.txt": "more\n"})
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.git("config", "uploadpack.allowAnySHA1InWant", "true")
    git(place, "clone", "-q", *options, f"file://{origin.root}", "repo")
    return place / "repo"


def shallow(place: Path) -> Path:
    """Make a clone that has only the last commit."""
    root = cloned(place, "--depth=1")
    assert git(root, "rev-list", "--count", "HEAD") == "1"
    return root


def partial(place: Path) -> Path:
    """Make a clone without blobs except those of its checkout."""
    return cloned(place, "--filter=blob:none")


def treeless(place: Path) -> Path:
    """Make a clone without trees and blobs except those of its checkout."""
    return cloned(place, "--filter=tree:0")


def partial_and_sparse(place: Path) -> Path:
    """Make a clone that has fetched only a part of the tree, as users of large repositories do."""
    root = cloned(place, "--filter=blob:none", "--sparse")
    git(root, "sparse-checkout", "add", "src")
    assert not (root / "docs").exists()
    return root


def bare(place: Path) -> Path:
    """Make a bare clone, which has no checkout."""
    return cloned(place, "--bare")


def bare_beside_worktrees(place: Path) -> Path:
    """Make a directory of worktrees with a bare repository in `.bare`; commands are run in it."""
    cloned(place, "--bare")
    root = place / "project"
    root.mkdir()
    (place / "repo").rename(root / ".bare")
    (root / ".git").write_text("gitdir: ./.bare\n")
    git(root, "worktree", "add", "-q", "main", "main")
    return root


def bare_below_worktrees(place: Path) -> Path:
    """Make a bare repository named `.git` and a worktree of the target; commands are run there."""
    cloned(place, "--bare")
    root = place / "project"
    root.mkdir()
    (place / "repo").rename(root / ".git")
    git(root, "worktree", "add", "-q", "main", "main")
    return root / "main"


def is_followed(root: Path) -> None:
    """Assert that the worktree of the target has the landed files."""
    main = root if root.name == "main" else root / "main"
    assert git(main, "status", "--porcelain") == ""
    assert (main / "src/new.txt").read_text() == "new\n"


def shared(place: Path) -> Path:
    """Make a clone that borrows another repository's objects."""
    origin = start(place / "origin")
    git(place, "clone", "-q", "--shared", str(origin.root), "repo")
    return place / "repo"


def sparse(*words: str) -> Callable[[Path], Path]:
    """Return the builder of a repository whose checkout leaves docs out."""

    def build(place: Path) -> Path:
        repo = start(place / "repo")
        repo.git("sparse-checkout", "set", *words)
        assert not (repo.root / "docs").exists()
        return repo.root

    return build


def sparse_by_hand(place: Path) -> Path:
    """Make a repository whose main worktree alone is sparse, by its own settings."""
    repo = start(place / "repo")
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.sparseCheckout", "true")
    (repo.root / ".git/info/sparse-checkout").write_text("/*\n!/docs/\n")
    repo.git("read-tree", "-mu", "HEAD")
    assert not (repo.root / "docs").exists()
    return repo.root


def holds_no_docs(worktree: Path) -> None:
    """Assert that the worktree has the same part of the tree as the main checkout."""
    assert not (worktree / "docs").exists()
    assert (worktree / "src/app.py").exists()
    assert git(worktree, "status", "--porcelain") == ""


def with_submodule(place: Path) -> Path:
    """Make a repository that has another one at lib, filled."""
    library = start(place / "library", files={"lib.c": "int lib;\n"})
    repo = start(place / "repo")
    repo.git("submodule", "add", "-q", str(library.root), "lib")
    repo.commit("Take the library in")
    return repo.root


def holds_the_submodule(worktree: Path) -> None:
    """Assert that the submodule is filled in a worker's worktree."""
    assert (worktree / "lib/lib.c").read_text() == "int lib;\n"


def inside_submodule(place: Path) -> Path:
    """Make a repository that is a submodule of another one; commands are run inside it."""
    inner = start(place / "inner")
    outer = start(place / "repo", files={"outer.txt": "outer\n"})
    outer.git("submodule", "add", "-q", str(inner.root), "lib")
    outer.commit("Take it in")
    return outer.root / "lib"


def lies_quietly(root: Path) -> None:
    """Assert that the outer repository sees new commits in the inner one, and no other change."""
    (line,) = git(root.parent, "status", "--porcelain=v2").splitlines()
    assert line.split()[2] == "SC.."


def windows(place: Path) -> Path:
    """Make a repository whose text is stored with LF and checked out with CRLF."""
    root = place / "repo"
    repo = Repo.make(root)
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "core.safecrlf", "false")
    repo.commit("Start", START)
    repo.git("rm", "-q", "--cached", "-r", ".")
    repo.git("reset", "-q", "--hard")
    assert b"\r\n" in (root / "README").read_bytes()
    return root


def has_carriage_returns(worktree: Path) -> None:
    """Assert that text has CRLF, and that nothing is changed."""
    assert (worktree / "README").read_bytes().count(b"\r\n") == 3
    assert git(worktree, "status", "--porcelain") == ""


def signing(place: Path) -> Path:
    """Make a repository that signs its commits with an ssh key."""
    root = configured()(place)
    key = place / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)],
        check=True, capture_output=True,
    )  # fmt: skip
    (place / "signers").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(place / "signers"),
        "commit.gpgSign": "true",
    }.items():
        git(root, "config", name, value)
    return root


def is_signed(root: Path) -> None:
    """Assert that every commit after the first has a good signature."""
    verdicts = git(root, "log", "--format=%G?", "main").splitlines()
    assert set(verdicts[:-1]) == {"G"}, verdicts


def watched(place: Path) -> Path:
    """Make a repository whose worktrees git's fsmonitor daemon watches."""
    root = configured("core.fsmonitor=true", "core.untrackedCache=true")(place)
    if "feature: fsmonitor--daemon" not in git(root, "version", "--build-options"):
        pytest.skip("this git has no fsmonitor daemon for this system")
    return root


def is_watched(worktree: Path) -> None:
    """Assert that the daemon runs."""
    assert (Path(git(worktree, "rev-parse", "--git-dir")) / "fsmonitor--daemon.ipc").exists()


def watches_no_removed_worktree(root: Path) -> None:
    """Assert that no daemon has outlived its worktree."""
    assert [place for place in watchers(root).values() if not place.exists()] == []


def watchers(root: Path) -> dict[int, Path]:
    """Return the git directories of linked worktrees below `root` that daemons watch, by pid."""
    found: dict[int, Path] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"fsmonitor--daemon" in words:
            places = [Path(os.fsdecode(one[8:])) for one in variables if one[:8] == b"GIT_DIR="]
            found |= {int(process.name): place for place in places if place.is_relative_to(root)}
    return found


def end_watching(root: Path) -> None:
    """End the daemons of every repository below a directory."""
    for folder, _, names in os.walk(root):
        if "fsmonitor--daemon.ipc" in names:
            git(root, f"--git-dir={folder}", "fsmonitor--daemon", "stop", check=False)
    for pid in watchers(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def relative(place: Path) -> Path:
    """Make a repository whose worktrees point to each other by relative paths."""
    return configured("worktree.useRelativePaths=true")(place)


def points_relatively(worktree: Path) -> None:
    """Assert that the worktree has a relative pointer."""
    assert (worktree / ".git").read_text().startswith("gitdir: ..")
