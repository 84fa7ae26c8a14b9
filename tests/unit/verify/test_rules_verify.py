"""The inputs of a verify run, and the texts about its end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.errors import Invalid
from gitworker.verify.rules_verify import (
    command_environment,
    declared_environment,
    flood_reason,
    header_text,
    run_key,
    status_reason,
    timeout_reason,
    trust_hash,
    trust_refusal,
    verdict_text,
)

TREE = "a" * 40


def test_declarations() -> None:
    """NAME=value sets a value, NAME takes the present one, and a later entry of a name wins."""
    found = declared_environment(
        ["CI=1", "EMPTY=", "HOME", "UNSET", "A=b=c", "CI=2"], {"HOME": "/root", "CI": "0"}
    )
    assert found == {"CI": "2", "EMPTY": "", "HOME": "/root", "UNSET": None, "A": "b=c"}


@pytest.mark.parametrize("entry", ["", "=value"])
def test_a_declaration_needs_a_name(entry: str) -> None:
    """An entry without a name is refused, not skipped."""
    with pytest.raises(Invalid, match="without a name"):
        declared_environment([entry], {})


def test_environment() -> None:
    """Commands get our environment without git's variables, changed by the declarations."""
    current = {
        "PATH": "/bin", "GIT_DIR": "/x", "GIT_AUTHOR_NAME": "Ada", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "a", "GIT_CONFIG_VALUE_0": "b", "GIT_CONFIG_PARAMETERS": "c",
        "UNSET": "here", "PWD": "/elsewhere",
    }  # fmt: skip
    env = command_environment(
        current, {"CI": "1", "UNSET": None}, tree="/tree", scrubbed={"GIT_DIR"}
    )
    assert env == {
        "PATH": "/bin", "GIT_AUTHOR_NAME": "Ada", "CI": "1", "GITWORKER_VERIFY": "1",
        "GITWORKER_VERIFY_TREE": "/tree", "PWD": "/tree",
    }  # fmt: skip


def test_a_key_is_of_tree_commands_and_declarations() -> None:
    """Each part changes the key, but the order of declarations does not."""
    declared = {"CI": "1", "HOME": None}
    key = run_key(TREE, ["make"], declared)
    assert key == run_key(TREE, ("make",), {"HOME": None, "CI": "1"})
    others = {
        run_key("b" * 40, ["make"], declared),
        run_key(TREE, ["make", ""], declared),
        run_key(TREE, ["make test"], declared),
        run_key(TREE, ["make"], {"CI": "1", "HOME": ""}),
        run_key(TREE, ["make"], {"CI": "1"}),
    }
    assert len(others | {key}) == 6


@given(st.lists(st.text()), st.lists(st.text()), st.lists(st.text()), st.lists(st.text()))
def test_trust_is_of_exact_content(
    commands: list[str], env: list[str], others: list[str], other_env: list[str]
) -> None:
    """Two hashes are equal only if kind, commands and declarations are."""
    same = (commands, env) == (others, other_env)
    assert (trust_hash("verify", commands, env) == trust_hash("verify", others, other_env)) is same
    assert trust_hash("verify", commands, env) != trust_hash("setup", commands, env)


def test_bytes_that_are_not_utf8_have_a_hash() -> None:
    """An environment value that is not UTF-8 is hashed as bytes."""
    assert run_key(TREE, ["x"], {"A": "\udcff"}) != run_key(TREE, ["x"], {"A": "\ufffd"})


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("make test", "`make test` ended with status 2"),
        ("set -e\nmake", "`set -e…` ended with status 2"),
        ("x" * 81, f"`{'x' * 80}…` ended with status 2"),
        ("a\x1b[2Jb\u202ec", "`a\\x1b[2Jb\\u202ec` ended with status 2"),
        ("  \n", "`` ended with status 2"),
        ("TOKEN=abc123 make", "`TOKEN=[redacted] make` ended with status 2"),
    ],
)
def test_reasons(command: str, shown: str) -> None:
    """A reason is one short line without control characters and secrets."""
    assert status_reason(command, 2) == shown


def test_other_reasons() -> None:
    """A signal, the time limit and a flood of output are named."""
    assert status_reason("make", -9) == "`make` was killed by signal 9"
    assert timeout_reason("make", 1800) == "`make` took longer than 1800 s"
    assert flood_reason("make", 3 << 20) == "`make` wrote more than 3 MiB of output"


def test_header_and_last_line() -> None:
    """A log begins with its commit and ends with the verdict."""
    head = header_text(
        commit="c", tree="t", label="auth, +3", started="now", commands=["a\nb", "c"]
    )
    assert head == (
        "commit   c  (auth, +3)\ntree     t\nstarted  now\ncommands\n    a\n    b\n    c\n"
    )
    assert header_text(commit="c", tree="t", label="", started="", commands=[]).startswith(
        "commit   c\n"
    )
    assert verdict_text("passed", 3210) == "passed after 3.2 s"
    assert verdict_text("failed", 0, "why") == "failed after 0.0 s: why"


def test_permission_to_trust() -> None:
    """A worker may not trust commands unless workers may judge themselves."""
    assert trust_refusal("hq", self_review=False) is None
    assert trust_refusal("auth", self_review=True) is None
    refusal = trust_refusal("auth", self_review=False)
    assert refusal is not None
    assert refusal.code == "not_allowed"
