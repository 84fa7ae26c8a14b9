"""`git worker help`: topics, their forms, commands; and the shell agent of the page on the bus."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gitworker.__main__ import main
from gitworker.cli.command_list import COMMANDS, SUBCOMMANDS
from gitworker.cli.pages import FORMATS, TOPICS, load_page
from tests.cli.conftest import Scene
from tests.cli.kit import ok, run, wait_until
from tests.conftest import git

FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"git worker ([a-z]+)(?: ([a-z]+))?")
WIDTH = 110


def blocks(topic: str, kind: str) -> list[str]:
    """Return the fenced blocks of a page that hold a language."""
    return [text for found, text in FENCED.findall(load_page(topic)) if found == kind]


@pytest.mark.parametrize("topic", TOPICS)
def test_pages(tmp_path: Path, topic: str) -> None:
    """A topic is printed as it is, anywhere, and fits a screen that is not narrow."""
    answer = run(tmp_path, "help", topic)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == load_page(topic)
    assert answer.out.startswith("# ")
    assert max(map(len, answer.out.splitlines())) <= WIDTH
    assert run(tmp_path, "help", topic, "--json").document == {
        "schema": 1, "topic": topic, "text": load_page(topic),
    }  # fmt: skip


@pytest.mark.parametrize("topic", TOPICS)
def test_forms(topic: str) -> None:
    """For AGENTS.md every heading is one level deeper; a skill begins with its name."""
    text, deeper = load_page(topic).splitlines(), load_page(topic, "agents-md").splitlines()
    assert len(text) == len(deeper)
    changed = [
        (before, after) for before, after in zip(text, deeper, strict=True) if before != after
    ]
    assert changed
    assert all(after == f"#{before}" and before.startswith("#") for before, after in changed)
    assert changed[0][1].startswith("## ")
    _, head, body = load_page(topic, "skill").split("---\n", 2)
    assert body == "\n" + load_page(topic)
    fields = tomllib.loads(
        head.replace(": ", " = ", 1).replace("\ndescription: ", "\ndescription = ")
    )
    assert set(fields) == {"name", "description"}
    assert re.fullmatch("[a-z-]{1,64}", fields["name"])
    assert len(fields["description"]) <= 1024


@pytest.mark.parametrize("form", FORMATS)
def test_forms_as_typed(tmp_path: Path, form: str) -> None:
    """Each form can be asked for."""
    assert run(tmp_path, "help", "agent", "--format", form).out == load_page("agent", form)


def test_pages_name_commands_that_there_are() -> None:
    """Every command that a page shows exists."""
    known = {name for section in COMMANDS.values() for name in section}
    for topic in TOPICS:
        for name, sub in COMMAND.findall(load_page(topic)):
            if name in SUBCOMMANDS:
                subs = {word for section in SUBCOMMANDS[name].values() for word in section}
                assert sub in subs, (topic, name, sub)
            elif load_page(topic).count(f"`git worker {name}") or name in known:
                assert name in known, (topic, name)


def test_commands(capfd: pytest.CaptureFixture[str]) -> None:
    """A command is explained as its own -h does, and without a word all of them with the topics."""

    def printed(*words: str) -> str:
        assert main(list(words)) == 0
        return capfd.readouterr().out

    for words in (("approve",), ("msg",), ("msg", "send"), ("submit",)):
        assert printed("help", *words) == printed(*words, "-h"), words
    everything = printed("help")
    assert everything.startswith(printed("-h").rstrip("\n"))
    assert [line.split()[0] for line in everything.splitlines()[-2:]] == list(TOPICS)


def test_unknown_words(tmp_path: Path) -> None:
    """An unknown word is a usage error, and similar words are suggested."""
    answer = run(tmp_path, "help", "agnet")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "error: there is no topic or command 'agnet'; did you mean agent, agents?\n"
        "hint: git worker help\n"
    )
    assert run(tmp_path, "help", "msg", "sned").status == 2
    assert run(tmp_path, "help", "approve", "more").status == 2
    assert run(tmp_path, "help", "approve", "--format", "skill").status == 2


def test_the_tables_are_those_of_the_page(scene: Scene) -> None:
    """The SQL of the page makes the tables that a bus really has."""
    ok(scene.root, "init")

    def columns(path: str, script: str = "") -> dict[str, list[tuple[object, ...]]]:
        code = (
            "import json, sqlite3, sys\n"
            "c = sqlite3.connect(sys.argv[1])\nc.executescript(sys.argv[2])\n"
            "names = ['messages', 'cursors', 'heartbeats', 'task_claims', 'meta', 'export_state']\n"
            "print(json.dumps({n: c.execute(f'PRAGMA table_info({n})').fetchall() for n in names}))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, path, script], check=True, capture_output=True, text=True
        )
        found: dict[str, list[tuple[object, ...]]] = json.loads(done.stdout)
        return found

    (script,) = blocks("protocol", "sql")
    assert columns(":memory:", script) == columns(str(scene.state / "bus.db"))
    assert all(columns(":memory:", script).values())


@pytest.fixture
def sqlite3_command() -> None:
    """The command that the page's agent needs, in a version that it asks for."""
    if shutil.which("sqlite3") is None:
        pytest.skip("the sqlite3 command is not installed")
    version = subprocess.run(["sqlite3", "--version"], check=True, capture_output=True, text=True)
    if tuple(map(int, version.stdout.split()[0].split(".")[:2])) < (3, 38):
        pytest.skip("the sqlite3 command has no JSON functions before 3.38")


