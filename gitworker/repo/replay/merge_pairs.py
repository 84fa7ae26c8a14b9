"""Merge many pairs of commits to find conflicts, by a few `git merge-tree --stdin`.

No ref, index or worktree is touched, and the objects of a merge are written into a private
directory. The user's merge programs and filters do not run: their files are merged as plain text.
"""

import os
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitworker import proc
from gitworker.model.ids import Oid
from gitworker.paths import open_regular
from gitworker.repo.plumbing.disk import private_directory, remove_tree
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.objects import alternate
from gitworker.repo.replay.attributes import lay_out

PROCESSES = 2
# A request of so many pairs fits into a pipe, and their merges write a few megabytes.
PAIRS_AT_ONCE = 200
# The merge results are thrown away: in memory they take a half to a fifth of the time of a disk.
MEMORY = "/dev/shm"
MEMORY_NEEDED_BYTES = 256 * 1024 * 1024
SPOILED_AT_MOST = 200  # pairs that git cannot merge at all before the run stops
GAVE_UP = 128  # git's own status; the answers before that are written
CLEAN, CONFLICTED = "1", "0"
UNNAMED = "?"
TEXT_MERGE = "git merge-file -q %A %O %B || exit 1"  # replaces a program; 1: a conflict
TEXT, NOTHING, NO = "GITWORKER_TEXT_MERGE", "GITWORKER_NOTHING", "GITWORKER_NO"

Pair = tuple[Oid, Oid]
Conflicts = Mapping[str, frozenset[str]]  # by path: mode, blob and stage, as of `git ls-files -u`
Attributes = Mapping[str, bytes]


class Batch(NamedTuple):
    """Pairs to merge under the same attributes, given by directory."""

    pairs: Sequence[Pair]
    attributes: Attributes


class Merged(NamedTuple):
    """The conflicts of each pair: the paths with their unmerged entries; none in a clean merge.

    A pair that git could not merge is missing; `complaint` is git's message then.
    """

    conflicts: dict[Pair, Conflicts]
    complaint: str

    @property
    def files(self) -> dict[Pair, tuple[str, ...]]:
        """Return the paths in conflict of each pair, sorted."""
        return {pair: tuple(sorted(found)) for pair, found in self.conflicts.items()}


def merge_pairs(
    common_dir: str,
    batches: Sequence[Batch],
    *,
    scratch_dir: str,
    git_config: Mapping[str, str],
) -> Merged:
    """Merge each pair, the second into the first, and return the conflicts. Keep no objects.

    `git_config` are git's own settings by key. At most two processes run at a time.
    """
    if not any(batch.pairs for batch in batches):
        return Merged({}, "")
    options = neutral_options(git_config)
    with (
        private_directory(scratch_dir, "radar-") as private,
        private_directory(find_objects_place(scratch_dir), "gitworker-radar-") as objects,
    ):
        return _Merging(common_dir, private, objects=objects, options=options).run(batches)


def neutral_options(git_config: Mapping[str, str]) -> list[str]:
    """Return the options that prevent merge programs and filters of the user.

    Values come from the environment, since a name may contain a character at which `-c` splits.
    """
    options = []
    for key in git_config:
        section, _, rest = key.partition(".")
        name, dot, setting = rest.rpartition(".")
        if not dot:
            continue
        if (section, setting) == ("merge", "driver"):
            options += [f"merge.{name}.driver={TEXT}", f"merge.{name}.recursive={NOTHING}"]
        elif section == "filter" and setting in ("clean", "process"):
            options += [f"filter.{name}.{setting}={NOTHING}", f"filter.{name}.required={NO}"]
    return [f"--config-env={option}" for option in options]


def find_objects_place(scratch_dir: str, *, memory: str = MEMORY) -> str:
    """Return the directory for temporary objects: in memory if there is enough space."""
    try:
        free = os.statvfs(memory)
    except OSError:
        return scratch_dir
    has_space = free.f_bavail * free.f_frsize >= MEMORY_NEEDED_BYTES
    return memory if has_space and os.access(memory, os.W_OK | os.X_OK) else scratch_dir


class _Running(NamedTuple):
    process: proc.Running
    pairs: Sequence[Pair]
    tree: str
    objects: str


