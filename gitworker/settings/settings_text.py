"""The settings as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.config import SECRET
from gitworker.observe.text import table
from gitworker.rules_text import masked_url
from gitworker.settings.effective_settings import ENVIRONMENT, SettingList, SettingValue

if TYPE_CHECKING:
    from gitworker.settings.change_setting import ChangedSetting

HEAD = ("SETTING", "VALUE", "ORIGIN")
BETWEEN = "; "


def render_settings(found: SettingList, *, width: int | None, color: bool) -> str:
    """Return one row for each setting."""
    rows = [
        (one.key, render_value(one, BETWEEN) or "-", render_origin(one)) for one in found.settings
    ]
    return "\n".join(table(HEAD, rows, width=width, color=color))


def render_value(one: SettingValue, between: str = "\n") -> str:
    """Return a value as it is written in git config, the items of a list with `between`.

    Of a secret value only the scheme is shown.
    """
    if isinstance(one.value, tuple):
        return between.join(_shown(one))
    return str(one.value).lower() if isinstance(one.value, bool) else str(one.value)


def render_origin(one: SettingValue) -> str:
    """Return the origin of a value: `default`, `git config, local`."""
    if one.origin == ENVIRONMENT:
        return f"environment ({one.source})"
    return one.source or one.origin


def json_setting(one: SettingValue) -> dict[str, Any]:
    """Return a setting as JSON data."""
    value = _shown(one) if isinstance(one.value, tuple) else one.value
    return {"key": one.key, "value": value, "origin": one.origin, "source": one.source or None}


def json_changed(changed: ChangedSetting) -> dict[str, Any]:
    """Return a setting after a change, and `before`."""
    return {**json_setting(changed.now), "before": json_setting(changed.before)}


def json_settings(found: SettingList) -> dict[str, Any]:
    """Return all settings and the errors in their sources as JSON data."""
    return {
        "settings": [json_setting(one) for one in found.settings],
        "errors": [{"message": one.message, "hint": one.hint} for one in found.errors],
    }


def _shown(one: SettingValue) -> list[str]:
    items = map(str, one.value) if isinstance(one.value, tuple) else ()
    return [masked_url(item) if one.key in SECRET else item for item in items]
