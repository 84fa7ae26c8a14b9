"""The SQLite backend: connection, write gate, schema, migrations and named queries.

The import of apsw loads the package `collections` for the class `collections.abc.Mapping`. Every
interpreter has loaded that class already, in `_collections_abc`, and the package around it costs
a hot verb 2.5 ms. So apsw is imported here first, with a stand-in for the package.
"""

import _collections_abc
import sys


def _import_apsw() -> None:
    stand_in = type(sys)("collections")

    def remove() -> None:
        if sys.modules.get("collections") is stand_in:
            del sys.modules["collections"], sys.modules["collections.abc"]

    def load(name: str) -> object:  # for an apsw that needs more of the package
        remove()
        return getattr(__import__("collections"), name)

    stand_in.__dict__.update(abc=_collections_abc, __getattr__=load)
    sys.modules.update({"collections": stand_in, "collections.abc": _collections_abc})
    try:
        import apsw  # noqa: F401
    finally:
        remove()


if "collections" not in sys.modules:
    _import_apsw()
