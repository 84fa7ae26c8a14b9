"""Render `show`: text in labelled lines, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.observe.last_run import json_last_run, usage_text
from gitworker.observe.logs.conversation import conversation_lines, json_said
from gitworker.observe.logs.events import event_text, json_event
from gitworker.observe.next_step.trouble import json_trouble
from gitworker.observe.text import BOLD, age_text, cut, one_line, paint
from gitworker.observe.text_width import wrapped
from gitworker.observe.workers.overlaps import json_overlaps
from gitworker.observe.workers.returned import json_returned, returned_text
from gitworker.observe.workers.rules_worker import needs_help
from gitworker.observe.workers.status_text import (
    LIVENESS_COLORS,
    STATE_COLORS,
    divergence_text,
    progress_text,
)
from gitworker.observe.workers.verified import json_verified, verified_lines
from gitworker.rules_text import count_text
from gitworker.states.task_machine import status_label
from gitworker.states.worker_machine import state_label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.observe.last_run import LastRun
    from gitworker.observe.workers.returned import ReturnedWork
    from gitworker.observe.workers.show import (
        BranchComparison,
        LivenessView,
        WorkerView,
        WorktreeState,
    )
    from gitworker.repo.status.checkout_status import CheckoutStatus

TEXT = "text"  # the title of the section with the task's text
LABEL = 10
MIN_ROOM = 20
SHORT = 10
FILES_SHOWN = 10
EVENT_SHOWN = 200  # columns; a long note has lines of its own above
TEXT_LINES_SHOWN = 10
TEXT_CHARS_SHOWN = 4000  # looked at for these lines
WHOLE = frozenset({"worktree", "pull req.", "log"})  # never cut, so that they can be copied
RUNS = {True: "is alive", False: "has ended", None: "cannot be seen from here"}


def render_show(show: WorkerView, *, width: int | None, color: bool) -> str:
    """Return the worker as text without a final newline."""
    worker = show.worker
    label = state_label(worker.state, worker.stale_from)
    state = paint(label, STATE_COLORS.get(label), color=color)
    age = age_text(max(0, show.now_ms - worker.state_changed_at_ms))
    waited = "its author" if show.returned and show.returned.is_waiting else show.waits_for
    waits = f", waits for {waited}" if waited else ""
    lines = [f"{paint(worker.worker_id, BOLD, color=color)}  {state} for {age}{waits}"]
    liveness = show.life.liveness.value
    if liveness in LIVENESS_COLORS:
        lines[0] += "  " + paint(liveness, LIVENESS_COLORS[liveness], color=color)
    facts = [*_task(show), *_branch(show), *_worktree(show), *_process(show), *_ending(show)]
    for label, text in facts:
        lines += _hung(f"{label:<{LABEL}}", text, None if label in WHOLE else width)
    if show.conversation:
        lines += ["", paint("conversation", BOLD, color=color)]
        talk = conversation_lines(show.conversation, show.now_ms, worker=worker.worker_id)
        for before, text in talk:
            lines += _hung(before, text, width)
    for title, section in _sections(show):
        lines += ["", paint(title, BOLD, color=color)]
        if title == TEXT:
            lines += [part for line in section for part in _hung("  ", line, width)]
        else:
            lines += [cut(f"  {one_line(line)}", width) for line in section]
    return "\n".join([*lines, "", f"next: {show.next_command}"])


def _hung(before: str, text: str, width: int | None) -> list[str]:
    """Return a text after its label, whole; further lines are indented as wide as the label."""
    room = None if width is None else max(MIN_ROOM, width - len(before))
    first, *others = wrapped(one_line(text), room)
    return [(before + first).rstrip(), *(" " * len(before) + line for line in others)]


def json_show(show: WorkerView) -> dict[str, Any]:
    """Return the worker as JSON data."""
    worker = show.worker
    return {
        "worker": worker.worker_id,
        "state": worker.state.value,
        "since": clock.iso_utc(worker.state_changed_at_ms),
        "waits_for": show.waits_for,
        "last_error": worker.last_error,
        "pr_url": worker.pr_url,
        "task": _json_task(show),
        "target": show.target,
        "branch": worker.branch,
        "base": worker.base_oid,
        "parent": _json_parent(show),
        "commits": _json_branching(show.branching) if show.branching else None,
        "elsewhere": worker.elsewhere,
        "worktree": _json_checkout(show.checkout) if show.checkout else None,
        "process": {"pid": worker.pid, "host": worker.host, "runs": show.life.process_runs},
        "life": _json_life(show.life),
        "review": _json_review(show),
        "landing": _json_landing(show),
        "verify": json_verified(show.verified),
        "returned": json_returned(show.returned),
        "conflicts": json_overlaps(show.conflicts),
        "conversation": [json_said(said) for said in show.conversation],
        "rescues": [{"ref": one.ref, "commit": one.oid} for one in show.rescues],
        "run": json_last_run(show.run),
        "events": [json_event(event) for event in show.events],
        "trouble": json_trouble(show.trouble),
        "next": show.next_command,
    }


def _task(show: WorkerView) -> Iterator[tuple[str, str]]:
    task, worker = show.task, show.worker
    if task is not None:
        title = f"  {task.title}" if task.title else ""
        yield "task", f"{task.id}  {status_label(task.status)}{title}"
        yield "attempt", f"{task.retry_count + 1} of {task.max_retries + 1}"
    elif worker.task_id:
        yield "task", worker.task_id
    if show.trouble is not None:
        yield "trouble", show.trouble.words
    if show.dependencies:
        yield "waits for", ", ".join(show.dependencies)
    if show.returned is not None:
        yield "returned", _returned(show, show.returned)
    if worker.last_error and (show.returned is None or needs_help(worker.state)):
        yield "error", worker.last_error
    if worker.pr_url:
        yield "pull req.", worker.pr_url


def _returned(show: WorkerView, returned: ReturnedWork) -> str:
    """Return the reason of the return, without the note and the log that other lines show."""
    if show.verified is not None and show.verified.log == returned.log:
        returned = returned._replace(log="")
    if show.review is not None and show.review.note == returned.note:
        returned = returned._replace(note="")
    return returned_text(returned, whole=True)


def _branch(show: WorkerView) -> Iterator[tuple[str, str]]:
    worker, branching = show.worker, show.branching
    if worker.branch is None:
        return
    if branching is None:
        where = f"on {worker.elsewhere}" if worker.elsewhere else "it does not exist"
        yield "branch", f"{worker.branch}  ({where})"
        return
    divergence = divergence_text(branching.ahead, branching.behind)
    yield "branch", f"{worker.branch}  {branching.tip[:SHORT]}  {divergence} against {show.target}"
    if worker.base_oid:
        yield "base", worker.base_oid[:SHORT]
    if show.stack is not None:
        yield "parent", f"{show.stack.parent_branch}  (of {show.stack.parent_worker})"


def _worktree(show: WorkerView) -> Iterator[tuple[str, str]]:
    checkout = show.checkout
    if show.worker.elsewhere is not None:
        yield "machine", show.worker.elsewhere
    if checkout is None:
        return
    yield "worktree", checkout.path
    if not checkout.exists:
        yield "", "the directory does not exist"
    elif checkout.flaw is not None:
        yield "", checkout.flaw
    if checkout.uncommitted is not None:
        yield "", uncommitted_text(checkout.uncommitted)
    if checkout.operation is not None:
        yield "", f"a {checkout.operation} is in progress there"


def _process(show: WorkerView) -> Iterator[tuple[str, str]]:
    worker, life = show.worker, show.life
    if worker.pid is not None:
        host = f" on {worker.host}" if worker.host else ""
        yield "process", f"{worker.pid}{host} {RUNS[life.process_runs]}"
    if show.run is not None and (show.run.has_failed or show.run.is_idle):
        yield "agent", _ended_agent(show, show.run)
    if show.run is not None and show.run.result.input_tokens is not None:
        yield "usage", usage_text(show.run)
    if life.heartbeat_age_ms is not None:
        progress = "" if life.progress is None else f", {progress_text(life.progress)} done"
        yield (
            "heartbeat",
            f"{age_text(life.heartbeat_age_ms)} ago: {life.heartbeat_status}{progress}",
        )


def _ended_agent(show: WorkerView, run: LastRun) -> str:
    """Return the command of an agent that gave no result, and its end."""
    age = age_text(max(0, show.now_ms - (run.result.ended_at_ms or 0)))
    if run.is_idle:
        return f"{run.result.command}  ended {age} ago and handed nothing in"
    is_known = run.result.reason == show.worker.last_error
    return f"{run.result.command}  failed {age} ago" + (
        "" if is_known else f": {run.result.reason}"
    )


def _ending(show: WorkerView) -> Iterator[tuple[str, str]]:
    review, landing = show.review, show.landing
    if review is not None:
        age = age_text(max(0, show.now_ms - review.ts_ms))
        by = review.reviewer or review.identity
        was = "was " if show.returned and review.verdict == "requested" else ""
        verdict = review.verdict.replace("_", " ")
        yield "review", f"{was}{verdict} {age} ago by {by}, of {review.commit[:SHORT]}"
        if review.withdrawn:
            yield "", f"the approval is withdrawn: {review.withdrawn}"
        for line in review.note.splitlines():
            yield "", line
    yield from verified_lines(show.verified, show.now_ms)
    if show.is_unverified:
        name = show.worker.worker_id
        yield "verify", f"no verify run on this commit: git worker verify {name}"
    for overlap in show.conflicts:
        yield "conflict", f"with {overlap.other} in {', '.join(overlap.files)}"
    if landing is not None:
        age = age_text(max(0, show.now_ms - landing.ts_ms))
        yield "landed", f"{landing.target_new[:SHORT]} on {landing.target} {age} ago"


def _sections(show: WorkerView) -> Iterator[tuple[str, list[str]]]:
    branching = show.branching
    if show.task_text.strip():
        yield TEXT, _text_lines(show)
    if branching is not None and branching.own:
        title = f"{count_text(branching.own, 'commit')} that would land"
        lines = [f"{one.oid[:SHORT]}  {one.subject}" for one in branching.commits]
        yield title, lines + _more(branching.own - len(branching.commits))
    if branching is not None and branching.files:
        shown = list(branching.files[:FILES_SHOWN])
        title = f"{count_text(len(branching.files), 'file')} changed"
        yield title, shown + _more(len(branching.files) - len(shown))
    if show.run is not None and show.run.lines:
        yield "last output", list(show.run.lines)
    if show.rescues:
        yield "rescued", [f"{one.oid[:SHORT]}  {one.ref}" for one in show.rescues]
    if show.events:
        yield (
            "last events",
            [
                f"{age_text(max(0, show.now_ms - event.ts_ms)):>4}"
                f"  {cut(event_text(event), EVENT_SHOWN)}"
                for event in show.events
            ],
        )


def _text_lines(show: WorkerView) -> list[str]:
    text = show.task_text
    lines = text[:TEXT_CHARS_SHOWN].strip().splitlines()
    if len(lines) <= TEXT_LINES_SHOWN and len(text) <= TEXT_CHARS_SHOWN:
        return lines
    return [*lines[:TEXT_LINES_SHOWN], f"… (all of it: git worker task text {show.worker.task_id})"]


def uncommitted_text(status: CheckoutStatus) -> str:
    """Return the counts of uncommitted files in a few words."""
    counts = {
        "staged": status.staged, "changed": status.unstaged, "untracked": status.untracked,
        "unmerged": status.unmerged,
    }  # fmt: skip
    words = [f"{number} {kind}" for kind, number in counts.items() if number]
    return ", ".join(words) if words else "clean"


def _more(number: int) -> list[str]:
    return [f"and {number} more"] if number > 0 else []


def _json_task(show: WorkerView) -> dict[str, Any] | None:
    task = show.task
    if task is None:
        return None
    return {
        "id": task.id, "title": task.title, "text": show.task_text, "status": task.status.value,
        "attempt": task.retry_count + 1, "max_attempts": task.max_retries + 1,
        "waits_for": list(show.dependencies),
    }  # fmt: skip


def _json_parent(show: WorkerView) -> dict[str, Any] | None:
    stack = show.stack
    if stack is None:
        return None
    return {
        "worker": stack.parent_worker, "task": stack.parent_task, "branch": stack.parent_branch,
        "commit": stack.parent_oid,
    }  # fmt: skip


def _json_branching(branching: BranchComparison) -> dict[str, Any]:
    return {
        "tip": branching.tip, "ahead": branching.ahead, "behind": branching.behind,
        "own": branching.own,
        "newest": [
            {"commit": one.oid, "author": one.author, "subject": one.subject}
            for one in branching.commits
        ],
        "files": list(branching.files),
    }  # fmt: skip


def _json_checkout(checkout: WorktreeState) -> dict[str, Any]:
    status = checkout.uncommitted
    return {
        "path": checkout.path, "exists": checkout.exists, "flaw": checkout.flaw,
        "operation": checkout.operation,
        "staged": status.staged if status else None,
        "changed": status.unstaged if status else None,
        "untracked": status.untracked if status else None,
        "unmerged": status.unmerged if status else None,
    }  # fmt: skip


def _json_life(life: LivenessView) -> dict[str, Any]:
    return {
        "liveness": life.liveness.value,
        "beat_age_s": None if life.heartbeat_age_ms is None else life.heartbeat_age_ms // 1000,
        "status": life.heartbeat_status,
        "progress": life.progress,
    }


def _json_review(show: WorkerView) -> dict[str, Any] | None:
    review = show.review
    if review is None:
        return None
    return {
        "state": show.worker.review_state, "verdict": review.verdict,
        "reviewer": review.reviewer, "identity": review.identity, "commit": review.commit,
        "note": review.note, "at": clock.iso_utc(review.ts_ms), "withdrawn": review.withdrawn,
    }  # fmt: skip


def _json_landing(show: WorkerView) -> dict[str, Any] | None:
    landing = show.landing
    if landing is None:
        return None
    return {
        "target": landing.target, "commit": landing.target_new, "at": clock.iso_utc(landing.ts_ms),
    }  # fmt: skip
