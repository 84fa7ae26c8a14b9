"""Read the page of a review: task, notes, evidence, files by risk, comments, viewed marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import NotFound
from gitworker.repo.plumbing.refs import find_ref
from gitworker.review.comments.anchors import Anchored, find_anchors
from gitworker.review.comments.rules_steps import is_draft
from gitworker.review.looks import is_recorded, seen_before
from gitworker.review.page.evidence import Evidence, read_evidence
from gitworker.review.page.rules_order import FOLDED_BY, PageFile, folded_paths, order_files
from gitworker.review.patch import read_patch
from gitworker.review.round_refs import keep_rounds
from gitworker.review.rounds import find_round, read_round
from gitworker.store.records.reviews import find_review
from gitworker.store.reviewing.comments import comments_of
from gitworker.store.reviewing.marks import find_look, record_look, viewed_among
from gitworker.store.reviewing.rounds import Round, rounds_of
from gitworker.store.tasks import find_task, find_task_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.model.ids import Oid
    from gitworker.session import Session
    from gitworker.store.workers import Worker

NO_FILES = "the commits change no file"
SOURCE_SINCE = (2, 40)  # git check-attr --source


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """One review. `round.number` is 0 for work that was not handed in yet.

    `later` is the tip of the branch if it is another commit than that of the round. `viewed` are
    the ids of hunks that the caller has viewed. `looked` is the number of the round that the caller
    has seen before this one, or None; it is this one if it is the first one that the caller sees.
    """

    worker: Worker
    target: str
    title: str
    task_text: str
    note: str
    round: Round
    later: Oid | None
    evidence: Evidence
    files: tuple[PageFile, ...]
    comments: tuple[Anchored, ...]
    viewed: frozenset[str]
    now_ms: int
    looked: int | None = None


def read_page(session: Session, worker: Worker, *, records_look: bool = False) -> ReviewPage:
    """Return the page of a worker's newest round, or of its branch before the first one.

    `records_look`: later looks of the caller are compared with this one.
    """
    begun_ms = clock.now_ms()  # a round that comes while this one is read was not seen
    tip = find_ref(session.git, worker.ref) if worker.branch else None
    rounds = _read_rounds(session, worker, tip)
    now = rounds[-1]
    files = read_patch(session.git, now.base, now.tip)
    with session.store.read() as reader:
        task = find_task(reader, worker.task)
        text = find_task_text(reader, worker.task)
        review = find_review(reader, worker.worker_id, worker.task_id, "requested")
        stored = comments_of(reader, worker.worker_id, worker.task_id)
        ids = [id for one in files for id in one.ids]
        viewed = viewed_among(reader, session.actor, ids)
        look = find_look(reader, session.actor, worker.worker_id, worker.task_id)
    seen = seen_before(look, rounds)
    comments = [one for one in stored if not is_draft(one.state) or one.identity == session.actor]
    paths = [one.path for one in files]
    evidence = read_evidence(session, worker, [now.tip, *([tip] if tip else [])], paths)
    if records_look and session.actor != worker.worker_id and not session.store.is_read_only:
        base, tip_seen = seen if seen and now.number else (now.base, now.tip)
        if not is_recorded(look, now, (base, tip_seen)):
            with session.store.write() as writer:
                record_look(
                    writer, session.actor, worker.worker_id, worker.task, base=base, tip=tip_seen,
                    now=begun_ms,
                )  # fmt: skip
    return ReviewPage(
        worker, session.target_name, task.title if task else "", text,
        review.note if review else "", now, tip if tip != now.tip else None, evidence,
        order_files(
            files, _read_folded(session, now.tip, paths),
            conflicts=evidence.conflicts, claims=evidence.claims,
        ),
        find_anchors(session.git, comments, rounds), viewed, clock.now_ms(),
        next((one.number for one in rounds if (one.base, one.tip) == seen), None),
    )  # fmt: skip


def _read_rounds(session: Session, worker: Worker, tip: Oid | None) -> list[Round]:
    """Return all rounds, oldest first; without a hand-in the commits of the branch as round 0."""
    if (newest := find_round(session, worker)) is not None:
        with session.store.read() as reader:
            rounds = rounds_of(reader, worker.worker_id, worker.task_id) or [newest]
        keep_rounds(session, worker, rounds)
        return rounds
    target = find_ref(session.git, session.target)
    if tip is None or target is None:
        raise NotFound(
            f"worker {worker.worker_id} has no branch to review",
            f"git worker show {worker.worker_id}",
        )
    facts = read_round(session, worker, tip=tip, target=target)
    return [Round(0, facts.base, facts.tip, facts.commits, clock.now_ms())]


def _read_folded(session: Session, tip: Oid, paths: Sequence[str]) -> dict[str, str]:
    """Return the paths that attributes call generated or vendored, with the reason.

    The attributes are those of the tip; an older git has those of the main checkout.
    """
    if not paths:
        return {}
    source = [f"--source={tip}"] if session.git.version() >= SOURCE_SINCE else []
    done = session.git.run(
        "check-attr", "-z", "--stdin", *source, *FOLDED_BY,
        stdin="\0".join([*paths, ""]).encode("utf-8", "surrogateescape"),
    )  # fmt: skip
    return folded_paths(done.text.split("\0"))
