"""The types of values: numbers as on SQLite, where a truth value is 0 or 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.adapt import Dumper, Loader

if TYPE_CHECKING:
    from typing import Any

    import psycopg
    from psycopg.abc import Buffer


class _FlagDumper(Dumper):
    """Write a truth value as 0 or 1."""

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"

    def quote(self, obj: bool) -> bytes:
        return self.dump(obj)


class _NumberLoader(Loader):
    """Read the sum of integers, which is a numeric, as an integer."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text else int(text)


def adapt(connection: psycopg.Connection[dict[str, Any]]) -> None:
    """Register the types with a connection."""
    connection.adapters.register_dumper(bool, _FlagDumper)
    connection.adapters.register_loader("numeric", _NumberLoader)
