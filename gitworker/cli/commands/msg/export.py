"""git worker msg export."""

import click

from gitworker.cli.call import CommandLine
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand
from gitworker.model.ref_names import LOG
from gitworker.service.results_repair import fields_json


@click.command("export", cls=GitworkerCommand)
@click.option("--git", "in_git", is_flag=True, help=f"Also commit the logs to {LOG}.")
@click.pass_obj
def command(call: CommandLine, in_git: bool) -> None:
    """Update the log files and print their paths.

    Every command that publishes does this automatically; use it after another program has
    published. bus.jsonl contains the messages that are on the bus, transitions.jsonl every state
    change. With --git, both files and the archives are committed to refs/worker/log, outside all
    branches. Without changes, nothing is committed.

    \b
      git worker msg export --git
      git log -p refs/worker/log
      git push origin refs/worker/log
    """
    logs = call.service().export_logs(in_git=in_git)
    lines = [logs.bus, logs.transitions]
    if logs.commit is not None:
        outcome = "committed" if logs.commit.is_new else "unchanged"
        lines.append(f"{LOG} {short(logs.commit.oid)} ({outcome})")
    call.show("\n".join(lines), **fields_json(logs))
