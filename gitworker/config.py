"""The settings: defaults < `.gitworker.toml` of the target's commit < git config < environment.

Pure: the caller passes the file's text, git's answers and the environment. A key `room.name` is
`[room] name` in the file, `worker.<room>.<name>` in git config (with `-` for `_`, since git allows
no underscore there) and `GITWORKER_<ROOM>_<NAME>` in the environment. A list is an array of strings
in the file; elsewhere it has one item a line.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gitworker.errors import Invalid
from gitworker.rules_text import is_url


class InvalidSetting(Invalid):
    """A source of the settings has an error; `git worker config` names each with its repair."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "git worker config")


class Settings(NamedTuple):
    """Every setting with its default; times are seconds, sizes bytes."""

    target: str = ""  # empty: as recorded; at first main, else init.defaultBranch, else master
    worktree_root: str = "{repository}/worktrees"
    checkout_workers: int = 0  # 0: git's own setting
    review_required: bool = True
    review_self: bool = False
    task_max_retries: int = 3
    task_retry_delay_s: int = 60
    liveness_beat_s: int = 10
    liveness_warn_s: int = 30
    liveness_stale_s: int = 100
    liveness_dead_s: int = 300
    liveness_expire_s: int = 900
    liveness_review_s: int = 3600
    agent_stop_grace_s: int = 10
    agent_log_max_bytes: int = 16 * 1024 * 1024
    agent_hand_in: bool = False  # at the end of a turn, an agent's hook hands in committed work
    agents_auto_resume: bool = False
    agents_rounds: int = 3
    agents_limits: tuple[str, ...] = ()  # NAME=NUMBER: agents of one kind at once
    agents_prices: tuple[str, ...] = ()  # NAME=INPUT/OUTPUT[/CACHED]: dollars per million tokens
    claims_lease_s: int = 60
    message_max_bytes: int = 16 * 1024 * 1024
    message_max_unread: int = 10_000
    message_max_rate: int = 1000
    retention_days: int = 30
    retention_archive: bool = True
    verify_commands: tuple[str, ...] = ()
    verify_timeout_s: int = 1800
    verify_env: tuple[str, ...] = ()  # NAME=value, or NAME: the value of the caller
    verify_keep: tuple[str, ...] = ()  # patterns of ignored paths that stay between runs
    verify_retry_flaky: bool = False
    merge_remote: str = ""  # empty: the target is local
    merge_remote_timeout_s: int = 900  # of one push or fetch, a pre-push hook included; 0: none
    merge_window: int = 8
    merge_parallel: int = 1
    worktree_pool: int = 0  # the number of worktrees kept ready
    worktree_reuse: bool = True  # with a pool: landed worktrees return to it with their caches
    worktree_spare_bytes: int = 256 * 1024 * 1024  # free space that a new worktree must leave
    worktree_copy: tuple[str, ...] = ()
    worktree_link: tuple[str, ...] = ()
    worktree_setup: tuple[str, ...] = ()
    worktree_setup_timeout_s: int = 600
    gc_daily: bool = True
    gc_days: int = 7
    gc_max_bytes: int = 0  # of trash, verify worktrees and logs; 0: no budget
    orchestrator_avoid_overlap: bool = True
    orchestrator_quiet_hours: str = ""  # HH:MM-HH:MM, local time; empty: none
    notify_urls: tuple[str, ...] = ()  # of Apprise; they hold secrets, so the file cannot set them
    notify_events: tuple[str, ...] = ("question", "failure", "review", "budget")
    fleet_push_commits: bool = False  # in a fleet, each commit and not only what is handed in
    radar_enabled: bool = True
    radar_delay_s: int = 2
    from_file: tuple[str, ...] = ()  # keys whose value comes from the repository, not the user
    file_faults: tuple[str, ...] = ()  # errors in the repository's file; it counts without them
    adapters: tuple[str, ...] = ()  # tables [agents.NAME] of the file, each as JSON {NAME: table}


NOT_SETTINGS = ("from_file", "file_faults", "adapters")  # fields about the origin of the others
ROOMS = (
    "worktree", "checkout", "review", "task", "liveness", "agent", "agents", "claims", "message",
    "retention", "verify", "merge", "gc", "radar", "orchestrator",
    "notify", "fleet",
)  # fmt: skip
# A file that is read from the target cannot name the target, and a commit sends nothing anywhere.
NOT_IN_FILE = ("target", "notify_urls", "fleet_push_commits")
SECRET = frozenset({"notify.urls"})  # only the scheme of each value is shown
NUMBER_MAX = 10**9
BYTES_MAX = 10**15
AT_LEAST_ONE = ("merge_window", "merge_parallel", "liveness_beat_s", "claims_lease_s")
FILE_NAME = ".gitworker.toml"
HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d")


