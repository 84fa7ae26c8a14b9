"""Every commit that a worker ever made is there and led to; what landed is in the target."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from gitworker.fsck.checks.reflogs import named_commits, read_reflogs
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import REWRITING, Picture
from gitworker.model.ids import Oid, Ref, TaskId, WorkerId, is_oid
from gitworker.model.ref_names import ANCHORS, rescues_of, short_name
from gitworker.paths import read_worktree_owner
from gitworker.repo.history.reachable import find_missing, find_unreachable, heads_of
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.session import Session
from gitworker.store.payloads.payload import recorded_commits, replaced_commits
from gitworker.store.records.findings import commits_on_record

MOVING_TARGET = frozenset({"merge", "undo"})
Owner = tuple[str, str]


def made_commits(picture: Picture) -> dict[Oid, Owner]:
    """Return every commit that is on record as a worker's, with worker and task.

    Of acts that were rolled back only what they found counts, not what we had replayed for them.
    """
    made: dict[Oid, Owner] = {}
    for worker in picture.workers:
        owner = (worker.worker_id, worker.task)
        made |= {entry.new: owner for entry in read_reflogs(picture, worker) if entry.is_made}
    with picture.session.store.read() as reader:
        recorded = commits_on_record(reader)
    ours = {worker.worker_id for worker in picture.workers}  # what foreigners tell is theirs
    for name, task, oid in recorded:
        if name in ours and is_oid(oid):
            made[Oid(oid)] = (name, task)
    for act in picture.acts:
        if act.kind in REWRITING:
            found = recorded_commits(act.data) if act.is_over else replaced_commits(act.data)
            made |= {oid: (act.worker, act.task) for oid in found if is_oid(oid)}
    for landing in picture.landings:
        owner = (landing.worker_id, landing.task_id)
        made |= {landing.target_new: owner, landing.branch_old: owner}
    for worker in picture.workers:
        tip = picture.tips.get(picture.branch(worker) or Ref(""))
        if tip is not None:
            made[tip] = (worker.worker_id, worker.task)
    return made


def check_commits(picture: Picture) -> Iterator[Finding]:
    """Find commits that are missing, or that no ref leads to, by worker and task.

    A commit that its author replaced or reset away is whole as long as a reflog names it.
    """
    git = picture.session.git
    made = made_commits(picture)
    logged = {oid for worker in picture.workers for oid in named_commits(picture, worker)}
    gone = find_missing(git, made.keys() | logged)
    for owner, oids in _by_owner(made, gone & made.keys()):
        if not picture.is_expired(*owner):
            names = ", ".join(sorted(oid[:12] for oid in oids)[:5])
            yield Finding(
                "commit_gone", "/".join(owner),
                f"{len(oids)} recorded commits of {'/'.join(owner)} are not in the repository:"
                f" {names}",
                "git fsck --lost-found   (or fetch them from wherever they were pushed)",
            )  # fmt: skip
    tips = [oid for ref, oid in picture.refs.items() if not ref.startswith(ANCHORS)]
    tips += [  # a rebase that is under way in a worker's worktree
        tree.head
        for tree in picture.worktrees.values()
        if tree.head and tree.detached and read_worktree_owner(tree.admin_dir)
    ]
    there = (set(tips) - picture.missing) | (logged - gone)
    lost = set(find_unreachable(git, made.keys() - gone, tips=there))
    for owner, oids in _by_owner(made, lost):
        if not picture.is_expired(*owner):
            yield Finding(
                "commit_unreachable", "/".join(owner),
                f"no ref leads to {len(oids)} commits of {'/'.join(owner)}, as {min(oids)[:12]}",
                f"makes a rescue ref below {rescues_of(*owner)}",
                _keep(owner, sorted(oids)),
            )  # fmt: skip


def check_landings(picture: Picture) -> Iterator[Finding]:
    """Find landings whose commits are not in their target, neither as such nor by patch.

    While a landing or an undo is open the target may be ahead of the rows, or behind.
    """
    if any(act.is_open and act.kind in MOVING_TARGET for act in picture.acts):
        return
    git = picture.session.git
    landings = sorted(picture.landings, key=lambda landing: landing.target_ref)
    for name, group in groupby(landings, key=lambda landing: landing.target_ref):
        landed = {landing.target_new: landing for landing in group}
        tip = picture.refs.get(name)
        short = short_name(name)
        if tip is None or tip in picture.missing:
            last = list(landed)[-1]
            yield Finding(
                "target_gone", name, f"there is no {short}, on which {len(landed)} have landed",
                f"git branch {short} {last}",
            )  # fmt: skip
            continue
        there = landed.keys() - find_missing(git, landed.keys())
        for oid in find_unreachable(git, there, tips=[tip]):
            landing = landed[oid]
            if not _is_there_by_patch(picture, tip, oid, landing.target_old):
                yield Finding(
                    "landing_lost", f"{landing.worker_id}/{landing.task_id}",
                    f"what {landing.worker_id} landed for {landing.task_id} ({oid[:12]}) is not in"
                    f" {short}: somebody moved it by force",
                    f"git cherry-pick {landing.target_old[:12]}..{oid[:12]}   (on {short})",
                )  # fmt: skip


def _is_there_by_patch(picture: Picture, tip: Oid, oid: Oid, old: Oid) -> bool:
    """Tell whether each commit of a landing is in the target under another id."""
    done = picture.session.git.run(
        "rev-list", "--cherry-pick", "--right-only", f"{tip}...{oid}", f"^{old}", "--",
        ok=(0, 128),
    )  # fmt: skip
    return done.status == 0 and not done.text.strip()


def _by_owner(made: Mapping[Oid, Owner], some: Iterable[Oid]) -> list[tuple[Owner, list[Oid]]]:
    grouped: dict[Owner, list[Oid]] = {}
    for oid in sorted(some):
        grouped.setdefault(made[oid], []).append(oid)
    return sorted(grouped.items())


def _keep(owner: Owner, oids: list[Oid]) -> Repair:
    """Return the mend that puts commits under rescue refs, as few as lead to all of them."""

    def mend(session: Session) -> None:
        worker, task = WorkerId(owner[0]), TaskId(owner[1])
        for oid in heads_of(session.git, oids):
            rescue(session.git, worker=worker, task=task, tip=oid, worktree=None)

    return mend
