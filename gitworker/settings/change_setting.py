"""Set or unset one setting in the repository's git config."""

from collections.abc import Sequence
from shlex import join
from typing import NamedTuple

from gitworker.config import Settings, config_key, find_setting, key_of, parse_value, suggest_keys
from gitworker.errors import Invalid, NotFound, Refused
from gitworker.model.ids import HQ, RESERVED, Branch
from gitworker.model.ref_names import BRANCHES, ref_of, short_name
from gitworker.repo.plumbing.git import Git
from gitworker.repo.plumbing.refs import find_ref, read_refs
from gitworker.rules_text import quoted
from gitworker.settings.effective_settings import (
    SettingValue,
    effective_settings,
    find_config,
    label_of,
    unset_command,
)
from gitworker.settings.gather import SettingsPlace
from gitworker.verify.rules_verify import declared_environment

LOCAL = "local"
COMMAND = "git worker config"


class ChangedSetting(NamedTuple):
    """A setting before and after a change; its new origin may be another one that overrides it."""

    before: SettingValue
    now: SettingValue


def require_setting(text: str, values: Sequence[str] = ()) -> str:
    """Return the field of a key; raise Invalid, with the most similar key, if it is unknown."""
    name = find_setting(text)
    if name is not None:
        return name
    near = suggest_keys(text)
    key = near.removeprefix("; did you mean ").removesuffix("?")
    hint = f"{COMMAND} {join([key, *values])}" if near else COMMAND
    raise Invalid(f"there is no setting {text!r}{near}", hint, code="usage")


def find_value(place: SettingsPlace, name: str) -> SettingValue:
    """Return one setting with its origin."""
    settings = effective_settings(place.sources).settings
    return next(one for one in settings if one.key == key_of(name))


def set_setting(place: SettingsPlace, name: str, values: Sequence[str]) -> None:
    """Write a setting to the repository's git config.

    A list takes one or more values, every other setting one. Raises Invalid for a wrong value,
    NotFound for a branch or remote that does not exist, Refused for a worker.
    """
    _require_owner(place)
    text = _require_valid(place, name, values)
    place.git.run("config", "--local", "--replace-all", config_key(name), text)


def unset_setting(place: SettingsPlace, name: str) -> None:
    """Remove a setting from the repository's git config; do nothing if it is not set there.

    Raises Refused if it is set in another configuration file, for example the user's own.
    """
    _require_owner(place)
    entry = find_config(place.sources.config, name)
    if entry is None:
        return
    if entry.scope != LOCAL:
        raise Refused(
            f"{entry.key} is set outside of this repository ({label_of(entry)})",
            unset_command(entry),
            code="set_elsewhere",
        )
    file = ("--file", entry.source) if entry.source else ("--local",)  # an included file
    place.git.run("config", *file, "--unset-all", entry.key)


def _require_owner(place: SettingsPlace) -> None:
    if place.actor not in RESERVED:
        raise Refused(
            f"worker {place.actor} cannot change the settings of the repository",
            f"git worker send {HQ} <text>",
            code="not_allowed",
        )


def _require_valid(place: SettingsPlace, name: str, values: Sequence[str]) -> str:
    """Return the text of a new value; raise an error if the next command would refuse it."""
    key = key_of(name)
    if len(values) > 1 and not isinstance(Settings._field_defaults[name], tuple):
        raise Invalid(f"{key} takes one value", f"{COMMAND} {key} {join(values[:1])}", code="usage")
    text = "\n".join(values)
    value = parse_value(name, text, "the new value")
    if name == "verify_env":
        declared_environment(values, place.sources.env)
    if name == "merge_remote" and value and value not in place.remotes:
        raise NotFound(f"remote {text!r} does not exist", f"git remote add {text} <url>")
    if name == "target" and find_ref(place.git, ref_of(Branch(text))) is None:
        raise NotFound(f"branch {text!r} does not exist", _branch_hint(place.git, text))
    return text


def _branch_hint(git: Git, text: str) -> str:
    """Return the command that sets the branch with the most similar name, or makes the branch."""
    from difflib import get_close_matches  # 1 ms, only for an unknown branch

    branches = [short_name(ref) for ref in read_refs(git, [BRANCHES])]
    near = get_close_matches(text, branches, n=1)
    if near:
        return f"{COMMAND} target {quoted(near[0])}"
    is_name = git.run("check-ref-format", "--branch", text, ok=(0, 1, 128)).status == 0
    if not is_name or git.find_oid("HEAD") is None:
        return "git branch --list"
    return f"git branch {quoted(text)} && {COMMAND} target {quoted(text)}"
