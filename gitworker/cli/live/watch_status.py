"""`status --watch`: redraw the screen after every change, without polling.

Between two changes only the ages on the screen grow.
"""

from functools import partial

from gitworker import clock
from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.reader import pause_for_reader, report_deletion, require_reader
from gitworker.cli.output_screen import Screen
from gitworker.observe.workers.status_text import json_status, render_status

AGES_GROW_S = 1.0


def watch_status(
    call: CommandLine, *, every_s: float, include_all: bool = False, machine: str | None = None
) -> None:
    """Show the status until the reader quits or the state directory is deleted.

    On a terminal it is one screen; otherwise a text for every change, or with --json a line.
    `machine`: only its workers.
    """
    if output.has_screen() and not call.as_json:
        with Screen() as screen:
            _draw(call, screen, every_s=every_s, include_all=include_all, machine=machine)
            if screen.is_left:
                return
    else:
        _show_changes(call, every_s=every_s, include_all=include_all, machine=machine)
    report_deletion()


def _show_changes(
    call: CommandLine, *, every_s: float, include_all: bool, machine: str | None
) -> None:
    """Write one snapshot after another: lines of JSON, or texts with an empty line between them."""
    before = ""
    frames = call.service().watch_status(
        every_s=every_s, every_subject=call.as_json, machine=machine, pause=pause_for_reader()
    )
    for status in frames:
        if status is None:
            require_reader()
        elif call.as_json:
            output.document(json_status(status))
        else:
            text = render_status(status, width=None, color=False, include_all=include_all)
            output.answer_rendered(before + text)
            before = "\n"


def _draw(
    call: CommandLine, screen: Screen, *, every_s: float, include_all: bool, machine: str | None
) -> None:
    render = partial(render_status, include_all=include_all, color=output.wants_color())
    frames = call.service().watch_status(
        every_s=every_s, every_subject=False, machine=machine,
        pause=pause_for_reader(AGES_GROW_S, also=screen.input_fds),
    )  # fmt: skip
    shown = None
    for status in frames:
        require_reader()
        screen.handle()
        if screen.is_left:
            return
        shown = status or shown
        if shown is not None:
            columns, _ = screen.size()
            aged = shown._replace(now_ms=clock.now_ms())
            screen.draw(render(aged, width=columns))