def load_settings(
    *, file_text: str | None, git_config: Mapping[str, str], env: Mapping[str, str]
) -> Settings:
    """Return the settings from all sources, with the errors of the file in `file_faults`.

    `git_config` maps lower-case `worker.…` keys to values. Raises Invalid for a value of the wrong
    type in git config or the environment, which the caller can correct.
    """
    found, faults = read_file(file_text or "")
    from_file = set(found)
    for name in setting_names():
        for text, origin in (
            (git_config.get(config_key(name)), f"git config {config_key(name)}"),
            (env.get(variable_of(name)), "environment"),
        ):
            if text is not None:
                found[name] = parse_value(name, text, origin)
                from_file.discard(name)
    found["from_file"] = tuple(sorted(from_file))
    found["file_faults"] = tuple(faults)
    return Settings(**found)  # type: ignore[arg-type]


def on_only_remote(
    settings: Settings, git_config: Mapping[str, str], *, in_fleet: bool
) -> Settings:
    """Return the settings with the remote on which a machine of a fleet lands.

    Without the setting it is the only one that git knows; none is chosen of several.
    """
    found = [key for key in git_config if key.startswith("remote.") and key.endswith(".url")]
    if not in_fleet or settings.merge_remote or len(found) != 1:
        return settings
    return settings._replace(merge_remote=found[0].removeprefix("remote.").removesuffix(".url"))


def key_of(name: str) -> str:
    """Return the dotted key of a field: `review_self` is `review.self`."""
    room, _, rest = name.partition("_")
    return f"{room}.{rest}" if room in ROOMS and rest else name


def config_key(name: str) -> str:
    """Return a field's key in git config: `worker.review.self`."""
    return "worker." + key_of(name).replace("_", "-")


def variable_of(name: str) -> str:
    """Return a field's environment variable: `GITWORKER_REVIEW_SELF`."""
    return f"GITWORKER_{name.upper()}"


def setting_names() -> list[str]:
    """Return the field of every setting."""
    return [name for name in Settings._fields if name not in NOT_SETTINGS]


def is_list(key: str) -> bool:
    """Return whether a key of git config is that of a list; its values in one scope are joined."""
    return any(
        config_key(name) == key and isinstance(Settings._field_defaults[name], tuple)
        for name in setting_names()
    )


def find_setting(text: str) -> str | None:
    """Return the field that a key means, with or without `worker.`, `-` or `_`, in any case."""
    key = text.lower().removeprefix("worker.").replace("-", "_")
    return next((name for name in setting_names() if key_of(name) == key), None)


