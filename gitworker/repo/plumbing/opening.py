"""The two questions that every command asks git first: its settings, and the target's commit.

Both git processes run at the same time, and during the imports of the command: the entry point
starts them before it loads click, which takes longer than git's answers.
"""

from __future__ import annotations

import os

from gitworker.config import FILE_NAME, is_list
from gitworker.errors import Invalid, Refused, Unavailable
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.ref_names import ref_of, short_name
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git import Git, GitFailed

TYPE_CHECKING = False  # `typing` costs 2 ms, and git is started before that
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker import proc
    from gitworker.paths import Repository, StatePaths

USUAL = ("main", "master")
CONFIG = ("config", "--list", "-z", "--show-scope")
OBJECTS = ("cat-file", "--batch")
KEPT_NAME = "target"  # the target of the last command, which the next command asks for first
OURS = "worker."
KINDS = {b"120000": "a symbolic link", b"40000": "a directory", b"160000": "a submodule"}
SETTINGS_UNREADABLE = "settings_unreadable"  # the code of the error
UNREADABLE = b"unreadable"  # the mode of a file in a tree that git cannot read
WORKTREE_SCOPE = "worktree"


class TargetAnswer:
    """The target's ref, its commit or None, and the settings file in it (None: no file)."""

    __slots__ = ("commit", "ref", "settings")

    def __init__(self, ref: Ref, *, commit: Oid | None, settings: str | None) -> None:
        self.ref = ref
        self.commit = commit
        self.settings = settings


class OpeningAnswers:
    """The two running git processes; each answer is read once."""

    __slots__ = ("_config", "_objects", "_refs", "git")

    def __init__(self, git: Git, env: Mapping[str, str], *, kept: str = "") -> None:
        named = env.get("GITWORKER_TARGET")
        names = [name for name in (named, kept, *USUAL) if name]
        self.git = git
        self._refs = [ref_of(Branch(name)) for name in dict.fromkeys(names)]
        self._config = git.start(*CONFIG)
        self._objects = git.start(*OBJECTS, stdin=_asked(self._refs))

    def settings(self) -> dict[str, str]:
        """Return git's settings as git itself resolves them: the last value of each key.

        Of a list of ours all values of the last scope count, one on each line. gitworker's own keys
        apply to the whole repository. A `worker.…` key of a single worktree is ignored: an agent
        could use it to turn off the review of its own work.
        """
        found: dict[str, str] = {}
        scopes: dict[str, str] = {}
        fields = self._answer(self._config, CONFIG).text.split("\0")
        for scope, entry in zip(fields[::2], fields[1::2], strict=False):
            key, separator, value = entry.partition("\n")
            if scope == WORKTREE_SCOPE and key.startswith(OURS):
                continue
            value = value if separator else "true"  # a key alone is true (git-config(1))
            if key.startswith(OURS):
                is_more = scopes.get(key) == scope and is_list(key)  # by `git config --add`
                value = f"{found[key]}\n{value}" if is_more else value
                scopes[key] = scope
            found[key] = value
        return found

    def target(self, names: Sequence[str], *, reads_settings: bool = True) -> TargetAnswer:
        """Return the first of these branches that has a commit, else the first of them.

        Raises Unavailable if git cannot read whether the commit has settings, or which: without
        them its verify commands would silently not run. Only a repair does not read them.
        """
        refs = [ref_of(Branch(name)) for name in dict.fromkeys(names)]
        answer = self._answer(self._objects, OBJECTS).out
        held = _read(answer, self._refs)
        if not held.keys() >= set(refs):  # a target that could not be foreseen
            held = _read(self.git.run(*OBJECTS, stdin=_asked(refs)).out, refs)
        for ref in refs:
            commit, mode, text = held[ref]
            if commit is not None:
                name = short_name(ref)
                text = _usable(mode, text, name) if reads_settings else None
                return TargetAnswer(ref, commit=commit, settings=text)
        return TargetAnswer(refs[0], commit=None, settings=None)

    def _answer(self, running: proc.Running, args: Sequence[str]) -> proc.Completed:
        """Return git's answer; raise a readable error if git does not open the repository."""
        try:
            return self.git.finish(running, args)
        except GitFailed as failure:
            from gitworker.repo.plumbing.rules_repository_kinds import (
                explain,  # only after a failure
            )

            raise explain(failure.detail) or failure from None

    def abandon(self) -> None:
        """End the processes whose answers are not needed any more."""
        self._config.abandon()
        self._objects.abandon()


def usual_targets(git_config: Mapping[str, str]) -> list[str]:
    """Return the branches that may be the target if no setting names one, the likeliest first."""
    default = git_config.get("init.defaultbranch")
    return ["main", *([default] if default else []), "master"]


def ask(repository: Repository, env: Mapping[str, str], *, kept: str = "") -> OpeningAnswers:
    """Start asking in a repository; `kept` is a branch that may be the target."""
    return OpeningAnswers(Git(repository.top or repository.common_dir), env, kept=kept)


def read_kept_target(paths: StatePaths) -> str:
    """Return the target of the last command here, "" if none is known.

    It is only a guess that saves a process: the database records the actual target.
    """
    try:
        with open(f"{paths.root}/{KEPT_NAME}", encoding="utf-8", opener=open_regular) as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def keep_target(paths: StatePaths, target: Ref) -> None:
    """Write the target to its file if the file names another one."""
    name = short_name(target)
    if read_kept_target(paths) == name or "\n" in name:
        return
    from gitworker.repo.plumbing.disk import write_hint  # 1 ms, only if the target changed

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
    # The tree distinguishes an absent file from one that git cannot read: both are "missing".
    asked = (f"{name}^{{commit}}\n{name}:{FILE_NAME}\n{name}^{{tree}}\n" for name in names)
    return os.fsencode("".join(asked))


def _read(
    answer: bytes, names: Sequence[str]
) -> dict[str, tuple[Oid | None, bytes | None, str | None]]:
    """Return for each name its commit, the mode of its settings file, and the text.

    If git cannot read the commit's tree, the mode is UNREADABLE.
    """
    held = {}
    for name in names:
        oid = Oid(answer.partition(b" ")[0].decode("ascii", "replace"))
        commit, answer = _next_object(answer)
        file, answer = _next_object(answer)
        oid_size = answer.find(b" ") // 2
        tree, answer = _next_object(answer)
        text = None if file is None else file.decode("utf-8", "replace")
        mode = UNREADABLE if tree is None else _mode(tree, oid_size)
        held[name] = (None if commit is None else oid, mode, text)
    return held


def _mode(tree: bytes, oid_size: int) -> bytes | None:
    """Return the mode of the settings file in a tree object, None if it is not there."""
    wanted = FILE_NAME.encode()
    if b" %b\0" % wanted not in tree:
        return None
    place = 0  # parse: the same bytes can be the end of a longer name
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
            f"git rm --cached {FILE_NAME}   # then commit; settings may be in git config instead",
            code="settings_not_a_file",
        )
    if text is None:
        raise Unavailable(
            f"{FILE_NAME} of {name} cannot be read: an object is missing or damaged",
            "git worker fsck --repair   # or: git fetch --refetch, if a remote has it",
            code=SETTINGS_UNREADABLE,
        )
    return text


def _next_object(answer: bytes) -> tuple[bytes | None, bytes]:
    """Split the first object off `cat-file --batch` output; None if git answers "missing"."""
    head, _, rest = answer.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or not words[2].isdigit():
        return None, rest
    size = int(words[2])
    return rest[:size], rest[size + 1 :]
