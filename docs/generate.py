"""`python -m docs.generate [--check]`: write the pages that are generated from the code.

The command reference comes from the commands' own help, the settings from the dataclass, the state
diagrams from the tables, the schema of a new database from its migrations. `--check` writes nothing
and fails if a page is out of date. The manual pages are made of the command reference when a wheel
is built (docs/manual.py).
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from docs.newest_schema import render_newest_sql
from gitworker.cli.group import GROUP
from gitworker.cli.pages import load_page
from gitworker.config import (
    NOT_IN_FILE,
    Settings,
    config_key,
    key_of,
    setting_names,
    variable_of,
)
from gitworker.states.diagrams import render_lifecycle_md, render_states_md

HERE = Path(__file__).parent
PROGRAM = "git worker"
SETTING_TEXTS = {
    "target": "The branch that work lands on, recorded once. Initially `main`,"
    " `init.defaultBranch` or `master`.",
    "worktree_root": "The directory for workers' worktrees, on the repository's file system;"
    " `{repository}` is the main checkout, to which a relative path is relative, too; `~` is your"
    " home. If the project has files in `worktrees`, the default is"
    " `{repository}/worker-worktrees`. `.gitworker.toml` may only name a path in the repository or"
    " next to it.",
    "worktree_pool": "The number of worktrees kept parked for the next tasks (`git worker pool`).",
    "worktree_reuse": "Whether worktrees of landed work return to the pool, with their ignored"
    " files: caches, and any other files that an earlier task left.",
    "worktree_spare_bytes": "Bytes that a new worktree must leave free on the disk.",
    "worktree_copy": "Patterns as in gitignore(5). Each new worktree gets a copy of the main"
    " checkout's ignored files that match them or `.worktreeinclude`, if it ignores them, too.",
    "worktree_link": "Ignored paths of the main checkout, such as `node_modules` or"
    " `packages/*/node_modules`. Each new worktree gets a symbolic link to them, so all worktrees"
    " see the files that an agent writes there.",
    "worktree_setup": "Commands that run in each new worktree before it is handed out.",
    "worktree_setup_timeout_s": "Seconds that each setup command may take.",
    "checkout_workers": "git's `checkout.workers` for new worktrees; 0 keeps git's own setting.",
    "review_required": "Whether tasks made by `spawn` wait in AWAITING_APPROVAL for their review.",
    "review_self": "Whether a worker may approve, reject and merge its own work.",
    "task_max_retries": "The number of times that a failed task is tried again.",
    "task_retry_delay_s": "Seconds before the first retry; doubled with each one.",
    "liveness_beat_s": "Seconds between the heartbeats of the heartbeat daemon.",
    "liveness_warn_s": "Seconds of silence until WARN.",
    "liveness_stale_s": "Seconds of silence until STALE; a worker without a living process becomes"
    " STALE then.",
    "liveness_dead_s": "Seconds of silence until DEAD; any worker at work becomes STALE then.",
    "liveness_expire_s": "Seconds since the last heartbeat until a STALE worker is FAILED.",
    "liveness_review_s": "Seconds in review until people are alerted.",
    "agent_stop_grace_s": "Seconds that a supervised agent has between TERM and KILL.",
    "agent_log_max_bytes": "The size at which `.worker.log` is set aside and a new one begins.",
    "agents_auto_resume": "Whether `exec` and `spawn … -- CMD` resume their agent if its work comes"
    " back: changes requested, a conflict, failed verify commands.",
    "agents_rounds": "The number of times that an agent is resumed at most.",
    "agents_prices": "Prices of models or agents for the costs that are shown, one"
    " `NAME=INPUT/OUTPUT/CACHED` a line, in dollars for a million tokens"
    " (`claude-sonnet-4-5=3/15/0.3`); without `/CACHED`, cached tokens cost as much as others.",
    "agents_limits": "Agents of one kind at once, one `NAME=NUMBER` a line (`claude=2`; `command`"
    " is a command of your own). It limits `run` and agents that are started by hand.",
    "agent_hand_in": "Whether an agent's hook hands committed work in at the end of a turn.",
    "claims_lease_s": "Seconds that a claim on a task lasts without a heartbeat.",
    "message_max_bytes": "The largest payload of a message, in bytes.",
    "message_max_unread": "The number of unread messages at which an agent receives no more; 0: no"
    " limit.",
    "message_max_rate": "Messages a second that one agent may send, beyond a burst; 0: no limit.",
    "retention_days": "Days until messages that were read are archived; 0: only on request.",
    "retention_archive": "Whether pruned messages are written to `archive/` first.",
    "verify_commands": "Shell commands that a commit must pass before it lands, run one after the"
    " other in a clean worktree. From `.gitworker.toml` they need `git worker trust`.",
    "verify_timeout_s": "Seconds that one verify command may take; 0: no limit.",
    "verify_env": "The environment of a verdict: `NAME=value` sets a variable for the commands,"
    " `NAME` passes it on; with another value a tree is verified again.",
    "verify_keep": "Patterns (gitignore) of untracked paths that stay in a verify worktree from one"
    " run to the next, such as `node_modules`.",
    "verify_retry_flaky": "Whether a failed run is repeated once; a pass then counts as flaky.",
    "merge_remote": "The remote that landings are pushed to first, to the branch with the target's"
    " name.",
    "merge_remote_timeout_s": "Seconds that one fetch or push may take, hooks included.",
    "merge_window": "The first number of workers that are verified and land together. It grows by"
    " one after a full window passed and halves after a failure. 1 verifies each worker by itself.",
    "merge_parallel": "The number of parts of a window that are verified at once.",
    "gc_daily": "Whether `git worker gc` runs once a day in the background.",
    "gc_days": "Days until `git worker gc` may delete an item: trash, logs, rescue refs of landed"
    " work.",
    "gc_max_bytes": "Bytes that trash, verify worktrees and logs may take; 0: no limit.",
    "orchestrator_avoid_overlap": "Whether a task waits while one runs that changes the same paths:"
    " its declared ones (`task add --path`), or else those of the work on which it is stacked.",
    "orchestrator_quiet_hours": "Hours in local time, such as `22:00-07:00`, in which"
    " `run` continues no agent after a limit.",
    "notify_urls": "The targets of [notifications](notifications.md), one URL of Apprise a line."
    " They hold secrets: only the scheme is shown, and `.gitworker.toml` cannot set them.",
    "notify_events": "The events that are sent: `question`, `failure`, `review`, `budget`.",
    "fleet_push_commits": "Whether a machine of a [fleet](fleet.md) pushes a worker's branch after"
    " each commit, in the background, and not only when the work is handed in.",
    "radar_enabled": "Whether workers are warned of branches that begin to conflict with theirs.",
    "radar_delay_s": "Seconds without a new commit after which the radar checks a branch.",
}


def render_commands() -> str:
    """Return the command reference as Markdown."""
    parts = ["# Commands\n", "Generated from the commands' own help by `make docs`.\n"]
    parts.append(_fenced(_help(GROUP, PROGRAM)))
    for name, command in _walk():
        parts.append(f"## {PROGRAM} {name}\n")
        parts.append(_fenced(_help(command, f"{PROGRAM} {name}")))
    return "\n".join(parts)


def render_settings() -> str:
    """Return the table of settings as Markdown."""
    rows = [
        "# Settings\n",
        "Generated by `make docs`. A later source wins: default, `.gitworker.toml` in the target's",
        "commit, `git config`, environment. In `.gitworker.toml` a key `room.name` is `name` in",
        "the table `[room]`, and a list is an array; elsewhere a list has one item a line.",
        "`git config --add` adds an item to a list, too.\n",
        "`git worker config` lists the values that apply here with their origin, and sets one:",
        "`git worker config worktree.pool 2`.\n",
        "| .gitworker.toml | git config | environment | default | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for field in setting_names():
        value = Settings._field_defaults[field]
        key = key_of(field)
        default = str(value).lower() if isinstance(value, bool) else value
        default = f"[{', '.join(value)}]" if isinstance(value, tuple) else default
        in_file = "-" if field in NOT_IN_FILE else f"`{key}`"
        rows.append(
            f"| {in_file} | `{config_key(field)}` | `{variable_of(field)}` | `{default}` |"
            f" {SETTING_TEXTS[field]} |"
        )
    return "\n".join(rows) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": render_commands,
    "settings.md": render_settings,
    "states.md": render_states_md,
    "lifecycle.md": render_lifecycle_md,
    "agent.md": lambda: load_page("agent"),
    "protocol.md": lambda: load_page("protocol"),
    "../gitworker/store/sqlite/newest.sql": render_newest_sql,
}


def main(arguments: list[str]) -> int:
    """Write every page, or with --check name those that differ; return the exit status."""
    stale = []
    for name, render in PAGES.items():
        path = HERE / name
        text = render()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text)
    verb = "out of date (run: make docs)" if "--check" in arguments else "written"
    for name in stale:
        sys.stdout.write(f"docs/{name}: {verb}\n")
    return 1 if stale and "--check" in arguments else 0


def _walk() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its full name, a group's own commands after it."""
    context = click.Context(GROUP, info_name=PROGRAM)
    for name in GROUP.list_commands(context):
        command = GROUP.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield name, command
            inner = click.Context(command, info_name=name, parent=context)
            for sub in command.list_commands(inner):
                found = command.get_command(inner, sub)
                assert found is not None, sub
                yield f"{name} {sub}", found
        else:
            yield name, command


def _help(command: click.Command, name: str) -> str:
    context = click.Context(
        command, info_name=name, max_content_width=88, terminal_width=88,
        help_option_names=["-h", "--help"],
    )  # fmt: skip
    return command.get_help(context)


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
