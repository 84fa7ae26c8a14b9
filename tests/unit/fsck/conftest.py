"""The opened repository and the clock of these tests."""

from tests.unit.observe.conftest import clock, session

__all__ = ["clock", "session"]
