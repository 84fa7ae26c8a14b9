"""The cases by name; each is a function from a scene to its results."""

from collections.abc import Callable, Iterable

from benchmarks.cases.agents import measure_begin, measure_output
from benchmarks.cases.big import measure_landing, measure_pool, measure_spawn
from benchmarks.cases.bus_peers import measure_peers
from benchmarks.cases.bus_poll import measure_poll
from benchmarks.cases.bus_publish import measure_crowd, measure_pace, measure_publish
from benchmarks.cases.bus_wake import measure_wake
from benchmarks.cases.fleet import measure_fleet
from benchmarks.cases.hooks import measure_hooks
from benchmarks.cases.hot import measure_hot_verbs
from benchmarks.cases.inbox import measure_inbox
from benchmarks.cases.land import measure_land
from benchmarks.cases.library import measure_removal, measure_replay
from benchmarks.cases.mcp import measure_mcp
from benchmarks.cases.memory import measure_memory
from benchmarks.cases.page import measure_page
from benchmarks.cases.queue import measure_landed_removal, measure_queue
from benchmarks.cases.radar import measure_radar
from benchmarks.cases.screens import measure_screens
from benchmarks.cases.status import measure_status
from benchmarks.cases.tasks import measure_tasks
from benchmarks.results import Result
from benchmarks.scene import Scene

CASES: dict[str, Callable[[Scene], Iterable[Result]]] = {
    "hooks": measure_hooks,
    "hot": measure_hot_verbs,
    "inbox": measure_inbox,
    "mcp": measure_mcp,
    "exec": measure_begin,
    "output": measure_output,
    "status": measure_status,
    "tasks": measure_tasks,
    "replay": measure_replay,
    "removal": measure_removal,
    "landed-removal": measure_landed_removal,
    "spawn": measure_spawn,
    "pool": measure_pool,
    "landing": measure_landing,
    "land": measure_land,
    "queue": measure_queue,
    "radar": measure_radar,
    "screens": measure_screens,
    "page": measure_page,
    "memory": measure_memory,
    "fleet": measure_fleet,
}

# The bus alone: `make bench-bus`.
BUS_CASES: dict[str, Callable[[Scene], Iterable[Result]]] = {
    "publish": measure_publish,
    "crowd": measure_crowd,
    "pace": measure_pace,
    "wake": measure_wake,
    "poll": measure_poll,
    "peers": measure_peers,
}

# Cases that check out many thousands of files.
LARGE = {"land", "landed-removal", "landing", "memory", "pool", "removal", "replay", "spawn"}