class _Merging:
    """The state of one run: waiting requests, running processes, results."""

    def __init__(self, common_dir: str, private: str, *, objects: str, options: list[str]) -> None:
        self.common_dir = common_dir
        self.private = private
        self.objects = objects
        self.options = options
        self.conflicts: dict[Pair, Conflicts] = {}
        self.spoiled = 0
        self.complaint = ""
        self.started = 0
        self.waiting: deque[tuple[Sequence[Pair], str]] = deque()

    def run(self, batches: Sequence[Batch]) -> Merged:
        for number, batch in enumerate(batches):
            tree = f"{self.private}/tree-{number}"
            lay_out(tree, batch.attributes)
            for at in range(0, len(batch.pairs), PAIRS_AT_ONCE):
                self.waiting.append((batch.pairs[at : at + PAIRS_AT_ONCE], tree))
        self._split()
        running: deque[_Running] = deque()
        try:
            while self.waiting or running:
                while self.waiting and len(running) < PROCESSES:
                    running.append(self._start(*self.waiting.popleft()))
                self._finish(running.popleft())
        finally:
            for one in running:
                one.process.abandon()
        return Merged(self.conflicts, self.complaint)

    def _split(self) -> None:
        """Halve a single large request, so that both processors have work."""
        if len(self.waiting) == 1 and len(self.waiting[0][0]) >= PAIRS_AT_ONCE // 4:
            pairs, tree = self.waiting.popleft()
            middle = len(pairs) // 2
            self.waiting += [(pairs[:middle], tree), (pairs[middle:], tree)]

    def _start(self, pairs: Sequence[Pair], tree: str) -> _Running:
        self.started += 1
        objects = f"{self.objects}/{self.started}"
        os.mkdir(objects)
        process = Git(tree, git_dir=self.common_dir).start(
            *self.options, "merge-tree", "--write-tree", "--stdin", "-z", "--no-messages",
            "--allow-unrelated-histories",
            stdin="".join(f"{one} {other}\n" for one, other in pairs).encode(),
            env={
                **alternate(f"{self.common_dir}/objects"),
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_WORK_TREE": tree,
                TEXT: TEXT_MERGE, NOTHING: "", NO: "false",
            },
        )  # fmt: skip
        return _Running(process, pairs, tree, objects)

    def _finish(self, running: _Running) -> None:
        """Take the answers; if git gave up at a pair, skip that pair and continue."""
        done = running.process.finish()
        answers = _parse(done.text)
        for pair, entries in zip(running.pairs, answers, strict=False):
            self.conflicts[pair] = _by_path(entries, pair, running.objects)
        remove_tree(running.objects)
        left = running.pairs[len(answers) :]
        if not left:
            return
        if done.status == GAVE_UP or len(left) == 1:  # otherwise it crashed with unwritten answers
            self.complaint = done.complaint or f"git merge-tree ended with status {done.status}"
            self.spoiled += 1
            middle, left = 0, left[1:]
        else:
            middle = len(left) // 2
        if self.spoiled > SPOILED_AT_MOST:
            self.waiting.clear()
            return
        self.waiting += [(part, running.tree) for part in (left[:middle], left[middle:]) if part]


def _parse(out: str) -> list[list[str] | None]:
    """Return the unmerged entries of each answer, None for a clean merge; drop a truncated one.

    An answer is a mark, a tree, the entries, and an empty field (git-merge-tree(1)).
    """
    fields = out.split("\0")
    found: list[list[str] | None] = []
    at = 0
    while at + 2 < len(fields) and fields[at] in (CLEAN, CONFLICTED):
        try:
            end = fields.index("", at + 2, len(fields) - 1)
        except ValueError:
            break
        found.append(None if fields[at] == CLEAN else fields[at + 2 : end])
        at = end + 1
    return found


def _by_path(entries: list[str] | None, pair: Pair, objects: str) -> Conflicts:
    """Return the entries by the original names of paths; git renames some to `path~commit`."""
    if entries is None:
        return {}
    found: dict[str, set[str]] = {}
    for entry in entries:
        blob, _, path = entry.partition("\t")
        for oid in pair:
            path = path.partition(f"~{oid}")[0]
        found.setdefault(path, set()).add(_without_labels(blob, pair, objects))
    return {path: frozenset(blobs) for path, blobs in found.items()} or {UNNAMED: frozenset()}


def _without_labels(entry: str, pair: Pair, objects: str) -> str:
    """Return an entry that does not depend on the names of the two commits.

    If both sides rename a file, its entries are a merge that git wrote, with conflict markers.
    """
    mode, blob, stage = entry.split(" ")
    try:
        with open(f"{objects}/{blob[:2]}/{blob[2:]}", "rb", opener=open_regular) as file:
            text = zlib.decompress(file.read())
    except FileNotFoundError:
        return entry
    for oid in pair:
        text = text.replace(oid.encode(), b"")
    return f"{mode} {hash(text)} {stage}"