def suggest_keys(text: str) -> str:
    """Return an addition to the message about an unknown key: the most similar key, if any."""
    from difflib import get_close_matches  # 1 ms, only for an unknown key

    key = text.lower().removeprefix("worker.").replace("-", "_")
    near = get_close_matches(key, [key_of(name) for name in setting_names()], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def read_file(text: str) -> tuple[dict[str, object], list[str]]:
    """Return the values in the text of `.gitworker.toml`, and a sentence for each error in it."""
    if not text:
        return {}, []
    import tomllib  # 8 ms, only if the repository has the file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {}, [f"{FILE_NAME} of the target is not valid TOML: {error}"]
    flat: dict[str, object] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            inside = {inner: item for inner, item in value.items() if not _is_adapter(key, item)}
            flat.update({f"{key}.{inner}": item for inner, item in inside.items()})
        else:
            flat[key] = value
    found: dict[str, object] = {}
    if adapters := _adapter_texts(document.get("agents")):
        found["adapters"] = adapters
    faults = []
    for dotted, value in flat.items():
        try:
            name, found_value = _file_value(dotted, value)
        except InvalidSetting as error:
            faults.append(error.message)
        else:
            found[name] = found_value
    return found, faults


def _is_adapter(room: str, value: object) -> bool:
    """Return whether a value is a table about one agent, which is read when that agent starts."""
    return room == "agents" and isinstance(value, dict)


def _adapter_texts(room: object) -> tuple[str, ...]:
    """Return the tables about agents as JSON, which is the text that a person trusts."""
    import json  # 1 ms, only with such a table

    tables = room.items() if isinstance(room, dict) else ()
    return tuple(
        json.dumps({name: table}, ensure_ascii=False, default=str, sort_keys=True)
        for name, table in tables
        if isinstance(table, dict)
    )


def _file_value(dotted: str, value: object) -> tuple[str, object]:
    name = next((name for name in setting_names() if key_of(name) == dotted), None)
    if name is None or name in NOT_IN_FILE:
        near = suggest_keys(dotted) if name is None else ""
        if dotted in SECRET:
            raise InvalidSetting(f"{FILE_NAME} of the target cannot set {dotted}; git config can")
        raise InvalidSetting(f"{FILE_NAME} of the target has an unknown setting: {dotted}{near}")
    kind = type(getattr(Settings(), name))
    if kind is tuple and isinstance(value, list) and all(type(item) is str for item in value):
        value = tuple(value)
    if type(value) is not kind:
        wanted = "an array of strings" if kind is tuple else f"of type {kind.__name__}"
        raise InvalidSetting(f"{FILE_NAME} of the target: {dotted} must be {wanted}")
    return name, _checked(name, value, f"{FILE_NAME} of the target")


def parse_value(name: str, text: str, origin: str) -> object:
    """Return a setting's value from its text; raise Invalid, with `origin`, if it is wrong."""
    default = getattr(Settings(), name)
    if isinstance(default, bool):
        lowered = text.lower()
        if lowered in ("true", "yes", "on", "1"):
            return True
        if lowered in ("false", "no", "off", "0", ""):
            return False
        raise InvalidSetting(
            f"{origin}: {key_of(name)} is {text!r}, which is neither true nor false"
        )
    if isinstance(default, int):
        try:
            value = int(text)
        except ValueError:
            raise InvalidSetting(
                f"{origin}: {key_of(name)} is {text!r}, not a whole number"
            ) from None
        return _checked(name, value, origin)
    if isinstance(default, tuple):
        return _checked(name, tuple(line for line in text.split("\n") if line.strip()), origin)
    return _checked(name, text, origin)


def _checked(name: str, value: object, origin: str) -> object:
    """Return a value of the right type; raise Invalid if it is out of range."""
    if isinstance(value, int) and value < 0:
        raise InvalidSetting(f"{origin}: {key_of(name)} is {value}; it cannot be negative")
    most = BYTES_MAX if name.endswith("_bytes") else NUMBER_MAX
    if isinstance(value, int) and value > most:
        raise InvalidSetting(f"{origin}: {key_of(name)} is {value}; it can be {most} at most")
    if isinstance(value, tuple) and any("\0" in item for item in value):
        raise InvalidSetting(f"{origin}: {key_of(name)} has a NUL byte")
    if name == "agents_limits" and isinstance(value, tuple):
        _require_type_limits(value, origin)
    if name == "agents_prices" and value and isinstance(value, tuple):
        _require_prices(value, origin)
    if name == "orchestrator_quiet_hours" and value and not HOURS.fullmatch(str(value)):
        raise InvalidSetting(f"{origin}: {key_of(name)} is {value!r}, not HH:MM-HH:MM")
    if name == "notify_urls" and isinstance(value, tuple) and not all(map(is_url, value)):
        raise InvalidSetting(f"{origin}: {key_of(name)} has a line that is not a URL of Apprise")
    if name == "notify_events" and isinstance(value, tuple):
        for event in sorted(set(value).difference(Settings().notify_events)):
            raise InvalidSetting(f"{origin}: {key_of(name)} has {event!r}, which is not an event")
    if name in AT_LEAST_ONE and value == 0:
        raise InvalidSetting(f"{origin}: {key_of(name)} is 0; it must be at least 1")
    if name == "worktree_root":
        left = str(value).replace("{repository}", "")
        if "{" in left or "}" in left:
            raise InvalidSetting(
                f"{origin}: {key_of(name)} is {value!r}; it may only refer to '{{repository}}'"
            )
    return value


def _require_prices(lines: tuple[str, ...], origin: str) -> None:
    from gitworker.model.tokens.prices import parse_prices  # 1 ms, only with prices

    try:
        parse_prices(lines)
    except ValueError as error:
        raise InvalidSetting(
            f"{origin}: agents.prices has {str(error)!r}, which is not NAME=INPUT/OUTPUT/CACHED"
        ) from None


def _require_type_limits(lines: tuple[str, ...], origin: str) -> None:
    """Raise Invalid unless each line is NAME=NUMBER."""
    for line in lines:
        name, equals, number = line.partition("=")
        if not (name and not set(name) & set(" \t") and equals and number.isdecimal()):
            raise InvalidSetting(f"{origin}: agents.limits has {line!r}, which is not NAME=NUMBER")
