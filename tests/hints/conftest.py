"""The repository of each case: no hook fires there, and no heartbeat daemon runs."""

from tests.cli.conftest import quiet

__all__ = ["quiet"]
