"""Settings: defaults < the target's file < git config < environment, each value checked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.config import (
    NOT_IN_FILE,
    NOT_SETTINGS,
    Settings,
    find_setting,
    key_of,
    load_settings,
)
from gitworker.errors import Invalid


def load(
    file: str | None = None,
    config: dict[str, str] | None = None,
    env: dict[str, str] | None = None,
) -> Settings:
    """Load settings from the given sources."""
    return load_settings(file_text=file, git_config=config or {}, env=env or {})


def test_defaults() -> None:
    """Without any source, and with an empty file, the defaults hold."""
    assert load() == load("") == load("# nothing\n") == Settings()


def test_precedence() -> None:
    """The environment wins over git config, git config over the file, the file over the default."""
    file = "[claims]\nlease_s = 1\n"
    config = {"worker.claims.lease-s": "2"}
    env = {"GITWORKER_CLAIMS_LEASE_S": "3"}
    assert load().claims_lease_s == 60
    assert load(file).claims_lease_s == 1
    assert load(file, config).claims_lease_s == 2
    assert load(file, config, env).claims_lease_s == 3
    assert load(None, config).claims_lease_s == 2


FORMS = {
    "agents_limits": "x=1", "orchestrator_quiet_hours": "22:00-07:00", "notify_urls": "json://x",
    "notify_events": "review", "agents_prices": "x=1/2",
}  # fmt: skip


def test_every_setting_has_its_three_names() -> None:
    """Each field is reached from git config and the environment, and but for two from the file."""
    for field, default in Settings._field_defaults.items():
        if field in ("target", *NOT_SETTINGS):
            continue
        dotted = key_of(field)
        room, dot, name = dotted.rpartition(".")
        kinds = {"str": "x", "int": "7", "bool": "false", "tuple": "x"}
        value = FORMS.get(field, kinds[type(default).__name__])
        shown = {"str": f'"{value}"', "tuple": f'["{value}"]'}.get(type(default).__name__, value)
        file = f"[{room}]\n{name} = {shown}\n" if dot else f"{name} = {shown}\n"
        config = {f"worker.{dotted.replace('_', '-')}": value}
        env = {f"GITWORKER_{dotted.replace('.', '_').upper()}": value}
        in_file = [(file, {}, {})] if field not in NOT_IN_FILE else []
        found = {getattr(load(*source), field) for source in
                 (*in_file, (None, config, {}), (None, {}, env))}  # fmt: skip
        assert len(found) == 1, dotted


def test_limits_of_kinds_of_agents() -> None:
    """Each line of agents.limits is NAME=NUMBER."""
    assert load('[agents]\nlimits = ["claude=2", "command=1"]').agents_limits[1] == "command=1"
    for line in ("claude", "claude=x", "=2", "my agent=2"):
        with pytest.raises(Invalid, match="is not NAME=NUMBER"):
            load(None, {"worker.agents.limits": line})


def test_prices() -> None:
    """Each line of agents.prices is NAME=INPUT/OUTPUT, or has a price of the cache, too."""
    lines = ("claude=3/15/0.3", "codex=1.25/10")
    assert load(f'[agents]\nprices = ["{lines[0]}", "{lines[1]}"]').agents_prices == lines
    assert load(None, {"worker.agents.prices": ""}).agents_prices == ()
    for line in ("claude", "claude=3", "claude=a/b"):
        with pytest.raises(Invalid, match="is not NAME=INPUT/OUTPUT/CACHED"):
            load(None, {"worker.agents.prices": line})


def test_quiet_hours() -> None:
    """Quiet hours are two times of the day."""
    assert load(None, {}, {"GITWORKER_ORCHESTRATOR_QUIET_HOURS": ""}).orchestrator_quiet_hours == ""
    for text in ("22-7", "24:00-07:00", "22:00"):
        with pytest.raises(Invalid, match="HH:MM-HH:MM"):
            load(None, {"worker.orchestrator.quiet-hours": text})


def test_lists() -> None:
    """A list is an array of strings in the file, and a line for each item elsewhere."""
    file = '[verify]\ncommands = ["make", "make lint"]\n'
    assert load(file).verify_commands == ("make", "make lint")
    config = {"worker.verify.commands": "make\n\nmake test\n"}
    assert load(file, config).verify_commands == ("make", "make test")
    assert load(file, config, {"GITWORKER_VERIFY_COMMANDS": ""}).verify_commands == ()


def test_the_origin_of_a_setting() -> None:
    """A setting counts as the repository's only if no setting of the user replaces it."""
    file = '[verify]\ncommands = ["make"]\n[merge]\nwindow = 4\n'
    assert load(file).from_file == ("merge_window", "verify_commands")
    assert load(file, {"worker.verify.commands": "make"}).from_file == ("merge_window",)
    assert load(file, {}, {"GITWORKER_MERGE_WINDOW": "4"}).from_file == ("verify_commands",)
    assert load().from_file == ()


@pytest.mark.parametrize("file", [
    '[verify]\ncommands = "make"\n', "[verify]\ncommands = [1]\n", '[merge]\nwindow = 0\n',
    '[merge]\nparallel = 0\n', '[verify]\ncommands = ["a\\u0000b"]\n', 'from_file = ["x"]\n',
])  # fmt: skip
def test_invalid_settings_of_landing(file: str) -> None:
    """A value that is not a list, an empty window and a NUL byte are errors without effect."""
    found = load(file)
    assert len(found.file_faults) == 1
    assert found._replace(file_faults=()) == Settings()


