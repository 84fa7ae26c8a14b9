"""Options of hot verbs: plainly valid ones are read, others are left to click."""

import pytest

from gitworker.cli.hot import run_hot
from gitworker.cli.hot.words import FLAG, split_words
from gitworker.cli.options import parse_worker_name
from gitworker.errors import Invalid

OPTIONS = {"--to": "A", "--no-ack": FLAG}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ({}, [])),
        (["a", "-", "b"], ({}, ["a", "-", "b"])),
        (["--to", "x", "a"], ({"--to": "x"}, ["a"])),
        (["--to=x=y"], ({"--to": "x=y"}, [])),
        (["--to="], ({"--to": ""}, [])),
        (["--to", "--no-ack"], ({"--to": "--no-ack"}, [])),
        (["--no-ack", "a"], ({"--no-ack": "--no-ack"}, ["a"])),
        (["--to"], None),
        (["--unknown"], None),
        (["-h"], None),
        (["--help"], None),
        (["--"], None),
        (["--no-ack=1"], None),
        (["--json"], None),
    ],
)
def test_split_words(words: list[str], expected: object) -> None:
    """Options with values and flags are split off; others are not judged here."""
    assert split_words(words, OPTIONS) == expected


@pytest.mark.parametrize(
    "words", [[], ["status"], ["msg"], ["msg", "follow"], ["-C", "x", "heartbeat"]]
)
def test_other_commands(words: list[str]) -> None:
    """Other commands are left to click."""
    assert run_hot(words) is None


@pytest.mark.parametrize("name", ["auth", "T.1_x", "auth/t1", "refs/heads/auth/t1"])
def test_worker_names(name: str) -> None:
    """A worker id, a task id and a branch, short or full, name a worker."""
    assert parse_worker_name(name) == name.removeprefix("refs/heads/")


@pytest.mark.parametrize("name", ["", "/", "auth/", "/t1", "Auth/t1", "a b", "-x", "a/b/c"])
def test_no_worker_names(name: str) -> None:
    """Other words do not name a worker."""
    with pytest.raises(Invalid, match="is not a valid worker id"):
        parse_worker_name(name)
