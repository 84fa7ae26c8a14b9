"""The settings: defaults < `.gitworker.toml` of the target's commit < git config < environment.

Pure: the caller passes the file's text, git's answers and the environment. A key `room.name` is
`[room] name` in the file, `worker.<room>.<name>` in git config (with `-` for `_`, since git allows
no underscore there) and `GITWORKER_<ROOM>_<NAME>` in the environment. A list is an array of strings
in the file; elsewhere it has one item a line.
"""

from collections.abc import Mapping
from typing import NamedTuple

from gitworker.errors import Invalid


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
    radar_enabled: bool = True
    radar_delay_s: int = 2
    from_file: tuple[str, ...] = ()  # keys whose value comes from the repository, not the user


ROOMS = (
    "worktree", "checkout", "review", "task", "liveness", "agent", "claims", "message", "retention",
    "verify", "merge", "gc", "radar",
)  # fmt: skip
AT_LEAST_ONE = ("merge_window", "merge_parallel", "liveness_beat_s", "claims_lease_s")
FILE_NAME = ".gitworker.toml"


def load_settings(
    *, file_text: str | None, git_config: Mapping[str, str], env: Mapping[str, str]
) -> Settings:
    """Return the settings from all sources.

    `git_config` maps lower-case `worker.…` keys to values. Raises Invalid for an unknown key in
    the file and for a value of the wrong type anywhere.
    """
    found: dict[str, object] = {}
    if file_text:
        found.update(_from_file(file_text))
    from_file = set(found)
    for name in _names():
        dotted = key_of(name)
        text = git_config.get("worker." + dotted.replace("_", "-"))
        if text is not None:
            found[name] = _parse(name, text, f"git config worker.{dotted.replace('_', '-')}")
            from_file.discard(name)
        text = env.get("GITWORKER_" + dotted.replace(".", "_").upper())
        if text is not None:
            found[name] = _parse(name, text, "environment")
            from_file.discard(name)
    found["from_file"] = tuple(sorted(from_file))
    return Settings(**found)  # type: ignore[arg-type]


def key_of(name: str) -> str:
    """Return the dotted key of a field: `review_self` is `review.self`."""
    room, _, rest = name.partition("_")
    return f"{room}.{rest}" if room in ROOMS and rest else name


def _names() -> list[str]:
    return [name for name in Settings._fields if name != "from_file"]


def _from_file(text: str) -> dict[str, object]:
    import tomllib  # 8 ms, only if the repository has the file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{FILE_NAME} of the target is not valid TOML: {error}") from error
    found: dict[str, object] = {}
    flat: dict[str, object] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    by_key = {key_of(name): name for name in _names()}
    for dotted, value in flat.items():
        name = by_key.get(dotted)
        if name is None or name == "target":  # a file that is read from the target cannot name it
            raise Invalid(f"{FILE_NAME} of the target has an unknown setting: {dotted}")
        kind = type(getattr(Settings(), name))
        if kind is tuple and isinstance(value, list) and all(type(item) is str for item in value):
            value = tuple(value)
        if type(value) is not kind:
            wanted = "an array of strings" if kind is tuple else f"of type {kind.__name__}"
            raise Invalid(f"{FILE_NAME} of the target: {dotted} must be {wanted}")
        found[name] = _checked(name, value, f"{FILE_NAME} of the target")
    return found


def _parse(name: str, text: str, origin: str) -> object:
    default = getattr(Settings(), name)
    if isinstance(default, bool):
        lowered = text.lower()
        if lowered in ("true", "yes", "on", "1"):
            return True
        if lowered in ("false", "no", "off", "0", ""):
            return False
        raise Invalid(f"{origin}: {key_of(name)} is {text!r}, which is neither true nor false")
    if isinstance(default, int):
        try:
            value = int(text)
        except ValueError:
            raise Invalid(f"{origin}: {key_of(name)} is {text!r}, not a whole number") from None
        return _checked(name, value, origin)
    if isinstance(default, tuple):
        return _checked(name, tuple(line for line in text.split("\n") if line.strip()), origin)
    return _checked(name, text, origin)


def _checked(name: str, value: object, origin: str) -> object:
    """Return a value of the right type; raise Invalid if it is out of range."""
    if isinstance(value, int) and value < 0:
        raise Invalid(f"{origin}: {key_of(name)} is {value}; it cannot be negative")
    if isinstance(value, tuple) and any("\0" in item for item in value):
        raise Invalid(f"{origin}: {key_of(name)} has a NUL byte")
    if name in AT_LEAST_ONE and value == 0:
        raise Invalid(f"{origin}: {key_of(name)} is 0; it must be at least 1")
    if name == "worktree_root":
        left = str(value).replace("{repository}", "")
        if "{" in left or "}" in left:
            raise Invalid(
                f"{origin}: {key_of(name)} is {value!r}; it may only refer to '{{repository}}'"
            )
    return value
