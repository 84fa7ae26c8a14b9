"""The parts that `web` and `ui` share: packages of an extra, and a service that outlives calls."""

import os
from collections.abc import Sequence
from importlib.util import find_spec

from gitworker.cli.call import CommandLine
from gitworker.errors import Unavailable
from gitworker.service.queue.board import Reader
from gitworker.service.service import Service, open_repository

# The repository and the caller are known when the screens begin.
LEFT_OUT = ("GIT_DIR", "GIT_WORK_TREE", "GITWORKER_ID")


def require_modules(name: str, modules: Sequence[str], pip: str, *, code: str) -> None:
    """Raise Unavailable if a package of an extra is not installed; `pip` installs it."""
    missing = [one for one in modules if find_spec(one) is None]
    if missing:
        raise Unavailable(f"{name} needs {', '.join(missing)}", pip, code=code)


def open_for_screens(call: CommandLine) -> tuple[Service, Reader]:
    """Return a service that does not depend on the working directory, and its caller."""
    reader = call.service().reader()
    environment = {name: os.environ[name] for name in os.environ if name not in LEFT_OUT}
    service = open_repository(reader.directory, identity=reader.identity, environment=environment)
    return service, reader