def shell(cwd: Path, script: str, **env: str) -> str:
    """Run the page's agent and the given commands in a strict POSIX shell."""
    definitions, _ = blocks("protocol", "sh")
    done = subprocess.run(
        ["sh", "-euc", definitions + script], cwd=cwd, check=False, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **env},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@pytest.mark.usefixtures("sqlite3_command")
def test_the_example(scene: Scene) -> None:
    """The page's agent, run unchanged, sends heartbeats and messages, claims, reads and answers."""
    scene.spawn("auth", "t1")
    asked = ok(scene.root, "msg", "send", "x-question", '{"text": "Which | port?"}')
    _, example = blocks("protocol", "sh")
    out = shell(scene.root, example, GITWORKER_ID="nim")
    assert 'x-question from hq: {"text":"Which | port?"}' in out.splitlines()
    assert shell(scene.root, "poll", GITWORKER_ID="nim").count("|x-answer|") == 0
    messages = {m["id"]: m for m in run(scene.root, "msg", "poll").lines}
    assert messages["nim-1"]["payload"] == {"phase": "it's begun", "progress": 0.1}
    answer = messages[f"nim-answer-{asked}"]
    assert (answer["from"], answer["to"], answer["in_reply_to"]) == ("nim", "hq", asked)
    agents = {one["agent"]: one for one in run(scene.root, "agents", "--json").document["agents"]}
    assert agents["nim"]["doing"] == "idle"
    shell(scene.root, example, GITWORKER_ID="nim")  # a second run sends nothing twice
    assert [m for m in run(scene.root, "msg", "poll").lines if m["id"] in messages] == []
    assert git(scene.root, "status", "--porcelain") == ""


@pytest.mark.usefixtures("sqlite3_command")
def test_claims_of_the_example(scene: Scene) -> None:
    """A claim of the page's agent keeps ours out, ours keeps it out, and it can be lost."""
    ok(scene.root, "init")
    script = "claim x:deploy && echo mine; claim x:other || echo theirs"
    ok(scene.root, "claim", "take", "x:other")
    assert shell(scene.root, script, GITWORKER_ID="nim") == "mine\ntheirs\n"
    refused = run(scene.root, "claim", "take", "x:deploy")
    assert refused.status == 3
    assert "nim" in refused.err
    again = "renew x:deploy && release x:deploy; renew x:deploy || echo lost"
    assert shell(scene.root, again, GITWORKER_ID="nim") == "lost\n"
    ok(scene.root, "claim", "take", "x:deploy")


@pytest.mark.usefixtures("sqlite3_command")
def test_the_example_wakes_followers(scene: Scene) -> None:
    """The page's way to wake the bus wakes the followers."""
    ok(scene.root, "init")
    before = (scene.state / "bell").stat().st_mtime_ns if (scene.state / "bell").exists() else 0
    shell(scene.root, "send one x-note '{}'", GITWORKER_ID="nim")
    wait_until(lambda: (scene.state / "bell").stat().st_mtime_ns > before)
