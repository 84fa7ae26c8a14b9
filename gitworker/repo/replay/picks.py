"""Pick a plan's commits one by one with `git merge-tree`.

merge-tree of git 2.39 takes no merge base. So each pick merges into a synthetic commit: the tree
built so far, on top of the picked commit's parent, dated now (an old date makes git walk far). The
synthetic commits exist only in a private directory. The new commits are written together after the
last pick.
"""

from collections.abc import Mapping
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.paths import Repository
from gitworker.repo.plumbing.commit_bytes import Commit, format_commit
from gitworker.repo.plumbing.disk import private_directory
from gitworker.repo.plumbing.git import Git, GitFailed
from gitworker.repo.plumbing.objects import (
    alternate,
    commit_id,
    write_commits,
    write_private_commit,
)
from gitworker.repo.replay.attributes import (
    NAME,
    lay_out,
    read_attributes,
    read_foreign_attributes,
)
from gitworker.repo.replay.rebase_plan import (
    NeedsRebase,
    RebasePlan,
    ReplayBase,
    load_replay_base,
    starts_empty,
)
from gitworker.repo.replay.replay_cache import ReplayCache


class PickConflict(NamedTuple):
    """A pick stopped at a commit that conflicts."""

    commit: Commit
    paths: tuple[str, ...]


def pick_all(
    git: Git,
    plan: RebasePlan,
    *,
    memory: ReplayCache,
    repository: Repository,
    scratch_dir: str,
    writes: bool = True,
) -> dict[Oid, Oid | None] | PickConflict:
    """Replay the plan; return the new id of each commit, or the conflict.

    Without `writes` the new objects are thrown away; an exception are those of a branch that
    changes attributes. Raises NeedsRebase if the user's own merge programs are involved or git
    refuses a step.
    """
    with private_directory(scratch_dir, "replay-") as private:
        picking = _Picking(git, plan, memory=memory, repository=repository, private=private)
        return picking.run(writes=writes)


class _Picking:
    """The state of one replay: the tip and its tree, and the work tree for merges."""

    tree: Oid  # of the tip
    committer: bytes
    ground: ReplayBase
    refresh: bool  # some pick changes attributes
    foreign: list[bytes]
    objects_env: dict[str, str]  # the place where git finds and writes objects

    def __init__(
        self,
        git: Git,
        plan: RebasePlan,
        *,
        memory: ReplayCache,
        repository: Repository,
        private: str,
    ) -> None:
        self.git = git
        self.plan = plan
        self.memory = memory
        self.settings = memory.settings(git)
        self.repository = repository
        self.private = private
        self.tip = plan.target
        self.trees = {commit.oid: commit.tree for commit in plan.commits}
        self.new: dict[Oid, bytes] = {}  # commits that are not written yet
        self.made: dict[Oid, Oid | None] = {}
        self.objects = f"{private}/objects"
        self.work_tree = f"{private}/tree"

    def run(self, *, writes: bool) -> dict[Oid, Oid | None] | PickConflict:
        waiting = list(self.plan.todo)
        while waiting and waiting[0].parents == (self.tip,):
            self._fast_forward(waiting.pop(0))
        if not waiting:
            return self.made
        self._prepare(waiting)
        self.objects_env = alternate(self.objects)
        if not writes and not self.refresh:
            self.objects_env = alternate(f"{self.repository.common_dir}/objects")
            self.objects_env["GIT_OBJECT_DIRECTORY"] = self.objects
        for commit in waiting:
            if commit.parents == (self.tip,):
                self._fast_forward(commit)
                continue
            paths = self._pick(commit)
            if paths is not None:
                return PickConflict(commit, paths)
        if writes:
            self._write()
        return self.made

    def _fast_forward(self, commit: Commit) -> None:
        self.tip, self.tree = commit.oid, commit.tree
        self.made[commit.oid] = commit.oid

    def _prepare(self, waiting: list[Commit]) -> None:
        """Read the shared data of all picks: the committer, the tip's tree, the attributes."""
        self.ground = self.plan.ground or load_replay_base(
            self.git, self.plan, tip=self.tip, waiting=waiting
        )
        self.trees |= {commit.oid: commit.tree for commit in self.ground.heads}
        self.tree = self.trees[self.tip]
        known = (*self.plan.commits, *self.ground.heads)
        dates = {commit.oid: commit.committed_s for commit in known}
        self.committer = self.memory.committer(self.git, not_before_s=dates[self.tip])
        self.refresh = any(
            path == NAME or path.endswith(f"/{NAME}") for path in self.ground.changed
        )
        self.foreign = (
            read_foreign_attributes(self.repository.common_dir, self.settings.attributes_file)
            if self.settings.drivers or self.settings.renormalize
            else []
        )
        self._lay_out(self.ground.attributes)

    def _lay_out(self, attributes: Mapping[str, bytes]) -> None:
        texts = [*attributes.values(), *self.foreign]
        needles = [f"merge={name}".encode() for name in self.settings.drivers]
        if self.settings.renormalize:
            needles.append(b"filter=")
        if self.settings.default_driver in self.settings.drivers or any(
            needle in text for text in texts for needle in needles
        ):
            # Such a program may read the files around it, or have a path relative to them.
            raise NeedsRebase
        lay_out(self.work_tree, attributes)

    def _pick(self, commit: Commit) -> tuple[str, ...] | None:
        """Merge one commit into the tip; return the conflicting paths, None if it merged."""
        base = write_private_commit(
            self._synthetic(commit), length=len(self.tip), directory=self.objects
        )
        tree, paths = self._merge(base, commit.oid)
        if paths is not None:
            return self._as_rebase_names(paths, base, commit)
        if tree == self.tree and not starts_empty(self.git, commit, self.trees):
            self.made[commit.oid] = None
            return None
        is_new_tree, self.tree = tree != self.tree, tree
        data = format_commit(
            tree=tree, parent=self.tip, author=commit.author, committer=self.committer,
            message=commit.message,
        )  # fmt: skip
        self.tip = commit_id(data, length=len(self.tip))
        self.new[self.tip] = data
        self.made[commit.oid] = self.tip
        if self.refresh and is_new_tree:
            self._lay_out(read_attributes(self.git, tree, self.ground.places))
        return None

    def _merge(self, base: Oid, picked: Oid) -> tuple[Oid, tuple[str, ...] | None]:
        done = Git(self.work_tree, git_dir=self.repository.git_dir).run(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
            "--allow-unrelated-histories", base, picked,
            env={"GIT_WORK_TREE": self.work_tree, **self.objects_env},
            ok=range(-64, 256),
        )  # fmt: skip
        if done.status not in (0, 1):
            raise NeedsRebase
        tree, *paths = done.text.split("\0")
        return Oid(tree), None if done.status == 0 else tuple(sorted(set(paths) - {""}))

    def _as_rebase_names(
        self, paths: tuple[str, ...], base: Oid, commit: Commit
    ) -> tuple[str, ...]:
        """Rename paths that git set aside as `path~side` to the side name that rebase uses."""
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

    def _write(self) -> None:
        """Write the new commits; git must compute the same ids."""
        if not self.new:
            return
        try:
            written = write_commits(self.git, list(self.new.values()), directory=self.private)
        except GitFailed as failure:  # newer versions check more than rebase requires
            raise NeedsRebase from failure
        if written != list(self.new):
            raise NeedsRebase
