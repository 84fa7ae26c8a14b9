"""A review as rows: the facts, the evidence, then each file with its comments inline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gitworker.observe.text import few_files
from gitworker.review.comments.rules_steps import is_draft
from gitworker.review.page.comment_words import answers, author_and_place, comment_state
from gitworker.review.page.page import NO_FILES
from gitworker.review.page.rules_words import side_by_side
from gitworker.review.page.shown_changes import show_changes
from gitworker.rules_text import count_text
from gitworker.states.worker_machine import state_words
from gitworker.tui.rows.line_rows import ColorCache, HunkLines, LineRow, SideRow
from gitworker.tui.rows.queue_rows import Verdict
from gitworker.tui.rows.row import (
    BAD,
    BOLD,
    DIM,
    GOOD,
    HEAD,
    NOTED,
    SHORT,
    AnyRow,
    Part,
    age,
    paragraphs,
    row,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.page.shown_changes import ShownChanges, ShownFile, ShownHunk

BAR = "  ┃ "


class FileKey(NamedTuple):
    """The key of a file's first row."""

    path: str


class HunkKey(NamedTuple):
    """The key of a hunk's first row; `id` is the name of its viewed mark."""

    path: str
    id: str


class CommentKey(NamedTuple):
    """The key of a comment's first row."""

    number: int


class Layout(NamedTuple):
    """The way to show a review; `toggled` are the files and hunks folded against the default.

    `is_sided`: the old and the new lines are in two columns.
    """

    toggled: Set[str]
    width: int
    colors: ColorCache
    is_sided: bool = False


class ReviewRows(NamedTuple):
    """The rows with the facts about them that keys need."""

    rows: list[AnyRow]
    changes: ShownChanges
    comments: dict[int, Anchored]
    drafts: int


def review_rows(page: ReviewPage, *, viewed: frozenset[str], layout: Layout) -> ReviewRows:
    """Return the rows of a review."""
    page = replace(page, viewed=viewed)
    changes = show_changes(page, limit=1 << 30)
    rows: list[AnyRow] = [*_head(page, changes), row(), *_evidence(page, width=layout.width)]
    if changes.said:
        rows += [row(), title("Comments on the whole change")]
        rows += [
            one for said in changes.said for one in _comment(said, layout.width, has_lines=True)
        ]
    if not changes.files:
        rows += [row(), row(Part(NO_FILES, DIM))]
    for file in changes.files:
        rows.append(row())
        rows += _file(file, layout)
    comments = {one.comment.id: one for one in page.comments}
    drafts = sum(is_draft(one.comment.state) for one in page.comments)
    return ReviewRows(rows, changes, comments, drafts)


def _head(page: ReviewPage, changes: ShownChanges) -> Iterator[AnyRow]:
    worker, now = page.worker, page.round
    words = state_words(worker.state, worker.stale_from)
    number = f"round {now.number}" if now.number else "not handed in yet"
    yield row(Part(f"{worker.worker_id}: {page.title or worker.task_id}", BOLD))
    yield row(f"{words}; {number}, {worker.branch} onto {page.target}")
    size = count_text(len(now.commits), "commit")
    yield row(
        f"{now.base[:SHORT]}..{now.tip[:SHORT]}, {size}, {changes.viewed} of"
        f" {count_text(changes.total, 'part')} viewed"
    )
    if page.later is not None:
        yield row(Part(f"the branch is at {page.later[:SHORT]} now", NOTED))
    if page.looked and page.looked < now.number:
        yield row(Part(f"you have seen round {page.looked}: s shows the changes since", NOTED))
    for commit in now.commits:
        subject = commit.message.split("\n", 1)[0]
        yield row(Part(f"  {commit.commit[:SHORT]} ", DIM), f"{subject} ({commit.author})")
    for name, body in (("Task", page.task_text), ("Note", page.note)):
        if body.strip():
            yield row()
            yield title(name)
            yield from (row("  ", line) for line in body.strip("\n").split("\n"))


