"""Workers whose branches move, and the warnings that the radar published."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fixtures.repos import Content, lines
from gitworker.bus.drain import drain
from gitworker.observe.workers.show import read_show
from gitworker.observe.workers.status import read_status
from gitworker.radar.radar import RadarResult, survey
from gitworker.radar.radar_watch import watch_branches
from tests.workers.world import World

TEXT = lines(20)


def at_line(number: int, text: str) -> dict[str, Content]:
    """Return the file that everybody edits, with one line replaced."""
    return {"f": lines(20, {number: text})}


@dataclass(frozen=True)
class RadarScene:
    """A world whose target has a file `f` of twenty lines."""

    world: World

    def working(self, worker: str, files: Mapping[str, Content]) -> None:
        """Give a worker a branch with one commit, at work."""
        self.world.working(worker, f"{worker}-task", files)

    def commit(self, worker: str, files: Mapping[str, Content]) -> str:
        """Commit in a worker's worktree."""
        return self.world.commit(worker, files)

    def check_branches(self) -> int:
        """Drain, and let the radar do the due work; return how many warnings it published."""
        session = self.world.session()
        drain(session)
        return watch_branches(session)

    def survey(self) -> RadarResult:
        """Return how the branches get on."""
        return survey(self.world.session())

    def clashes(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the files in conflict by the names of the two."""
        return {(one.one.name, one.other.name): one.files or () for one in self.survey().conflicts}

    def warnings(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the warnings so far, oldest first, each with whom it went to."""
        rows = self.world.query(
            "SELECT to_agent, payload FROM messages WHERE type = 'conflict_warning' ORDER BY seq"
        )
        return [(to, json.loads(payload)) for to, payload in rows]

    def warned(self) -> list[tuple[str, str]]:
        """Return the pairs of warned worker and other worker, oldest first."""
        return [(to, payload["with"]) for to, payload in self.warnings()]

    def views(self) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        """Return the conflicts that `show` and `status` have of each worker; they must agree."""
        session = self.world.session()
        found = {line.worker: line.conflicts for line in read_status(session, {}).workers}
        for worker, conflicts in found.items():
            assert read_show(session, self.world.worker(worker)).conflicts == conflicts
        return {
            worker: sorted((one.other, one.files) for one in conflicts)
            for worker, conflicts in found.items()
        }

    def due(self) -> list[str]:
        """Return the refs that the radar has yet to look at."""
        return sorted(ref for (ref,) in self.world.query("SELECT ref FROM radar_due"))
