"""The effective value of every setting with its origin, and the errors in the sources."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitworker.config import (
    FILE_NAME,
    Settings,
    config_key,
    is_list,
    key_of,
    parse_value,
    read_file,
    setting_names,
    suggest_keys,
    variable_of,
)
from gitworker.errors import Invalid
from gitworker.rules_text import quoted

DEFAULT = "default"
RECORDED = "recorded"
FILE = "file"
CONFIG = "config"
ENVIRONMENT = "environment"
COMMAND_SCOPE = "command"
IGNORED_SCOPE = "worktree"  # an agent could set it for itself
OURS = "worker."


class ConfigValue(NamedTuple):
    """One entry of git config: its scope (`local`), the file, the key and the text.

    The file is an absolute path; "" for the repository's own file and for `-c` and variables.
    """

    scope: str
    source: str
    key: str
    text: str


class Sources(NamedTuple):
    """Everything that determines the settings; later entries of `config` win.

    `recorded` is the target's branch in the database, "" before the first command; `target` is the
    branch whose `.gitworker.toml` has the text `file_text`.
    """

    recorded: str
    target: str
    file_text: str
    config: tuple[ConfigValue, ...]
    env: Mapping[str, str]


class SettingValue(NamedTuple):
    """A setting: its key, its value, the kind of its origin, and the origin's name."""

    key: str
    value: object
    origin: str
    source: str = ""


class SettingError(NamedTuple):
    """An error in a source, and the command that helps; a harmless one has no effect at all."""

    message: str
    hint: str
    is_harmless: bool = False


class SettingList(NamedTuple):
    """Every setting in the order of the documentation, and the errors in the sources."""

    settings: tuple[SettingValue, ...]
    errors: tuple[SettingError, ...]


def effective_settings(sources: Sources) -> SettingList:
    """Return every setting with its origin; a value with an error has no effect."""
    in_file, faults = read_file(sources.file_text)
    hint = f"git commit {FILE_NAME}   # on {sources.target}, corrected"
    errors = [
        SettingError(f"{fault}; nothing lands until it is corrected", hint) for fault in faults
    ]
    found = []
    for name in setting_names():
        key, default = key_of(name), Settings._field_defaults[name]
        value = SettingValue(key, default, DEFAULT)
        if name == "target" and sources.recorded:
            value = SettingValue(key, sources.recorded, RECORDED)
        if name in in_file:
            value = SettingValue(key, in_file[name], FILE, f"{FILE_NAME} of {sources.target}")
        for later, hint in _later_values(name, sources):
            try:
                parsed = parse_value(name, str(later.value), later.source)
            except Invalid as error:
                errors.append(SettingError(error.message, hint))
            else:
                value = later._replace(value=parsed)
        found.append(value)
    return SettingList(tuple(found), (*errors, *_without_effect(sources.config)))


def find_config(config: Sequence[ConfigValue], name: str) -> ConfigValue | None:
    """Return the entry of git config that sets a field, if any; of a list with all its values."""
    key = config_key(name)
    found = [one for one in config if one.key == key and one.scope != IGNORED_SCOPE]
    if not found or not is_list(key):
        return found[-1] if found else None
    last = found[-1]
    return last._replace(text="\n".join(one.text for one in found if one.scope == last.scope))


def unset_command(entry: ConfigValue) -> str:
    """Return the command that removes an entry."""
    if entry.scope == COMMAND_SCOPE:
        return "unset GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS   # or leave out git -c"
    place = f"--file {quoted(entry.source)}" if entry.source else "--local"
    return f"git config {place} --unset-all {entry.key}"


def label_of(entry: ConfigValue) -> str:
    """Return the name of an entry's origin: `git config, local`."""
    return f"git config, {entry.scope}" + (f": {entry.source}" if entry.source else "")


def _later_values(name: str, sources: Sources) -> list[tuple[SettingValue, str]]:
    """Return the texts in git config and the environment, and how to remove each."""
    key, found = key_of(name), []
    entry = find_config(sources.config, name)
    if entry is not None:
        value = SettingValue(key, entry.text, CONFIG, label_of(entry))
        found.append((value, unset_command(entry)))
    variable = variable_of(name)
    text = sources.env.get(variable)
    if text is not None:
        found.append((SettingValue(key, text, ENVIRONMENT, variable), f"unset {variable}"))
    return found


def _without_effect(config: Sequence[ConfigValue]) -> list[SettingError]:
    """Return the entries of git config that have no effect, though they look like settings."""
    known = {config_key(name) for name in setting_names()}
    found = []
    for entry in config:
        near = "" if entry.key in known else suggest_keys(entry.key)
        if near:  # without a similar setting it may belong to another program
            message = f"{entry.key} ({label_of(entry)}) is not a setting{near}"
            found.append(SettingError(message, unset_command(entry), is_harmless=True))
        elif entry.key in known and entry.scope == IGNORED_SCOPE:
            message = f"{entry.key} ({label_of(entry)}) has no effect: it is set for one worktree"
            found.append(SettingError(message, unset_command(entry), is_harmless=True))
    return found
