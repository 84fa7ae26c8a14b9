"""The repository that each of these tests works in."""

from tests.workers.conftest import world

__all__ = ["world"]
