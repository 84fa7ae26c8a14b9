"""Whether work that was sent back is taken up without a command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitworker.liveness.process_origin import is_local, origin_of
from gitworker.liveness.supervised_agent import workers_of_living_run
from gitworker.model.worker import AUTOMATIC_RETURNS
from gitworker.observe.workers.rules_worker import is_at_work
from gitworker.processes.table import is_running
from gitworker.store.records.run_results import count_runs, find_run_request
from gitworker.store.records.runs import find_latest_run

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.screens import WorkerRow
    from gitworker.store.workers import Worker


def goes_on(session: Session, reader: Reader, worker: Worker | WorkerRow) -> bool:
    """Return whether the supervisor of a worker, or a living run, starts its agent again."""
    is_returned = worker.waits_for_author and worker.returned_by in AUTOMATIC_RETURNS
    if not is_returned or not is_at_work(worker.state) or worker.elsewhere is not None:
        return False
    name, task, settings = worker.worker_id, worker.task_id, session.settings
    if name in workers_of_living_run(reader, session.paths):
        return count_runs(reader, name, task).rounds <= settings.agents_rounds
    run = find_latest_run(reader, name)
    if run is None or run.task_id != task or run.ended_at_ms is None:
        return False
    if not is_local(origin_of(run)) or not is_running(run.supervisor_pid, run.supervisor_start):
        return False
    request = json.loads(find_run_request(reader, name, task) or "{}")
    chosen = request.get("auto_resume")
    return settings.agents_auto_resume if chosen is None else bool(chosen)
