"""Every commit of a worker exists and is reachable; landed commits are in the target."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby

from gitworker.branches.remote import find_newest
from gitworker.fsck.checks.reflogs import named_commits, read_reflogs
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import Picture
from gitworker.journal.operation_kinds import REWRITING, TARGET_MOVES
from gitworker.model.ids import Oid, Ref, TaskId, WorkerId, is_oid
from gitworker.model.ref_names import ANCHORS, ROUNDS, WORKSTREAMS, rescues_of, short_name
from gitworker.paths import read_worktree_owner
from gitworker.repo.history.reachable import find_missing, find_unreachable, heads_of
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.store.payloads.payload import replaced_commits
from gitworker.store.records.landings import Landing

MOVING_TARGET = TARGET_MOVES | {"undo"}
Owner = tuple[str, str]


def made_commits(picture: Picture) -> dict[Oid, Owner]:
    """Return the recorded commits that must exist, with worker and task.

    These are the last tip of each branch, the landed commits, those that an operation replaced and
    a rescue ref keeps, and those that a reflog names. A commit that was published, or to which an
    operation moved the branch, is an ancestor of the tip, or its author has amended it away.
    """
    made: dict[Oid, Owner] = {}
    for worker in picture.workers:
        owner = (worker.worker_id, worker.task)
        made |= {entry.new: owner for entry in read_reflogs(picture, worker) if entry.is_made}
    for one in picture.operations:
        if one.kind in REWRITING:
            found = replaced_commits(one.data)
            made |= {oid: (one.worker, one.task) for oid in found if is_oid(oid)}
    for landing in _landed_here(picture):
        owner = (landing.worker_id, landing.task_id)
        made |= {landing.target_new: owner, landing.branch_old: owner}
    for worker in picture.workers:
        tip = picture.tips.get(picture.branch(worker) or Ref(""))
        if tip is not None:
            made[tip] = (worker.worker_id, worker.task)
    return made


def _landed_here(picture: Picture) -> Iterator[Landing]:
    """Yield the landings that this machine of a fleet has made; all in a repository of its own."""
    in_fleet = picture.session.store.fleet_machine is not None
    ours = {(one.worker, one.task) for one in picture.operations if one.kind == "merge"}
    for landing in picture.landings:
        if not in_fleet or (landing.worker_id, landing.task_id) in ours:
            yield landing


def check_commits(picture: Picture) -> Iterator[Finding]:
    """Find commits that are missing or unreachable, by worker and task.

    A commit that its author amended or reset away is no finding while a reflog names it. Anchors
    and the refs of rounds do not count, because they are deleted after the end of their task.
    """
    git = picture.session.git
    made = made_commits(picture)
    logged = {oid for worker in picture.workers for oid in named_commits(picture, worker)}
    missing = find_missing(git, made.keys() | logged)
    for owner, oids in _by_owner(made, missing & made.keys()):
        if not picture.is_expired(*owner):
            names = ", ".join(sorted(oid[:12] for oid in oids)[:5])
            yield Finding(
                "commit_gone", "/".join(owner),
                f"the repository lacks {count_text(len(oids), 'recorded commit')} of"
                f" {'/'.join(owner)}: {names}",
                "git fsck --lost-found   # or: git fetch, from a repository that has them",
            )  # fmt: skip
    tips = [oid for ref, oid in picture.refs.items() if not ref.startswith((ANCHORS, ROUNDS))]
    tips += [  # an open rebase in a worker's worktree
        tree.head
        for tree in picture.worktrees.values()
        if tree.head and tree.detached and read_worktree_owner(tree.admin_dir)
    ]
    present = (set(tips) - picture.missing) | (logged - missing)
    lost = set(find_unreachable(git, made.keys() - missing, tips=present))
    for owner, oids in _by_owner(made, lost):
        if not picture.is_expired(*owner):
            yield Finding(
                "commit_unreachable", "/".join(owner),
                f"no ref reaches {count_text(len(oids), 'commit')} of {'/'.join(owner)}, for"
                f" example {min(oids)[:12]}",
                f"creates a rescue ref below {rescues_of(*owner)}",
                partial(_keep, owner=owner, oids=sorted(oids)),
            )  # fmt: skip


def check_landings(picture: Picture) -> Iterator[Finding]:
    """Find landings whose target has neither their commits nor equal patches.

    During a landing or an undo, target and rows may differ. The branch of a workstream is not
    judged: a user may rebase it before it lands, and it is deleted afterwards.
    """
    if any(one.is_open and one.kind in MOVING_TARGET for one in picture.operations):
        return
    git = picture.session.git
    judged = (one for one in picture.landings if not one.target_ref.startswith(WORKSTREAMS))
    landings = sorted(judged, key=lambda landing: landing.target_ref)
    for name, group in groupby(landings, key=lambda landing: landing.target_ref):
        landed = {landing.target_new: landing for landing in group}
        tip = picture.refs.get(name)
        short = short_name(name)
        if tip is None or tip in picture.missing:
            last = list(landed)[-1]
            yield Finding(
                "target_gone", name,
                f"the target branch {short} does not exist, but has"
                f" {count_text(len(landed), 'landing')} on record",
                f"git branch {short} {last}",
            )  # fmt: skip
            continue
        present = landed.keys() - find_missing(git, landed.keys())
        tip = find_newest(picture.session, Ref(name), tip)
        for oid in find_unreachable(git, present, tips=[tip]):
            landing = landed[oid]
            if not _has_patches(picture, tip, oid, landing.target_old):
                yield Finding(
                    "landing_lost", f"{landing.worker_id}/{landing.task_id}",
                    f"commit {oid[:12]}, which {landing.worker_id} landed for {landing.task_id}, is"
                    f" not in {short}: the branch was moved by force",
                    f"git cherry-pick {landing.target_old[:12]}..{oid[:12]}   # on {short}",
                )  # fmt: skip


def _has_patches(picture: Picture, tip: Oid, oid: Oid, old: Oid) -> bool:
    """Return whether the target has an equal patch for each commit of a landing."""
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


def _keep(session: Session, *, owner: Owner, oids: list[Oid]) -> None:
    """Put commits under as few rescue refs as possible."""
    worker, task = WorkerId(owner[0]), TaskId(owner[1])
    for oid in heads_of(session.git, oids):
        rescue(session.git, worker=worker, task=task, tip=oid, worktree=None)
