"""Whether a supervised agent has ended."""

import os

from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.supervised_agent import has_run_to_its_end, may_be_resumed
from gitworker.processes.table import find_start
from gitworker.store.records.runs import Run


def test_an_agent_that_has_ended() -> None:
    """Only the worker's own last supervised agent counts, and no process of another kind since."""
    assert not has_run_to_its_end(None, task="t", pid=None)
    run = Run({"task_id": "t", "pid": 7, "ended_at_ms": None})
    assert not has_run_to_its_end(run, task="t", pid=7)
    run.ended_at_ms = 9
    assert has_run_to_its_end(run, task="t", pid=7)
    assert not has_run_to_its_end(run, task="t2", pid=7)
    assert not has_run_to_its_end(run, task="t", pid=8)


def test_a_supervisor_may_resume_its_agent() -> None:
    """It may while it lives, or while another namespace hides whether it does."""
    host, boot_id, pid_ns = this_origin()
    here = {"host": host, "boot_id": boot_id, "pid_ns": pid_ns, "supervisor_pid": os.getpid()}
    assert may_be_resumed(Run({**here, "supervisor_start": find_start(os.getpid())}))
    assert not may_be_resumed(Run({**here, "supervisor_start": "1"}))
    assert may_be_resumed(Run({**here, "supervisor_start": "1", "pid_ns": "elsewhere"}))
