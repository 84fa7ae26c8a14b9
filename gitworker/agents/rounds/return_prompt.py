"""The prompt for the agent of work that was sent back: the reason, and the task once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.agents.rounds.rules_rounds import Return, is_open_return, round_prompt
from gitworker.model.ref_names import short_name
from gitworker.observe.logs.tail import last_lines
from gitworker.observe.text import without_escapes
from gitworker.observe.workers.returned import returned_work
from gitworker.review.comments.open_comments import open_comment_lines
from gitworker.store.records.runs import find_prompt

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker

LOG_LINES = 40


def find_return_prompt(session: Session, worker: Worker) -> str | None:
    """Return the prompt for a worker whose work was sent back and is unchanged since, or None."""
    tip = session.git.find_oid(worker.ref)
    is_open = is_open_return(
        worker.returned_by, waits_for_author=worker.waits_for_author,
        is_unchanged=tip == worker.returned_tip,
    )  # fmt: skip
    is_open = is_open and returned_work(worker) is not None
    return prompt_of_return(session, worker) if is_open else None


def prompt_of_return(session: Session, worker: Worker) -> str:
    """Return the prompt for the agent of a worker whose work was sent back."""
    back = returned_work(worker)
    assert back is not None
    lines = last_lines(back.log, LOG_LINES)[0] if back.log else []
    with session.store.read() as reader:
        task_text = find_prompt(reader, worker.task)
        comments = open_comment_lines(reader, worker, note=back.note)
    return round_prompt(
        Return(
            worker.branch or worker.task, short_name(session.target_of(worker)), back.reason,
            back.note, back.files, back.log, [without_escapes(line) for line in lines], task_text,
            comments,
        )
    )  # fmt: skip
