"""Choose the id of a new task from its words, or else at random."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitworker.model.ids import Branch, TaskId, WorkerId
from gitworker.model.ref_names import ref_of
from gitworker.repo.plumbing.refs import read_refs
from gitworker.store.tasks import all_task_ids
from gitworker.tasks.rules_task_id import free_task_id, slug_of, two_words

if TYPE_CHECKING:
    from gitworker.session import Session


def choose_task_id(session: Session, worker: WorkerId, *, title: str, text: str | None) -> TaskId:
    """Return an id that no task and no branch of the worker has.

    It is made of the title, or of the text's first line; without both it is two random words.
    """
    with session.store.read() as reader:
        taken = all_task_ids(reader)
    prefix = ref_of(Branch(f"{worker}/"))
    taken += [ref.removeprefix(prefix) for ref in read_refs(session.git, [prefix])]
    wanted = slug_of(title, text or "") or two_words(int.from_bytes(os.urandom(8)))
    return free_task_id(wanted, taken)
