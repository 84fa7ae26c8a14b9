"""Doctor's check of the heartbeat daemon."""

import os

from gitworker.fsck.doctor import read_doctor
from gitworker.liveness.process_origin import this_origin
from gitworker.processes.table import find_process
from gitworker.session import Session
from gitworker.store.records.runs import begin_run
from gitworker.store.workers import set_process
from tests.unit.fsck.test_doctor import found
from tests.unit.observe.scene import working


def test_a_supervisor_sends_heartbeats(session: Session) -> None:
    """No daemon is missed while a supervisor runs the worker's agent."""
    working(session, "auth", "skills")
    own = find_process(os.getpid())
    assert own is not None
    process = (own.pid, own.start)
    with session.store.write() as writer:
        set_process(writer, "auth", pid=own.pid, start=own.start, origin=this_origin())
        begin_run(
            writer, "auth", "skills", command="true", supervisor=process, process=process,
            origin=this_origin(), now=1, request="{}",
        )  # fmt: skip
    (level, message, _) = found(read_doctor(session), "beater")[0]
    assert (level, message) == ("ok", "not needed now")
