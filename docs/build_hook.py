"""hatchling's build hook: adds the manual pages to the wheel."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from manual import build


class ManualPages(BuildHookInterface):
    """Makes the pages from the command reference."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages and name them to hatchling."""
        root, target = Path(self.root), Path(self.root) / "build" / "man"
        build_data["shared_data"].update(build(root, target, self.metadata.version))
