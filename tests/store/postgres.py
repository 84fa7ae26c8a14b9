"""A PostgreSQL server of the tests: in a private directory, on a Unix socket, until they end."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

from tests.cli.kit import wait_until

PR_SET_PDEATHSIG = 1


def find_programs() -> Path | None:
    """Return the directory of initdb and postgres, the newest version; None without them."""
    own = shutil.which("initdb")
    found = sorted(glob("/usr/lib/postgresql/*/bin"), key=lambda one: int(one.split("/")[4]))
    places = [*([os.path.dirname(os.path.realpath(own))] if own else []), *found[::-1]]
    return next((Path(one) for one in places if os.path.exists(f"{one}/postgres")), None)


def _owner() -> str | None:
    """Return a user without rights to run the server as, which refuses root; None: this one."""
    if os.geteuid() != 0:
        return None
    names = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _end_with_tests() -> None:
    """Let the kernel stop this process when the tests' process ends, however it does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


@contextmanager
def run_server(programs: Path) -> Iterator[str]:
    """Run a server; give the location of a database in it, without a schema.

    Its directory is not below pytest's, which only the tests' user may enter.
    """
    user = _owner()
    home = Path(tempfile.mkdtemp(prefix="gwpg-", dir="/tmp"))
    try:
        if user is not None:
            os.chown(home, pwd.getpwnam(user).pw_uid, -1)
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        subprocess.run(
            [programs / "initdb", "-D", home / "data", "-A", "trust", "-E", "UTF8", "-U", "tester",
             "--locale=C.UTF-8", "--no-sync"],
            check=True, capture_output=True, user=user, env=environment, cwd="/",
        )  # fmt: skip
        with open(home / "log", "wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", home / "data", "-k", home, "-c", "listen_addresses=",
                 "-c", "fsync=off", "-c", "max_connections=100",
                 "-c", "dynamic_shared_memory_type=mmap"],
                stdout=log, stderr=log, user=user, env=environment, cwd="/",
                preexec_fn=_end_with_tests,
            )  # fmt: skip
        try:
            wait_until(lambda: b"ready to accept" in (home / "log").read_bytes())
            yield f"postgresql:///postgres?host={home}&user=tester"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)
