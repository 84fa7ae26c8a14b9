"""git worker config."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from gitworker.cli import output
from gitworker.cli.call import CommandLine
from gitworker.cli.options import GitworkerCommand, TextType
from gitworker.config import key_of, setting_names
from gitworker.errors import Invalid
from gitworker.settings.settings_text import (
    origin_text,
    render_settings,
    setting_json,
    settings_json,
    value_text,
)


class SettingKey(TextType):
    """The key of a setting."""

    name = "key"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Any]:
        """Offer the keys."""
        keys = map(key_of, setting_names())
        return [CompletionItem(key) for key in keys if key.startswith(incomplete)]


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
        raise Invalid("--unset needs one key", "git worker config --unset KEY", code="usage")
    if key is None:
        found = service.settings()
        call.render(found, render_settings, settings_json)
        for message, hint, _ in found.errors:
            output.narrate(f"warning: {message}\nhint: {hint}")
        return
    if not values and not unset:
        one = service.setting(key)
        call.show(value_text(one), **setting_json(one))
        return
    before, now = service.change_setting(key, None if unset else values)
    text = f"{now.key} is {value_text(now, '; ') or 'empty'} ({origin_text(now)})"
    if now.value != before.value:
        text += f"; it was {value_text(before, '; ') or 'empty'}"
    call.show(text, **setting_json(now), before=setting_json(before))
