"""The invariants of tasks and workers hold after every step of random lives."""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.tasks.queue_life import QueueLife

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))


@pytest.mark.slow
def test_random_lives() -> None:
    """Tasks, workers, landings, killed agents and killed commands break no invariant."""
    run_state_machine_as_test(
        QueueLife,
        settings=settings(
            max_examples=10 * SCALE, stateful_step_count=40, deadline=None, database=None,
            derandomize=SCALE == 1, phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
