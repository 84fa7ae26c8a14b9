"""A world for each test of reviews; afterwards log, database and history must be sound."""

from tests.workers.conftest import world as world
