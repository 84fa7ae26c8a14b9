"""git worker msg export."""

import click

from gitworker.bus.files.export import export_logs
from gitworker.cli.call import CommandLine
from gitworker.cli.fields import short
from gitworker.cli.options import GitworkerCommand
from gitworker.errors import Conflict
from gitworker.model.ref_names import LOG


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
    session = call.open_to_read()
    paths = session.paths
    lines = [paths.bus_log, paths.transition_log]
    fields: dict[str, object] = {"bus": paths.bus_log, "transitions": paths.transition_log}
    if in_git:
        from gitworker.bus.files.logs_in_git import commit_logs  # only with --git

        commit = commit_logs(session)
        outcome = "committed" if commit.is_new else "unchanged"
        lines.append(f"{LOG} {short(commit.oid)} ({outcome})")
        fields |= {"ref": LOG, "commit": commit.oid, "committed": commit.is_new}
    elif not export_logs(session.store, paths):
        raise Conflict(
            "another command has held the lock on the log files for too long",
            "git worker doctor",
            code="locked",
        )
    call.show("\n".join(lines), **fields)
