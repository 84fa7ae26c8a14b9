"""`--json`: one document with a schema's number for every command, for errors as well."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitworker.cli.command_list import DEFAULTS, SUBCOMMANDS
from tests.cli.conftest import Scene
from tests.cli.in_process import run_here
from tests.cli.kit import ok, run

WORKER = {"schema", "worker", "state", "task", "branch", "worktree"}
FREED = {"freed_task", "rescue", "stacked", "missing"}


def shape(scene: Scene, *words: str) -> set[str]:
    """Return the fields of the document that a command answers with."""
    answer = scene.run(*words)
    assert (answer.status, answer.err) == (0, ""), answer
    assert answer.document["schema"] == 1
    return set(answer.document)


def test_the_way(scene: Scene) -> None:
    """Every command that changes a worker reports its state and the details of the operation."""
    assert shape(scene, "init", "--json") == {"schema", "state", "target"}
    assert shape(scene, "spawn", "auth", "t1", "--json") == WORKER | {"path"}
    assert shape(scene, "start", "auth", "--pid", str(scene.agent_pid), "--json") == WORKER
    assert shape(scene, "heartbeat", "auth", "--json") == {"schema", "worker"}
    worktree = scene.root / "worktrees/t1"
    scene.commit(worktree, "new.txt")
    assert shape(scene, "-C", str(worktree), "sync", "--json") == WORKER | {
        "old", "new", "target", "parent", "kept",
    }  # fmt: skip
    handed_in = WORKER | {
        "commit", "commits", "conflicts", "conflict_markers", "put_off",
    }  # fmt: skip
    assert shape(scene, "done", "auth", "--json") == handed_in
    assert shape(scene, "reject", "auth", "-m", "No", "--json") == WORKER | {"next"}
    assert shape(scene, "--json", "done", "auth", "-m", "Yes") == handed_in
    assert shape(scene, "approve", "auth", "--json") == WORKER | {
        "commit",
        "rebased_from",
        "rescue",
        "unrequested",
        "without",
        "left_out",
        "left_out_in",
        "next",
    }
    assert shape(scene, "merge", "auth", "--json") == {"schema", "results"}
    assert shape(scene, "recycle", "auth", "--json") == WORKER
    assert shape(scene, "assign", "auth", "t2", "--json") == WORKER | {"path"}
    assert shape(scene, "cancel", "auth", "--json") == WORKER | FREED
    assert shape(scene, "undo", "--json") == WORKER | {
        "undone", "number", "message", "workers", "skipped",
    }  # fmt: skip
    assert shape(scene, "fail", "auth", "-m", "No", "--json") == WORKER | {"reason"}
    assert shape(scene, "reset", "auth", "--json") == WORKER | FREED
    assert shape(scene, "recover", "--json") == {"schema", "settled", "left"}


def test_looking(scene: Scene) -> None:
    """Every looking command answers with a document too."""
    scene.submitted()
    log = str(scene.state / "transitions.jsonl")
    expected = {
        ("list",): {"workers"},
        ("path", "auth"): {"worker", "path", "flaw"},
        ("diff", "auth"): {"worker", "branch", "target", "diff", "since", "note"},
        ("validate", log): {"file", "findings"},
        ("hooks", "status"): {"worktrees", "user_hooks", "tampered", "stale", "by_config"},
        ("hooks", "install"): {"worktrees"},
        ("completion", "bash"): {"shell", "script"},
        ("msg", "ack", "0"): {"agent", "seq"},
        ("msg", "send", "x-note"): {"id"},
        ("doctor",): {"healthy", "findings"},
    }
    for words, fields in expected.items():
        assert shape(scene, *words, "--json") == fields | {"schema"}, words
    for words in (("status",), ("show", "auth"), ("log",)):
        assert "schema" in shape(scene, *words, "--json"), words


def test_a_landing(scene: Scene) -> None:
    """Merge reports one result for each worker, landed or not."""
    scene.approved("auth", "t1")
    scene.spawn("docs", "t2")
    answer = scene.run("merge", "auth", "docs", "--json")
    assert answer.status == 1
    landed, refused = answer.document["results"]
    assert (landed["worker"], landed["landed"], landed["target"]) == ("auth", True, "main")
    assert (refused["worker"], refused["landed"]) == ("docs", False)
    assert refused["error"]["code"] == "invalid_transition"


ERRORS: list[tuple[tuple[str, ...], int, str]] = [
    (("approve", "unknown"), 4, "not_found"),
    (("approve", ".."), 2, "invalid"),
    (("approve",), 2, "usage"),
    (("frobnicate",), 2, "usage"),
    (("start", "auth", "--nonsense"), 2, "usage"),
    (("approve", "auth"), 1, "invalid_transition"),
    (("msg", "send", "Bad Type"), 2, "invalid"),
    (("msg", "frobnicate"), 2, "usage"),
    (("heartbeat", "unknown"), 4, "not_found"),
]


@pytest.mark.parametrize(("words", "status", "code"), ERRORS)
def test_errors(scene: Scene, words: tuple[str, ...], status: int, code: str) -> None:
    """An error is one document with code, message and hint, and the status stays."""
    scene.spawn("auth", "t1")
    answer = scene.run(*words, "--json")
    assert (answer.status, answer.err) == (status, ""), answer
    error: dict[str, Any] = answer.document["error"]
    assert {"code", "message", "hint"} <= set(error)
    assert (error["code"], bool(error["message"])) == (code, True)


@pytest.mark.parametrize("group", sorted(set(SUBCOMMANDS) - set(DEFAULTS)))
def test_a_group_without_a_command(repository: Path, group: str) -> None:
    """A group without a command is a usage error, in one document."""
    answer = run_here(repository, "--json", group)
    assert (answer.status, answer.err) == (2, "")
    assert answer.document["error"]["hint"] == f"git worker {group} -h"


def test_documents_are_ascii(scene: Scene) -> None:
    """No document can control a terminal, whatever a commit contains."""
    worktree = scene.working()
    (worktree / "f").write_text("x\n")
    ok(worktree, "done", "--commit", "-m", "evil \x9b31m \x1b[31m ü")
    for words in (("status",), ("show", "auth"), ("log",)):
        out = run(scene.root, *words, "--json").out
        assert out.isascii(), words
        assert out.rstrip("\n").isprintable(), words
        assert "ü" in json.dumps(json.loads(out), ensure_ascii=False), words
