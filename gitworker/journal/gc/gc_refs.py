"""Find the refs that can be deleted: their commits have landed, or are on another ref.

A ref stays, with the reason, if it alone has its commits or keeps uncommitted work. The refs of the
rounds of a review are deleted only after their task has ended; a rescue ref counts as another ref
for them, but they do not count for a rescue ref.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitworker.journal.gc.rules_gc import REFS, RESCUE, ROUND, Item
from gitworker.lifecycle.rules import FREE
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ALL, PASSING, RESCUES, ROUNDS, round_of
from gitworker.repo.history.patch_ids import has_all_patches
from gitworker.repo.history.reachable import find_missing, find_unreachable
from gitworker.repo.plumbing.refs import change_refs, read_refs
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.operations import rescue_times, rewritten_commits
from gitworker.store.records.landings import Landing, all_landings
from gitworker.store.tasks import all_tasks
from gitworker.store.workers import all_workers


def ref_items(session: Session) -> list[Item]:
    """Return every rescue ref, and the refs of old rounds, with times and the work they only have.

    The time of a round is that of the end of its task.
    """
    refs = read_refs(session.git, [ALL])
    some = {ref: oid for ref, oid in refs.items() if ref.startswith((RESCUES, ROUNDS))}
    if not some:
        return []
    with session.store.read() as reader:
        made = rescue_times(reader) | _ends_of_rounds(reader, some)
    some = {ref: oid for ref, oid in some.items() if ref in made or ref.startswith(RESCUES)}
    held = _find_held(session, some, refs)
    return [
        Item(
            RESCUE if ref.startswith(RESCUES) else ROUND,
            ref,
            made.get(ref) or _made_ms(session, ref),
            holds=held.get(ref, ""),
            target=oid,
        )
        for ref, oid in some.items()
    ]


def _ends_of_rounds(reader: Reader, refs: Iterable[Ref]) -> dict[str, int]:
    """Return the refs of rounds whose task no worker has, with the time of the task's last step."""
    at_work = {(one.worker_id, one.task_id) for one in all_workers(reader) if one.state not in FREE}
    ended = {one.id: one.status_changed_at_ms for one in all_tasks(reader)}
    return {
        ref: ended.get(found[1], 0)
        for ref in refs
        if (found := round_of(ref)) is not None and found[:2] not in at_work
    }


def refs_left(session: Session, items: Sequence[Item]) -> list[Item]:
    """Return those of these refs that have not moved."""
    wanted = [item for item in items if item.kind in REFS]
    present = read_refs(session.git, [item.name for item in wanted]) if wanted else {}
    return [item for item in wanted if present.get(Ref(item.name)) == item.target]


def _find_held(
    session: Session, some: Mapping[Ref, Oid], refs: Mapping[Ref, Oid]
) -> dict[Ref, str]:
    """Return the work that would be lost with each rescue or round; `refs` are all refs."""
    with session.store.read() as reader:
        landings, before = all_landings(reader), rewritten_commits(reader)
    others = {oid for ref, oid in refs.items() if not ref.startswith(PASSING)}
    tips = others | _landed_tips(session, landings, before, others=others)
    rescued = {oid for ref, oid in refs.items() if ref.startswith(RESCUES)}
    target = refs.get(session.target)
    missing = find_missing(session.git, {*some.values(), *tips, *rescued})
    held = {
        ref: "its commit does not exist: git worker fsck"
        for ref, oid in some.items()
        if oid in missing
    }
    rounds = {ref for ref in some if ref.startswith(ROUNDS)}
    for group, keepers in ((some.keys() - rounds, tips), (rounds, tips | rescued)):
        kept = {some[ref] for ref in group} - missing
        lost = {
            oid
            for oid in find_unreachable(session.git, kept, tips=keepers - missing)
            if target is None or not has_all_patches(session.git, target, of=oid)
        }
        words = "commits, or uncommitted work, that nothing else has"
        held |= {ref: words for ref in group if some[ref] in lost}
    return held


def _landed_tips(
    session: Session,
    landings: Sequence[Landing],
    before: Mapping[Oid, Sequence[Oid]],
    *,
    others: set[Oid],
) -> set[Oid]:
    """Return the tips of landed branches before they were replayed, at each step of that.

    A landing that no ref reaches, since the target was moved back, does not count.
    """
    ends = {landing.target_new for landing in landings}
    lost = find_missing(session.git, ends | others)
    lost |= {*find_unreachable(session.git, ends - lost, tips=others - lost)}
    new = {landing.branch_old for landing in landings if landing.target_new not in lost}
    found = set(new)
    while new:
        new = {old for oid in new for old in before.get(oid, ())} - found
        found |= new
    return found


def _made_ms(session: Session, ref: Ref) -> int:
    """Return the time of a ref that no operation names: of its file, else of its commit."""
    try:
        return os.stat(f"{session.repository.common_dir}/{ref}").st_mtime_ns // 1_000_000
    except OSError:
        text = session.git.text("for-each-ref", "--format=%(creatordate:unix)", ref)
        return int(text or 0) * 1000


def expire(
    session: Session, refs: Mapping[str, str], *, unlanded: Collection[str]
) -> dict[str, str]:
    """Delete those of these refs that have not moved; return the ones that do not exist now.

    A ref is made again if the other ref with its commits was lost meanwhile (a `sync`, a branch
    deleted by hand), except for the `unlanded`, which the user asked for, and rounds on top of one.
    """
    if not refs:
        return {}
    present = read_refs(session.git, list(refs))
    orders = [f"delete {ref} {oid}" for ref, oid in refs.items() if present.get(Ref(ref)) == oid]
    _delete(session, orders)
    left = read_refs(session.git, [ALL])
    deleted = {Ref(ref): Oid(oid) for ref, oid in refs.items() if left.get(Ref(ref)) != oid}
    sure = {ref: oid for ref, oid in deleted.items() if ref not in unlanded and ref not in left}
    asked = {Ref(ref): Oid(refs[ref]) for ref in unlanded if ref in refs}
    held = _find_held(session, sure, asked | left)
    for ref, oid in sure.items():
        order = f"create {ref} {oid}"
        if ref in held and change_refs(session.git, [order], reason="gitworker: gc, restored"):
            del deleted[ref]
    return {str(ref): str(oid) for ref, oid in deleted.items()}


def _delete(session: Session, orders: Sequence[str]) -> None:
    if orders and not change_refs(session.git, orders, reason="gitworker: gc"):
        for order in orders:  # one of them blocks all
            change_refs(session.git, [order], reason="gitworker: gc")
