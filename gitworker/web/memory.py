"""Keep the memory of the server small: no OpenSSL, and one arena of malloc for all threads.

The server speaks plain HTTP on loopback, but asyncio, anyio and uvicorn import `ssl`. That takes
5 of 50 MiB.
"""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

MALLOPT_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
BACKEND = "anyio._backends._asyncio"  # anyio imports it with its first use
# Without one of these, hashlib needs OpenSSL.
HASHES = (
    "_md5",
    "_sha1",
    "_sha3",
    "_blake2",
    "_sha2" if sys.version_info >= (3, 12) else "_sha256",
)


def import_small(name: str) -> ModuleType:
    """Import a module in a process that uses no TLS and holds no large buffers in its threads.

    Its `import ssl` gets names without a meaning; a module that needs the real ones is imported
    again with them. Modules that are imported later get the real ones.
    """
    _share_arena()
    before = set(sys.modules)
    if "ssl" not in before:
        sys.modules["ssl"] = _NoTls("ssl")
    if "_hashlib" not in before and all(map(find_spec, HASHES)):
        sys.modules["_hashlib"] = None  # type: ignore[assignment]  # hashlib has code of its own
    try:
        module = import_module(name)
        with suppress(ImportError):
            import_module(BACKEND)
    except Exception:  # noqa: BLE001 - whatever a library does without the real names
        for added in sys.modules.keys() - before:
            del sys.modules[added]
        return import_module(name)
    if isinstance(sys.modules["ssl"], _NoTls):
        del sys.modules["ssl"]  # what is imported later may need the real one
    return module


class _NoTls(ModuleType):
    """Has a constant 0 or an exception class for any name."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value = 0 if name.isupper() else type(name, (Exception,), {})
        setattr(self, name, value)  # the same class at each use
        return value


def _share_arena() -> None:
    import ctypes  # waking by inotify needs it, too

    with suppress(AttributeError, OSError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(MALLOPT_ARENA_MAX, 1)
