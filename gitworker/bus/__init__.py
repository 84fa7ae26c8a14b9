"""The bus: messages, transitions as messages, exports to log files.

For agents written in Python, `open_bus` gives a `Bus`; see `gitworker.bus.client.library`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the hot verbs import this package: nothing may load with it
if TYPE_CHECKING:
    from gitworker.bus.client.library import Bus as Bus
    from gitworker.bus.client.library import Message as Message
    from gitworker.bus.client.library import open_bus as open_bus

PUBLIC = ("Bus", "Message", "open_bus")


def __getattr__(name: str) -> object:
    """Load the library when one of its names is asked for."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gitworker.bus.client import (
        library,  # json, threading: 12 ms, which a hot verb does not pay
    )

    return getattr(library, name)
