"""The two questions that every command asks git first: its settings, and what the target holds.

Both processes run beside each other, and beside the imports of whoever asks early enough: the
entry asks before click is loaded, which takes longer than git's answers.
"""

from __future__ import annotations

import os

from gitworker.config import FILE_NAME
from gitworker.errors import Invalid, Refused, Unavailable
from gitworker.model.ids import Branch, Ref, ref_of
from gitworker.paths import regular
from gitworker.repo.plumbing.git import Git, GitFailed

TYPE_CHECKING = False  # `typing` costs 2 ms, which the questions need not wait for
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker import proc
    from gitworker.paths import Repository, StatePaths

USUAL = ("main", "master")
CONFIG = ("config", "--list", "-z", "--show-scope")
OBJECTS = ("cat-file", "--batch")
KEPT_NAME = "target"  # the target of the last command, which the next one asks for first
OURS = "worker."
KINDS = {b"120000": "a symbolic link", b"40000": "a directory", b"160000": "a submodule"}
WORKTREE_SCOPE = "worktree"


class Target:
    """The target's ref, whether it has a commit, and the settings file in it (None: no file)."""

    __slots__ = ("exists", "ref", "settings")

    def __init__(self, ref: Ref, *, exists: bool, settings: str | None) -> None:
        self.ref = ref
        self.exists = exists
        self.settings = settings


class Opening:
    """The questions on their way; each answer is taken once."""

    __slots__ = ("_config", "_objects", "_refs", "git")

    def __init__(self, git: Git, env: Mapping[str, str], *, kept: str = "") -> None:
        named = env.get("GITWORKER_TARGET")
        names = [name for name in (named, kept, *USUAL) if name]
        self.git = git
        self._refs = [ref_of(Branch(name)) for name in dict.fromkeys(names)]
        self._config = git.start(*CONFIG)
        self._objects = git.start(*OBJECTS, stdin=_asked(self._refs))

    def settings(self) -> dict[str, str]:
        """Return git's settings as git itself resolves them, the last value of each key.

        Our own keys count for the whole repository: one worktree's `worker.…` is left out, since
        an agent could turn off the review of its own work by it.
        """
        found = {}
        fields = self._answer(self._config, CONFIG).text.split("\0")
        for scope, entry in zip(fields[::2], fields[1::2], strict=False):
            key, separator, value = entry.partition("\n")
            if scope == WORKTREE_SCOPE and key.startswith(OURS):
                continue
            found[key] = value if separator else "true"  # a key alone is true (git-config(1))
        return found

    def target(self, names: Sequence[str]) -> Target:
        """Return the first of these branches that has a commit, else the first of them.

        Raises Unavailable where the commit has settings that cannot be read: without them its
        commands would not run, and nobody would know.
        """
        refs = [ref_of(Branch(name)) for name in dict.fromkeys(names)]
        answer = self._answer(self._objects, OBJECTS).out
        held = _read(answer, self._refs)
        if not held.keys() >= set(refs):  # a target that nobody could foresee
            held = _read(self.git.run(*OBJECTS, stdin=_asked(refs)).out, refs)
        for ref in refs:
            exists, mode, text = held[ref]
            if exists:
                text = _usable(mode, text, ref.removeprefix("refs/heads/"))
                return Target(ref, exists=True, settings=text)
        return Target(refs[0], exists=False, settings=None)

    def _answer(self, running: proc.Running, args: Sequence[str]) -> proc.Completed:
        """Return what git said; where it does not open the repository, say why in our words."""
        try:
            return self.git.finish(running, args)
        except GitFailed as failure:
            from gitworker.repo.plumbing.rules_repository_kinds import (
                explain,  # only after a failure
            )

            raise explain(failure.detail) or failure from None

    def abandon(self) -> None:
        """End what nobody waits for any more."""
        self._config.abandon()
        self._objects.abandon()


