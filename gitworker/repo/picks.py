"""Rebase's list of commits, and picking them one by one with `git merge-tree`.

git 2.39's merge-tree takes no merge base, so each pick merges into a synthetic commit: the tree
built so far on top of the picked commit's parent, dated now (an old date makes git walk far).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gitworker.model.ids import Oid
from gitworker.paths import Repository
from gitworker.repo.attributes import (
    NAME,
    AttributeTree,
    ancestors_of,
    list_attribute_directories,
    read_foreign_attributes,
)
from gitworker.repo.commits import Commit, format_commit, parse_commit
from gitworker.repo.disk import private_directory
from gitworker.repo.git import Git, GitFailed
from gitworker.repo.objects import read_objects, write_commits
from gitworker.repo.rebasing import RebaseSettings

SAME_PATCH = "="


class NeedsRebase(Exception):
    """merge-tree cannot be trusted to give what rebase gives here."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a rebase of `topic` onto `target` would do.

    `commits` are all commits considered, in order; `todo` those that the target has not already.
    """

    target: Oid
    topic: Oid
    bases: tuple[Oid, ...]
    is_linear: bool
    commits: tuple[Commit, ...]
    todo: tuple[Commit, ...]

    @property
    def is_unchanged(self) -> bool:
        """Tell whether rebase would say that the branch is up to date."""
        return self.is_linear and self.bases == (self.target,)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Picking came to a commit that conflicts."""

    commit: Commit
    paths: tuple[str, ...]


def load_plan(git: Git, *, target: Oid, topic: Oid) -> Plan:
    """Return the plan; read-only. An up-to-date branch is not read any further."""
    bases = tuple(
        Oid(oid) for oid in git.text("merge-base", "--all", target, topic, ok=(0, 1)).split()
    )
    merges = git.text("rev-list", "--min-parents=2", "--max-count=1", topic, f"^{target}")
    plan = Plan(target, topic, bases, not merges, (), ())
    if plan.is_unchanged:
        return plan
    lines = git.text(
        "rev-list", "--reverse", "--topo-order", "--no-merges", "--cherry-mark", "--right-only",
        f"{target}...{topic}",
    ).split()  # fmt: skip
    commits = load_commits(git, [line[1:] for line in lines])
    todo = tuple(
        commit for line, commit in zip(lines, commits, strict=True) if line[0] != SAME_PATCH
    )
    return Plan(target, topic, bases, not merges, commits, todo)


def load_commits(git: Git, oids: Sequence[str]) -> tuple[Commit, ...]:
    """Return commits by id, in order, read by one process."""
    found = []
    for oid, raw in zip(oids, read_objects(git, oids), strict=True):
        if raw is None:
            raise GitFailed(f"commit {oid} is missing from this repository")
        found.append(parse_commit(Oid(oid), raw))
    return tuple(found)


def pick_all(
    git: Git, plan: Plan, *, settings: RebaseSettings, repository: Repository, scratch_dir: str
) -> dict[Oid, Oid | None] | Stopped:
    """Replay the plan; return what each commit became, or where it stopped.

    Raises NeedsRebase where the user's own merge programs have a say or git refuses a step.
    """
    with private_directory(scratch_dir, "replay-") as private:
        picking = _Picking(git, plan, settings=settings, repository=repository, private=private)
        return picking.run()