def _evidence(page: ReviewPage, *, width: int) -> Iterator[AnyRow]:
    found = page.evidence
    yield title("Evidence")
    for command in found.commands:
        yield row("  verify command: ", command)
    for run, tail in found.runs:
        facts = f"commit {run.commit_oid[:SHORT]}, {age(page.now_ms, run.ts_ms)} ago"
        style = GOOD if run.verdict == "passed" else BAD
        reason = f": {run.reason}" if run.reason and run.verdict != "passed" else ""
        yield row(
            "  verify ", Part(f"{run.verdict}{', flaky' if run.flaky else ''}{reason}", style),
            Part(f"  {facts}, {run.duration_ms / 1000:.1f} s", DIM), key=Verdict(run.commit_oid),
        )  # fmt: skip
        yield from (row(Part(f"    {line}", DIM)) for line in tail)
    if not found.runs:
        yield row("  ", found.no_run(page.worker.worker_id))
    for name, files in found.conflicts:
        yield row("  ", Part(f"conflicts with {name}: {few_files(files)}", BAD))
    if not found.conflicts and not found.missing:
        yield row("  no conflicts")
    for holder, claim, path in found.claims:
        yield row("  ", Part(f"{holder} has claimed {claim}: {path}", NOTED))
    if found.uncommitted:
        yield row("  ", Part(f"not committed: {few_files(found.uncommitted)}", BAD))
    for text in found.missing:
        yield from paragraphs(text, width=width, style=NOTED, indent="  ")


def is_folded(file: ShownFile, toggled: Set[str]) -> bool:
    """Return whether only the first row of a file is shown."""
    is_done = file.is_viewed and not file.is_discussed
    return (file.folded is not None or is_done) != (file.path in toggled)


def _file(file: ShownFile, layout: Layout) -> Iterator[AnyRow]:
    added, removed = file.counts
    folded = is_folded(file, layout.toggled)
    facts = list(file.facts) + [f"{file.folded}"] * (file.folded is not None)
    facts += ["viewed"] if file.is_viewed else []
    yield row(
        Part("▸ " if folded else "▾ ", DIM), Part(file.path, BOLD), "  ", Part(f"+{added}", GOOD),
        " ", Part(f"-{removed}", BAD), Part("".join(f", {one}" for one in facts), DIM),
        key=FileKey(file.path), is_file=True,
    )  # fmt: skip
    for said in file.said:
        yield from _comment(said, layout.width, has_lines=True)
    if folded:
        return
    for hunk in file.hunks:
        yield from _hunk(file, hunk, layout)


def _hunk(file: ShownFile, hunk: ShownHunk, layout: Layout) -> Iterator[AnyRow]:
    folded = hunk.is_viewed != (hunk.id in layout.toggled)
    yield row(
        Part(f"@@ {hunk.place} @@ {hunk.heading}".rstrip(), HEAD),
        Part("  viewed" if hunk.is_viewed else "", DIM), key=HunkKey(file.path, hunk.id),
    )  # fmt: skip
    shown = HunkLines(file.path, hunk, layout.colors)
    for line_row, said in _lines(shown, layout):
        if not folded:
            yield line_row
        for one in said:
            yield from _comment(one, layout.width, has_lines=folded)


def _lines(shown: HunkLines, layout: Layout) -> Iterator[tuple[AnyRow, tuple[Anchored, ...]]]:
    """Yield the rows of a hunk with the comments below each."""
    lines = shown.hunk.lines
    if not layout.is_sided:
        for at, line in enumerate(lines):
            yield LineRow(shown, at), line.said
        return
    for old, new in side_by_side([one.kind for one in lines]):
        said = () if old is None else lines[old].said
        said += () if new is None or new == old else lines[new].said
        yield SideRow(shown, old, new, width=layout.width), said


def _comment(one: Anchored, width: int, *, has_lines: bool) -> Iterator[AnyRow]:
    comment, place = one.comment, one.comment.place
    head = Part(f"#{comment.id} {comment_state(one)}", NOTED)
    yield row(BAR, head, f" {author_and_place(one)}", key=CommentKey(comment.id))
    if has_lines and place is not None:
        yield from (row(BAR, Part(f"> {line}", DIM)) for line in place.quoted)
    for text in (comment.text, *answers(one)):
        yield from paragraphs(text, width=width, indent=BAR)
