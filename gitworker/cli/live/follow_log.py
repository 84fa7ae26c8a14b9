"""`log --follow`: print each event as one line when it happens."""

from typing import Any

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.live.reader import pause_for_reader, report_deletion, require_reader
from gitworker.observe.logs.events import json_event
from gitworker.observe.logs.followed_run import RunEnd, end_text
from gitworker.observe.logs.log import event_line


def follow_log(call: CommandLine, worker: str | None, **chosen: Any) -> None:
    """Print the past events, then new ones, until the state directory or the reader disappears.

    `chosen` are the values of `Service.follow_log`. The end of a supervised agent's run ends it.
    """
    width, color = output.screen_width(), output.wants_color()
    for event in call.service().follow_log(worker, **chosen, pause=pause_for_reader()):
        if event is None:
            require_reader()
        elif isinstance(event, RunEnd):
            output.narrate(end_text(event))
            return
        elif call.as_json:
            output.answer_line(output.json_line(json_event(event)))
        else:
            output.answer_rendered(event_line(event, width=width, color=color))
    report_deletion()
