"""The text of a review's page: facts, evidence, then each file with its comments inline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.observe.text import BOLD, DIM, age_text, few_files, one_line, paint
from gitworker.review.page.comment_words import answers, author_and_place, comment_state
from gitworker.review.page.page import NO_FILES
from gitworker.review.rules_patch import mode_text
from gitworker.rules_text import count_text, printable
from gitworker.states.worker_machine import state_words
from gitworker.store.reviewing.comments import OLD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.page.evidence import Evidence
    from gitworker.review.page.page import ReviewPage
    from gitworker.review.page.rules_order import PageFile
    from gitworker.review.rules_patch import Hunk

ADDED, REMOVED, HEADED, NOTED = "32", "31", "36", "33"
ID_SHOWN = 8


def render_page(page: ReviewPage, *, width: int | None, color: bool) -> str:
    """Return the whole page; every line of code and every name is made safe for a terminal."""
    del width  # a diff is never cut
    text = _Text(color=color)
    lines = [*_head(page, text), "", *_evidence(page, text)]
    placed: set[int] = set()
    for file in page.files:
        lines += ["", *_file(page, file, text, placed)]
    if not page.files:
        lines += ["", NO_FILES]
    rest = [one for one in page.comments if one.comment.id not in placed]
    if rest:
        lines += ["", text.bold("Comments on the whole change and outside the diff")]
        for one in rest:
            lines += _comment(one, text, with_lines=True)
    return "\n".join(lines)


class _Text:
    """Paints texts, or not."""

    __slots__ = ("color",)

    def __init__(self, *, color: bool) -> None:
        self.color = color

    def paint(self, text: str, code: str | None) -> str:
        return paint(text, code, color=self.color)

    def bold(self, text: str) -> str:
        return self.paint(text, BOLD)

    def line(self, text: str) -> str:
        code = {"+": ADDED, "-": REMOVED, "@": HEADED}.get(text[:1])
        return self.paint(printable(text).replace("\n", "\\n"), code)


def _head(page: ReviewPage, text: _Text) -> Iterator[str]:
    worker, now = page.worker, page.round
    words = state_words(worker.state, worker.stale_from)
    yield text.bold(one_line(f"{worker.worker_id}: {page.title or worker.task_id}"))
    number = f"round {now.number}" if now.number else "not handed in yet"
    yield one_line(f"{worker.worker_id} {words}; {number}, {worker.branch} onto {page.target}")
    yield f"{now.base[:10]}..{now.tip[:10]}, {count_text(len(now.commits), 'commit')}"
    if page.later is not None:
        yield f"the branch is at {page.later[:10]} now"
    for commit in now.commits:
        subject = commit.message.split("\n", 1)[0]
        yield one_line(f"  {commit.commit[:10]} {subject} ({commit.author})")
    for title, body in (("Task", page.task_text), ("Note", page.note)):
        if body.strip():
            yield ""
            yield text.bold(title)
            yield from (f"  {one_line(line)}" for line in body.strip("\n").split("\n"))


def _evidence(page: ReviewPage, text: _Text) -> Iterator[str]:
    found = page.evidence
    yield text.bold("Evidence")
    yield from (f"  {one_line(line)}" for line in _evidence_lines(page, found))


def _evidence_lines(page: ReviewPage, found: Evidence) -> Iterator[str]:
    for command in found.commands:
        yield f"verify command: {command}"
    for run, tail in found.runs:
        flaky = ", flaky" if run.flaky else ""
        reason = f": {run.reason}" if run.reason and run.verdict != "passed" else ""
        age = age_text(max(0, page.now_ms - run.ts_ms))
        yield (
            f"verify {run.verdict}{flaky}{reason} (commit {run.commit_oid[:10]}, tree"
            f" {run.tree_oid[:10]}, {age} ago, {run.duration_ms / 1000:.1f} s)"
        )
        yield from (f"    {line}" for line in tail)
        if tail:
            yield f"    log: {run.log}"
    if not found.runs:
        yield found.no_run(page.worker.worker_id)
    for name, files in found.conflicts:
        yield f"conflicts with {name}: {few_files(files)}"
    if not found.conflicts and not found.missing:
        yield "no conflicts"
    for holder, claim, path in found.claims:
        yield f"{holder} has claimed {claim}: {path}"
    if found.uncommitted:
        yield f"not committed: {few_files(found.uncommitted)}"
    yield from found.missing


def _file(page: ReviewPage, file: PageFile, text: _Text, placed: set[int]) -> Iterator[str]:
    patch = file.patch
    change = patch.change
    name = one_line(change.path)
    if change.old_path != change.path:
        name = f"{one_line(change.old_path)} → {name}"
    facts = [f"+{patch.added} -{patch.removed}", *map(one_line, file.risks)]
    if (mode := mode_text(change)) is not None:
        facts.append(mode)
    facts += {"A": ["new"], "D": ["deleted"], "T": ["other type"]}.get(change.status, [])
    if patch.is_binary:
        facts.append("binary")
    is_viewed = page.viewed.issuperset(patch.ids)
    facts += ["viewed"] * is_viewed + [f"{file.folded}, folded"] * (file.folded is not None)
    yield text.bold(name) + f"  ({', '.join(facts)})"
    comments = [
        one for one in page.comments
        if one.lines is not None and one.lines.path in (change.path, change.old_path)
    ]  # fmt: skip
    if file.folded is None:
        for hunk in patch.hunks:
            yield from _hunk(hunk, comments, text, (page.viewed, placed))
    left = [one for one in comments if one.comment.id not in placed]
    for one in left:
        placed.add(one.comment.id)
        yield from _comment(one, text, with_lines=True)


def _hunk(
    hunk: Hunk, comments: Sequence[Anchored], text: _Text, seen: tuple[frozenset[str], set[int]]
) -> Iterator[str]:
    viewed, placed = seen
    mark = "viewed" if hunk.id in viewed else hunk.id[:ID_SHOWN]
    old, new = hunk.old_start, hunk.new_start
    ranges = f"@@ -{old},{hunk.old_count} +{new},{hunk.new_count} @@ {hunk.heading}".rstrip()
    yield text.line(ranges) + text.paint(f"  [{mark}]", DIM)
    for line in hunk.lines:
        yield text.line(line)
        kind = line[:1]
        for one in comments:
            if one.lines is None or one.comment.id in placed or one.comment.place is None:
                continue
            is_old = one.comment.place.side == OLD
            at, counts = (old, " -") if is_old else (new, " +")
            if kind in counts and one.lines.last == at:
                placed.add(one.comment.id)
                yield from _comment(one, text, with_lines=False)
        old += kind in (" ", "-", "")
        new += kind in (" ", "+", "")


def _comment(one: Anchored, text: _Text, *, with_lines: bool) -> Iterator[str]:
    comment, place = one.comment, one.comment.place
    head = f"  ┃ {comment.id} {comment_state(one)}: {author_and_place(one)}"
    yield text.paint(one_line(head), NOTED)
    if with_lines and place is not None:
        yield from (f"  ┃ > {one_line(line)}" for line in place.quoted)
    yield from (f"  ┃ {one_line(line)}" for line in comment.text.split("\n"))
    yield from (f"  ┃ {one_line(words)}" for words in answers(one))
