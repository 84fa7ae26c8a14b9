"""The heartbeats of a supervised agent, which pause before their process is stopped."""

import threading
from types import SimpleNamespace
from typing import Any

from gitworker.agents.run_heartbeats import RunHeartbeats
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.write_gate import WriteGate
from tests.agents.supervised import SupervisedWorker
from tests.cli.kit import DEADLINE_S
from tests.workers.world import wait_until

BEATS = "SELECT ts_ms FROM heartbeats WHERE agent_id = 'auth'"
STILL_S = 0.2


def beats(auth: SupervisedWorker) -> RunHeartbeats:
    """Return the heartbeats of the worker's agent: one at the start, then none for a long time."""
    paths = auth.world.session().paths
    post: Any = SimpleNamespace(paths=paths)
    run: Any = SimpleNamespace(worker="auth", task="t1")
    return RunHeartbeats(post, run, every_s=3600)


def test_they_rest_with_empty_hands(auth: SupervisedWorker) -> None:
    """A pause waits for the running heartbeat, so that no heartbeat holds the bus afterwards."""
    one = beats(auth)
    gate = WriteGate(f"{auth.world.session().paths.database}-gate")
    resting = threading.Thread(target=one.pause)
    gate.__enter__()
    try:
        one.start()
        resting.start()
        resting.join(STILL_S)
        assert resting.is_alive(), "a beat waits for the bus"
        assert auth.world.query(BEATS) == []
    finally:
        gate.__exit__()
    resting.join(DEADLINE_S)
    assert not resting.is_alive()
    assert len(auth.world.query(BEATS)) == 1


def test_they_begin_again(auth: SupervisedWorker) -> None:
    """After a pause the heartbeats continue, and a second pause or stop has no effect."""
    one = beats(auth)
    one.start()
    one.pause()
    one.pause()
    store = auth.world.session().store
    assert isinstance(store, Database)
    store.execute("DELETE FROM heartbeats")
    one.start()
    wait_until(lambda: auth.world.query(BEATS) != [])
    one.stop()
    one.stop()
    assert not [t for t in threading.enumerate() if t.name == "heartbeat"]
