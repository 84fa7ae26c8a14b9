"""git worker notify."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand
from gitworker.notifications.show import (
    json_notifications,
    json_test,
    render_notifications,
    render_test,
)


@click.command("notify", cls=GitworkerCommand)
@click.option("--test", is_flag=True, help="Send a message to every target, and wait for it.")
@click.pass_obj
def command(call: CommandLine, test: bool) -> None:
    """Show the targets of notifications and the last events.

    An open question, a failure, a review and a budget that is reached are sent once to the URLs of
    the setting notify.urls, or to the URL of the task's project (`project edit --notify`). A
    background job sends them by Apprise: pip install 'gitworker[notify]'. Only the scheme of a URL
    is shown. docs/notifications.md describes it.

    \b
      git worker config notify.urls ntfy://ntfy.sh/my-topic
      git worker notify --test
      git worker notify
    """
    service = call.service()
    if test:
        call.render(service.test_notifications(), render_test, json_test)
    else:
        call.render(service.notifications(), render_notifications, json_notifications)