class _Picking:
    """The state of one replay: the tip and its tree, and the work tree that merges run in."""

    tree: Oid  # of the tip
    committer: bytes
    attributes: AttributeTree
    refresh: bool  # some pick changes attributes
    foreign: list[bytes]
    merging: Git

    def __init__(
        self,
        git: Git,
        plan: Plan,
        *,
        settings: RebaseSettings,
        repository: Repository,
        private: str,
    ) -> None:
        self.git = git
        self.plan = plan
        self.settings = settings
        self.repository = repository
        self.private = private
        self.tip = plan.target
        self.base: Oid | None = None  # the synthetic commit for the next pick, once it is written
        self.made: dict[Oid, Oid | None] = {}

    def run(self) -> dict[Oid, Oid | None] | Stopped:
        waiting = list(self.plan.todo)
        while waiting and waiting[0].parents == (self.tip,):
            self._fast_forward(waiting.pop(0))
        if not waiting:
            return self.made
        self._prepare(waiting)
        for number, commit in enumerate(waiting):
            following = waiting[number + 1] if number + 1 < len(waiting) else None
            if commit.parents == (self.tip,):
                self._fast_forward(commit)
                continue
            paths = self._pick(commit, following)
            if paths is not None:
                return Stopped(commit, paths)
        return self.made

    def _fast_forward(self, commit: Commit) -> None:
        self.tip, self.tree = commit.oid, commit.tree
        self.made[commit.oid] = commit.oid
        self.base = None

    def _prepare(self, waiting: Sequence[Commit]) -> None:
        """Read what all picks share: the committer, the tip's tree, the attributes."""
        self.committer = self.git.run("var", "GIT_COMMITTER_IDENT").out.rstrip(b"\n")
        heads = load_commits(self.git, [self.tip, *self.plan.bases[:1]])
        self.tree = heads[0].tree
        changed, incoming = self._changed_paths(waiting, heads)
        relevant = ancestors_of([*changed, *incoming])
        if not self.plan.is_linear or len(self.plan.bases) != 1:
            relevant |= list_attribute_directories(self.git, self.tree)
        self.attributes = AttributeTree(f"{self.private}/tree", frozenset(relevant))
        self.refresh = any(path == NAME or path.endswith(f"/{NAME}") for path in changed)
        self.foreign = (
            read_foreign_attributes(self.repository.common_dir, self.settings.attributes_file)
            if self.settings.drivers or self.settings.renormalize
            else []
        )
        self._lay_out_attributes()
        self.merging = Git(self.attributes.directory, git_dir=self.repository.git_dir)

    def _changed_paths(
        self, waiting: Sequence[Commit], heads: Sequence[Commit]
    ) -> tuple[list[str], list[str]]:
        """Return what the topic changes, and what the target added (where a rename may lead)."""
        pair = f"{heads[-1].tree} {heads[0].tree}\n"
        request = "".join(f"{commit.oid}\n" for commit in waiting) + pair
        out = self.git.run(
            "diff-tree", "--stdin", "--root", "-r", "-z", "--no-renames", "--name-status",
            "--no-commit-id", stdin=request.encode(),
        ).text  # fmt: skip
        topic, _, target = out.partition(pair)
        fields = target.split("\0")
        added = [
            path for status, path in zip(fields[::2], fields[1::2], strict=False) if status == "A"
        ]
        return topic.split("\0")[1::2], added

    def _lay_out_attributes(self) -> None:
        texts = self.attributes.lay_out(self.git, self.tree) + self.foreign
        needles = [f"merge={name}".encode() for name in self.settings.drivers]
        if self.settings.renormalize:
            needles.append(b"filter=")
        if self.settings.default_driver in self.settings.drivers or any(
            needle in text for text in texts for needle in needles
        ):
            # Such a program may look at the files around it, or have a path relative to them.
            raise NeedsRebase

    def _pick(self, commit: Commit, following: Commit | None) -> tuple[str, ...] | None:
        """Merge one commit into the tip; return the conflicting paths, or None where it went in."""
        if self.base is None:
            [self.base] = self._write(self._synthetic(commit))
        tree, paths = self._merge(self.base, commit.oid)
        if paths is not None:
            return self._as_rebase_names(paths, self.base, commit)
        self.base = None
        if tree == self.tree and not self._started_empty(commit):
            self.made[commit.oid] = None
            return None
        is_new_tree, self.tree = tree != self.tree, tree
        objects = [
            format_commit(
                tree=tree, parent=self.tip, author=commit.author, committer=self.committer,
                message=commit.message,
            )
        ]  # fmt: skip
        if following is not None:
            objects.append(self._synthetic(following))
        self.tip, *bases = self._write(*objects)
        self.base = bases[0] if bases else None
        self.made[commit.oid] = self.tip
        if self.refresh and is_new_tree:
            self._lay_out_attributes()
        return None

    def _merge(self, base: Oid, picked: Oid) -> tuple[Oid, tuple[str, ...] | None]:
        done = self.merging.run(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
            "--allow-unrelated-histories", base, picked,
            env={"GIT_WORK_TREE": self.attributes.directory},
            ok=range(-64, 256),
        )  # fmt: skip
        if done.status not in (0, 1):
            raise NeedsRebase
        tree, *paths = done.text.split("\0")
        return Oid(tree), None if done.status == 0 else tuple(sorted(set(paths) - {""}))

    def _as_rebase_names(
        self, paths: tuple[str, ...], base: Oid, commit: Commit
    ) -> tuple[str, ...]:
        """Give a path that git set aside as `path~side` the name of the side that rebase uses."""
        if not any("~" in path for path in paths):
            return paths
        short = self.git.text("rev-parse", "--short", commit.oid)
        label = f"{short} ({commit.subject})".replace("/", "_")
        return tuple(
            sorted(
                path.replace(f"~{base}", "~HEAD").replace(f"~{commit.oid}", f"~{label}")
                for path in paths
            )
        )

    def _synthetic(self, commit: Commit) -> bytes:
        parent = commit.parents[0] if commit.parents else None
        return format_commit(
            tree=self.tree, parent=parent, author=self.committer, committer=self.committer,
            message=b"",
        )  # fmt: skip

    def _write(self, *commits: bytes) -> list[Oid]:
        try:
            return write_commits(self.git, commits, directory=self.private)
        except GitFailed as failure:  # newer versions check more than rebase asks for
            raise NeedsRebase from failure

    def _started_empty(self, commit: Commit) -> bool:
        if not commit.parents:
            return not self.git.run("ls-tree", "-z", commit.tree).out
        [parent] = load_commits(self.git, commit.parents)
        return parent.tree == commit.tree
