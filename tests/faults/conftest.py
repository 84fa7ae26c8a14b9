"""The compiled fault library, and the prepared repositories of the crash suite."""

import pytest

from tests.crash.conftest import prepared, shelf
from tests.faults.harness import Injector, build

__all__ = ["prepared", "shelf"]


@pytest.fixture(scope="session")
def injector(tmp_path_factory: pytest.TempPathFactory) -> Injector:
    """Return the runner of commands under the fault library, compiled once for this process."""
    folder = tmp_path_factory.mktemp("faults")
    return Injector(build(folder), folder)
