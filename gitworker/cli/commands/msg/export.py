"""git worker msg export."""

import click

from gitworker.bus.files.export import export_logs
from gitworker.cli.call import Call
from gitworker.cli.fields import short
from gitworker.cli.options import Verb
from gitworker.errors import Conflict


@click.command("export", cls=Verb)
@click.option("--git", "in_git", is_flag=True, help="Commit the logs to refs/worker/log as well.")
@click.pass_obj
def command(call: Call, in_git: bool) -> None:
    """Bring the log files up to date and say where they are.

    Every command that publishes does so by itself; this is for after another program has.
    bus.jsonl holds the messages that are on the bus, transitions.jsonl every change of a state.
    With --git they and the archives are committed to refs/worker/log, beside all branches; where
    nothing changed, nothing is committed.

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
        from gitworker.bus.files.logs_in_git import LOG_REF, commit_logs  # only where git is wanted

        commit = commit_logs(session)
        told = "committed" if commit.is_new else "unchanged"
        lines.append(f"{LOG_REF} {short(commit.oid)} ({told})")
        fields |= {"ref": LOG_REF, "commit": commit.oid, "committed": commit.is_new}
    elif not export_logs(session.store, paths):
        raise Conflict(
            "another command holds the lock of the log files and does not go on",
            "git worker doctor",
            code="locked",
        )
    call.show("\n".join(lines), **fields)
