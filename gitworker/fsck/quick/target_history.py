"""The history walk: landings are still in their target, without merge commits."""

from collections.abc import Iterator
from itertools import groupby

from gitworker.branches.remote import find_newest
from gitworker.fsck.finding import Finding, fail, ok
from gitworker.fsck.quick.rules_history import RecordedLanding, history_faults
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import WORKSTREAMS, short_name
from gitworker.repo.history.walk import read_parents
from gitworker.repo.plumbing.refs import find_ref
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.store.records.landings import all_landings


def check_history(session: Session) -> Iterator[Finding]:
    """Walk each target's history since the first landing on it."""
    with session.store.read() as reader:
        landings = [
            RecordedLanding(
                one.worker_id, one.task_id, one.target_ref, one.target_old, one.target_new
            )
            for one in all_landings(reader)
            if not one.target_ref.startswith(WORKSTREAMS)  # rebased by users, deleted at the end
        ]
    if not landings:
        yield ok("history", "no landings yet")
    by_target = sorted(landings, key=lambda landing: landing.target_ref)  # stable: oldest first
    for target, group in groupby(by_target, key=lambda landing: landing.target_ref):
        yield from _of_target(session, Ref(target), list(group))


def _of_target(session: Session, target: Ref, landings: list[RecordedLanding]) -> Iterator[Finding]:
    name = short_name(target)
    count = count_text(len(landings), "landing")
    tip = find_ref(session.git, target)
    if tip is None:
        yield fail("history", f"branch {name} does not exist, but has {count} on record",
                   f"git branch {name} {landings[-1].new}")  # fmt: skip
        return
    tip = find_newest(session, target, tip)
    since = Oid(landings[0].old)
    parents = read_parents(session.git, tip=tip, since=since)
    begins = {landing.old for landing in landings if landing.new in parents}
    if not begins <= parents.keys() | {since}:  # the target was moved back in between
        parents = read_parents(session.git, tip=tip, since=None)
    faults = list(history_faults(landings, parents, since=since))
    for landing, why in faults:
        commit = f"{landing.new[:10]} of {landing.worker} ({landing.task})"
        yield fail("history", f"{name}: {commit} {why}", f"git reflog show {target}")
    if not faults:
        yield ok("history", f"{name}: {count}, all in place, linear history")
