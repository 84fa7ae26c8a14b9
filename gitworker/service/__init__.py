"""The service: one way in for every interface, with one method per use case and per view.

The public names load on first use, so that importing one does not pay for all.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.service.results import to_json
    from gitworker.service.service import Service, open_repository

__all__ = ["Service", "open_repository", "to_json"]

HOME = {"Service": "service", "open_repository": "service", "to_json": "results"}


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use."""
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
