"""The repository of these tests."""

from tests.workers.conftest import world

__all__ = ["world"]