def usual_targets(git_config: Mapping[str, str]) -> list[str]:
    """Return the branches that are the target where nobody has named one, the likeliest first."""
    default = git_config.get("init.defaultbranch")
    return ["main", *([default] if default else []), "master"]


def ask(repository: Repository, env: Mapping[str, str], *, kept: str = "") -> Opening:
    """Start asking in a repository; `kept` is a branch that may be the target."""
    return Opening(Git(repository.top or repository.common_dir), env, kept=kept)


def read_kept_target(paths: StatePaths) -> str:
    """Return the target of the last command here, empty where none is known.

    Only a guess, which saves a process: what counts is recorded in the database.
    """
    try:
        with open(f"{paths.root}/{KEPT_NAME}", encoding="utf-8", opener=regular) as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def keep_target(paths: StatePaths, target: Ref) -> None:
    """Write the target down where it is another than the one that stands there."""
    name = target.removeprefix("refs/heads/")
    if read_kept_target(paths) == name or "\n" in name:
        return
    from gitworker.repo.plumbing.disk import write_hint  # 1 ms, only where another is the target

    write_hint(f"{paths.root}/{KEPT_NAME}", os.fsencode(f"{name}\n"))


def read_settings(git: Git, commit: str) -> str | None:
    """Return the text of a commit's settings file, None if the commit has none.

    Raises Unavailable if git cannot read it, and Invalid if it is not a file.
    """
    _, mode, text = _read(git.run(*OBJECTS, stdin=_asked([commit])).out, [commit])[commit]
    try:
        return _usable(mode, text, commit[:12])
    except Refused as error:
        raise Invalid(error.message) from error


def _asked(names: Sequence[str]) -> bytes:
    # The tree tells a file that is not there from one that git cannot read: both are "missing".
    asked = (f"{name}^{{commit}}\n{name}:{FILE_NAME}\n{name}^{{tree}}\n" for name in names)
    return os.fsencode("".join(asked))


def _read(answer: bytes, names: Sequence[str]) -> dict[str, tuple[bool, bytes | None, str | None]]:
    """Return for each name whether it has a commit, the mode of its settings file, and the text."""
    held = {}
    for name in names:
        commit, answer = _next_object(answer)
        file, answer = _next_object(answer)
        oid_size = answer.find(b" ") // 2
        tree, answer = _next_object(answer)
        text = None if file is None else file.decode("utf-8", "replace")
        held[name] = (commit is not None, _mode(tree or b"", oid_size), text)
    return held


def _mode(tree: bytes, oid_size: int) -> bytes | None:
    """Return the mode of the settings file in a tree object, None if it is not there."""
    wanted = FILE_NAME.encode()
    if b" %b\0" % wanted not in tree:
        return None
    place = 0  # the same bytes can be the end of a longer name
    while place < len(tree):
        end = tree.index(b"\0", place)
        mode, _, name = tree[place:end].partition(b" ")
        if name == wanted:
            return mode
        place = end + 1 + oid_size
    return None


def _usable(mode: bytes | None, text: str | None, name: str) -> str | None:
    if mode is None:
        return None
    if mode in KINDS:
        raise Refused(
            f"{FILE_NAME} of {name} is {KINDS[mode]}; the settings are read from a file only",
            f"git rm --cached {FILE_NAME}   (then commit; settings may be in git config instead)",
            code="settings_not_a_file",
        )
    if text is None:
        raise Unavailable(
            f"{FILE_NAME} of {name} cannot be read: git does not find what it holds",
            "git fsck   (or: git fetch --refetch, where a remote has it)",
            code="settings_unreadable",
        )
    return text


def _next_object(answer: bytes) -> tuple[bytes | None, bytes]:
    """Split the first object off `cat-file --batch` output; None where git says missing."""
    head, _, rest = answer.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or not words[2].isdigit():
        return None, rest
    size = int(words[2])
    return rest[:size], rest[size + 1 :]
