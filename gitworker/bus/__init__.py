"""The bus: messages, transitions as messages, exports to log files.

For agents written in Python, `open_bus` gives a `Bus`; see `gitworker.bus.client.library`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the hot verbs import this package, so it imports nothing
if TYPE_CHECKING:
    from gitworker.bus.client.library import Bus as Bus
    from gitworker.bus.client.library import open_bus as open_bus
    from gitworker.bus.client.received_message import Message as Message

PUBLIC = ("Bus", "Message", "open_bus")


def __getattr__(name: str) -> object:
    """Load the library on the first use of one of its names."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gitworker.bus.client import library  # 12 ms, for json and threading

    return getattr(library, name)
