"""The repository that each of these tests works in."""

from tests.tmux.conftest import server
from tests.workers.conftest import world

__all__ = ["server", "world"]
