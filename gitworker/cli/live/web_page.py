"""`web`: print the address of the page, open the browser, and serve until an interrupt."""

import os
import sys
import threading

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.person import open_for_screens, require_modules

PIP = "pip install 'gitworker[web]'"
MODULES = ("starlette", "uvicorn", "jinja2")


def serve_page(call: CommandLine, *, port: int, path: str | None, opens: bool) -> None:
    """Serve the page; raise Unavailable without the extra `web`, Refused for a worker."""
    require_modules("the page", MODULES, PIP, code="no_web")
    service, _ = open_for_screens(call)
    from gitworker.web.memory import import_small

    server = import_small("gitworker.web.server")  # 150 ms, and it needs the extra

    def announce(address: str) -> None:
        call.show(address, address=address, socket=path)
        output.narrate("press Ctrl-C to stop; each address opens one session")
        if opens and _has_screen():
            threading.Thread(target=_open, args=(address,), daemon=True).start()

    server.serve(service, announce, port=port, path=path)


def _has_screen() -> bool:
    """Return whether a browser could open a window; one for terminals would take ours."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)


def _open(address: str) -> None:
    import webbrowser  # 10 ms, and only here

    webbrowser.open(address)
