"""The repository that each of these tests works in."""

from tests.ui.conftest import server
from tests.workers.conftest import world

__all__ = ["server", "world"]