@pytest.mark.parametrize(("key", "dotted"), [
    ("target", "target"), ("review_self", "review.self"), ("liveness_stale_s", "liveness.stale_s"),
    ("task_max_retries", "task.max_retries"),
])  # fmt: skip
def test_keys(key: str, dotted: str) -> None:
    """The section is the part before the first underscore, if there is such a section."""
    assert key_of(key) == dotted


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("Yes", True), ("ON", True), ("1", True),
     ("false", False), ("no", False), ("off", False), ("0", False), ("", False)],
)  # fmt: skip
def test_truth_as_git_writes_it(text: str, value: bool) -> None:
    """A boolean is written in any of git's ways."""
    assert load(config={"worker.review.required": text}).review_required is value


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ("[review\n", "not valid TOML"),
        ("[review]\nunknown = 1\n", "unknown setting: review.unknown"),
        ("nonsense = 1\n", "unknown setting: nonsense"),
        ("review = 1\n", "unknown setting: review"),
        ("[review]\nself = 1\n", "review.self must be of type bool"),
        ("[claims]\nlease_s = true\n", "claims.lease_s must be of type int"),
        ("[claims]\nlease_s = 1.5\n", "claims.lease_s must be of type int"),
        ("[claims]\nlease_s = -1\n", "cannot be negative"),
        ("[task]\nmax_retries = 1000000001\n", "it can be 1000000000 at most"),
        ("[message]\nmax_bytes = 1000000000000001\n", "it can be 1000000000000000 at most"),
        ("[claims]\nlease_s = 0\n", "claims.lease_s is 0; it must be at least 1"),
        ("[liveness]\nbeat_s = 0\n", "liveness.beat_s is 0; it must be at least 1"),
        ('target = "trunk"\n', "unknown setting: target"),
        ('[notify]\nurls = ["json://x"]\n', "cannot set notify.urls"),
        ('[notify]\nevents = ["other"]\n', "'other', which is not an event"),
        ('[worktree]\nroot = "{home}/w"\n', "worktree.root"),
        ('[worktree]\nroot = "{repository"\n', "worktree.root"),
    ],
)
def test_bad_files(file: str, complaint: str) -> None:
    """A wrong file is read without its faulty parts, and each error names its key or line."""
    found = load(file)
    (fault,) = found.file_faults
    assert complaint in fault
    assert ".gitworker.toml" in fault
    assert found._replace(file_faults=()) == Settings()


def test_the_right_part_of_a_wrong_file_counts() -> None:
    """An error in the file has no effect on its other settings, and a similar key is named."""
    file = '[verify]\ncommand = ["make"]\ntimeout_s = 5\n[claims]\nlease_s = -1\n'
    found = load(file)
    assert (found.verify_timeout_s, found.from_file) == (5, ("verify_timeout_s",))
    assert found.file_faults == (
        ".gitworker.toml of the target has an unknown setting: verify.command;"
        " did you mean verify.commands?",
        ".gitworker.toml of the target: claims.lease_s is -1; it cannot be negative",
    )


@pytest.mark.parametrize("text", [
    "task.max_retries", "task.max-retries", "worker.task.max-retries", "Task.Max_Retries",
])  # fmt: skip
def test_a_key_in_any_form(text: str) -> None:
    """A setting is found by its key as the file, git config or a person writes it."""
    assert find_setting(text) == "task_max_retries"
    assert find_setting(f"x{text}") is None


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("claims.lease-s", "soon"),
        ("claims.lease-s", "-1"),
        ("claims.lease-s", "1.5"),
        ("task.max-retries", "99999999999999999999"),
        ("claims.lease-s", ""),
        ("review.self", "perhaps"),
        ("notify.urls", "no url"),
        ("notify.urls", "json://x y"),
        ("notify.events", "question\nother"),
        ("worktree.root", "{0}"),
        ("worktree.root", "{repository.x}"),
    ],
)
def test_bad_values(key: str, text: str) -> None:
    """A bad value in git config or the environment is refused with its key."""
    name = "GITWORKER_" + key.replace(".", "_").replace("-", "_").upper()
    for config, env in (({f"worker.{key}": text}, {}), ({}, {name: text})):
        with pytest.raises(Invalid) as caught:
            load(config=config, env=env)
        assert key.replace("-", "_") in caught.value.message


@given(st.text(), st.text())
def test_other_settings_are_not_ours(key: str, value: str) -> None:
    """Keys of git or of another program change nothing and are not checked."""
    assert load(config={f"user.{key}": value, f"worker.x.{key}": value}) == Settings()
    assert load(env={f"GIT_{key}": value, "GITWORKER_CLOCK_MS": value}) == Settings()


def test_tables_of_agents() -> None:
    """Tables about agents are kept as text that can be trusted; other keys remain settings."""
    settings = load("[agents]\nx = 1\n[agents.own]\ncommand = ['own', 'é']\n")
    assert settings.adapters == ('{"own": {"command": ["own", "é"]}}',)
    assert "adapters" in settings.from_file
    (fault,) = settings.file_faults
    assert fault.startswith(".gitworker.toml of the target has an unknown setting: agents.x")
