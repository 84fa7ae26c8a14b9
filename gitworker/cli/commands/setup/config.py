"""git worker config."""

import click

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, SettingKey
from gitworker.errors import Invalid
from gitworker.settings.settings_text import (
    json_changed,
    json_setting,
    json_settings,
    render_origin,
    render_settings,
    render_value,
)


@click.command("config", cls=GitworkerCommand)
@click.argument("key", type=SettingKey(), required=False)
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@click.option("--unset", is_flag=True, help="Remove the setting from this repository's git config.")
@click.pass_obj
def command(call: CommandLine, key: str | None, values: tuple[str, ...], unset: bool) -> None:
    """List the settings with their origin, or change one.

    Without arguments, lists every setting that applies here. The origin is the default, the
    committed .gitworker.toml of the target, git config, or the environment; a later one wins. With
    a key, prints its value, a list with one item a line. With values, checks them and writes the
    setting to the repository's git config as worker.KEY; a list takes several values. The settings
    are described in docs/settings.md.

    \b
      git worker config
      git worker config worktree.pool 2
      git worker config verify.commands 'make lint' 'make test'
      git worker config --unset worktree.pool
    """
    service = call.service()
    if unset and (key is None or values):
        raise Invalid("--unset needs one key", "git worker config --unset <key>", code="usage")
    if key is None:
        found = service.settings()
        call.render(found, render_settings, json_settings)
        for message, hint, _ in found.errors:
            output.narrate(f"warning: {message}\nhint: {hint}")
        return
    if not values and not unset:
        one = service.setting(key)
        call.show(render_value(one), **json_setting(one))
        return
    changed = service.change_setting(key, None if unset else values)
    before, now = changed
    text = f"{now.key} is {render_value(now, '; ') or 'empty'} ({render_origin(now)})"
    if now.value != before.value:
        text += f"; it was {render_value(before, '; ') or 'empty'}"
    call.show(text, **json_changed(changed))
