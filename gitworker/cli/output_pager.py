"""Long text on a terminal is shown by the user's pager, chosen by git's rules."""

import os

from gitworker import proc
from gitworker.cli import output
from gitworker.repo.plumbing.git import Git

# git sets these for its pager unless the user did (core.pager of git-config(1)).
DEFAULTS = {"LESS": "FRX", "LV": "-c"}
CHOSEN_BY = "GIT_PAGER"
NOT_FOUND = 127  # of sh


def answer_paged(text: str, *, exact: bool = False) -> None:
    """Write formatted text; through the pager if it does not fit the terminal."""
    if output.is_terminal(output.OUT) and text.count("\n") + 1 >= _rows():
        pager = _pager()
        if pager not in ("", "cat"):
            data = output.rendered(text, exact=exact).encode("utf-8", "surrogateescape")
            environment = {**DEFAULTS, **os.environ}
            if proc.run_fed(["sh", "-c", pager], data, env=environment) != NOT_FOUND:
                return
    output.answer_rendered(text, exact=exact)


def _pager() -> str:
    """Return the command: GIT_PAGER, core.pager, PAGER, or git's own default."""
    chosen = os.environ.get(CHOSEN_BY)
    if chosen is not None:
        return chosen
    done = Git(".").run("var", CHOSEN_BY, ok=(0, 1, 128))
    return done.text.strip()


def _rows() -> int:
    try:
        return os.get_terminal_size(output.OUT).lines
    except OSError:
        return 0
