"""Settings with their origins: a later source wins, and errors are listed with their repair."""

from collections.abc import Mapping

from gitworker.config import Settings, key_of, setting_names
from gitworker.settings.effective_settings import (
    ConfigValue,
    SettingList,
    Sources,
    effective_settings,
)
from gitworker.settings.settings_text import json_settings, render_origin, render_value

OWN = ("local", "command")


def settings(
    file: str = "",
    *config: tuple[str, str, str],
    recorded: str = "",
    env: Mapping[str, str] | None = None,
) -> SettingList:
    """Return the settings of a file, of entries (scope, key, text) and of an environment."""
    entries = tuple(
        ConfigValue(scope, "" if scope in OWN else f"/{scope} file", key, text)
        for scope, key, text in config
    )
    return effective_settings(Sources(recorded, "main", file, entries, env or {}))


def shown(found: SettingList, key: str) -> tuple[str, str]:
    """Return one setting's value and origin as text."""
    (one,) = (one for one in found.settings if one.key == key)
    return render_value(one, "; "), render_origin(one)


def test_defaults() -> None:
    """Without a source every setting has its default, in the order of the documentation."""
    found = settings()
    assert found.errors == ()
    assert [one.key for one in found.settings] == [key_of(name) for name in setting_names()]
    assert {one.origin for one in found.settings} == {"default"}
    assert [one.value for one in found.settings] == [
        getattr(Settings(), name) for name in setting_names()
    ]


def test_origins() -> None:
    """The default, the file, git config and the environment follow each other."""
    file = "[merge]\nwindow = 2\n"
    config = ("local", "worker.merge.window", "3")
    user = ("global", "worker.merge.window", "4")
    env = {"GITWORKER_MERGE_WINDOW": "5"}
    key = "merge.window"
    assert shown(settings(), key) == ("8", "default")
    assert shown(settings(file), key) == ("2", ".gitworker.toml of main")
    assert shown(settings(file, user), key) == ("4", "git config, global: /global file")
    assert shown(settings(file, user, config), key) == ("3", "git config, local")
    assert shown(settings(file, config, env=env), key) == (
        "5", "environment (GITWORKER_MERGE_WINDOW)",
    )  # fmt: skip


def test_the_recorded_target() -> None:
    """The target is the recorded branch unless a setting names another one."""
    assert shown(settings(recorded="trunk"), "target") == ("trunk", "recorded")
    named = settings("", ("local", "worker.target", "next"), recorded="trunk")
    assert shown(named, "target") == ("next", "git config, local")


def test_values_as_text() -> None:
    """A list has one item a line or in a row, a truth value is written as git writes it."""
    found = settings("[verify]\ncommands = ['a', 'b']\n")
    assert shown(found, "verify.commands")[0] == "a; b"
    assert shown(found, "review.required")[0] == "true"
    document = json_settings(found)
    (one,) = (row for row in document["settings"] if row["key"] == "verify.commands")
    assert one == {
        "key": "verify.commands", "value": ["a", "b"], "origin": "file",
        "source": ".gitworker.toml of main",
    }  # fmt: skip


def test_a_wrong_value_has_no_effect() -> None:
    """A wrong value is an error with the command that removes it; the next source counts."""
    found = settings(
        "[claims]\nlease_s = 7\n", ("global", "worker.claims.lease-s", "soon"),
        env={"GITWORKER_MERGE_WINDOW": "0"},
    )  # fmt: skip
    assert shown(found, "claims.lease_s") == ("7", ".gitworker.toml of main")
    assert [tuple(one) for one in found.errors] == [
        ("git config, global: /global file: claims.lease_s is 'soon', not a whole number",
         "git config --file '/global file' --unset-all worker.claims.lease-s", False),
        ("GITWORKER_MERGE_WINDOW: merge.window is 0; it must be at least 1",
         "unset GITWORKER_MERGE_WINDOW", False),
    ]  # fmt: skip


def test_an_error_in_the_file() -> None:
    """An error in the target's file names the consequence and the commit that corrects it."""
    (error,) = settings("[merge]\nwindw = 1\n").errors
    assert error.message == (
        ".gitworker.toml of the target has an unknown setting: merge.windw; did you mean"
        " merge.window?; nothing lands until it is corrected"
    )
    assert error.hint == "git commit .gitworker.toml   # on main, corrected"
    assert not error.is_harmless


def test_entries_without_effect() -> None:
    """A mistyped key and a setting of one worktree are named; keys of other programs are not."""
    found = settings(
        "", ("local", "worker.merge.windw", "1"), ("local", "worker.other-program", "1"),
        ("worktree", "worker.review.self", "true"),
    )  # fmt: skip
    assert shown(found, "review.self") == ("false", "default")
    assert [tuple(one) for one in found.errors] == [
        ("worker.merge.windw (git config, local) is not a setting; did you mean merge.window?",
         "git config --local --unset-all worker.merge.windw", True),
        ("worker.review.self (git config, worktree: /worktree file) has no effect: it is set for"
         " one worktree",
         "git config --file '/worktree file' --unset-all worker.review.self", True),
    ]  # fmt: skip


def test_a_value_of_the_command_line() -> None:
    """A value of `git -c` or of a variable is removed where it was given."""
    (error,) = settings("", ("command", "worker.gc.days", "soon")).errors
    assert error.message == "git config, command: gc.days is 'soon', not a whole number"
    assert error.hint.startswith("unset GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS ")


def test_several_values_of_a_list() -> None:
    """All values of the last scope make a list; of another setting the last one counts."""
    first, second = (("local", "worker.verify.commands", text) for text in ("make a", "make b"))
    other = ("global", "worker.verify.commands", "make c")
    found = settings("", other, first, second)
    assert shown(found, "verify.commands") == ("make a; make b", "git config, local")
    windows = (("local", "worker.merge.window", text) for text in ("3", "4"))
    assert shown(settings("", *windows), "merge.window") == ("4", "git config, local")
