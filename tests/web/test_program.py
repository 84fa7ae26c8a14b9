"""`git worker web`: its address, its refusals, its socket and its end."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.kit import run
from tests.web.kit import DEADLINE_S, serving, started
from tests.workers.world import World


def test_without_the_extra(world: World, tmp_path: Path) -> None:
    """Without the extra `web` the command names the line that installs it."""
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'starlette' else find(name, *rest)\n"
    )
    done = run(world.root, "web", "--no-open", env={"PYTHONPATH": str(tmp_path / "block")})
    assert done.status == 1
    assert "starlette" in done.err
    assert "pip install 'gitworker[web]'" in done.err


def test_refusals(world: World) -> None:
    """A worker, a bad port and a port that is taken are refused."""
    world.spawn("auth", "login")
    worker = run(world.path("auth"), "web", "--no-open")
    assert (worker.status, "use --as hq" in worker.err) == (1, True)
    both = run(world.root, "web", "--port", "8080", "--socket", "x")
    assert both.status == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        used = run(world.root, "web", "--no-open", "--port", str(taken.getsockname()[1]))
    assert (used.status, "cannot be used" in used.err) == (1, True)


def test_a_socket(world: World, tmp_path: Path) -> None:
    """A socket belongs to its user only, answers, and is removed at the end."""
    path = tmp_path / "s"
    with started(world, "--socket", str(path)) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert "/open?token=" in address
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(DEADLINE_S)
            connection.connect(str(path))
            target = address.partition("8080")[2]
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost:9\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130
    assert not path.exists()


def test_a_socket_that_was_removed(world: World, tmp_path: Path) -> None:
    """The server ends as usual if another program has removed its socket."""
    path = tmp_path / "s"
    with started(world, "--socket", str(path)) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        path.unlink()
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130


def test_the_browser_opens(world: World, tmp_path: Path) -> None:
    """The browser gets the printed address; --no-open starts none."""
    seen = tmp_path / "seen"
    os.mkfifo(seen)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" > {seen}\n')
    browser.chmod(0o755)
    process = subprocess.Popen(
        ["git-worker", "web"], cwd=world.root, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "BROWSER": f"{browser} %s"},
    )  # fmt: skip
    try:
        with open(seen) as file:
            assert process.stdout is not None
            assert file.readline() == process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)


@pytest.fixture
def without_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children import what they need themselves and nothing else."""
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("without_coverage")
def test_the_server_loads_no_openssl(world: World) -> None:
    """The server shows its page, and OpenSSL is not in its memory."""
    world.in_review("auth", "login", {"a": "1\n"})
    with serving(world) as page:
        for path in ("/", "/inbox", "/workers/auth", "/queue", "/messages"):
            page.see(path)
        maps = Path(f"/proc/{page.process.pid}/maps").read_text()
    assert "libpython" in maps or "python3" in maps
    assert "libcrypto" not in maps
    assert "libssl" not in maps


@pytest.mark.usefixtures("without_coverage")
def test_later_imports_get_the_real_ssl(world: World) -> None:
    """The checks on the page of settings can load libraries that need it, such as pygit2."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    with serving(world) as page:
        shown = page.see("/settings")
    assert "linear history" in shown
    assert "has no attribute" not in shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [("import ssl\nkind = ssl.SSLError", "False"), ("import ssl\nssl.Purpose.SERVER_AUTH", "True")],
    ids=["a name", "a value"],
)
@pytest.mark.usefixtures("without_coverage")
def test_a_library_that_needs_tls(tmp_path: Path, line: str, expected: str) -> None:
    """A library that needs more than names of `ssl` is imported with the real one."""
    (tmp_path / "library.py").write_text(f"{line}\n")
    program = (
        "from gitworker.web.memory import import_small\n"
        "library = import_small('library')\n"
        "import hashlib\n"
        "print('OPENSSL_VERSION' in vars(library.ssl), hashlib.sha256(b'').hexdigest()[:4])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == [expected, "e3b0"]


@pytest.mark.usefixtures("without_coverage")
@pytest.mark.parametrize("words", [("status",), ("--help",)])
def test_other_commands_load_nothing_of_it(world: World, words: tuple[str, ...]) -> None:
    """No other command imports the room or its packages."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gitworker", *words], cwd=world.root,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not {"starlette", "uvicorn", "jinja2", "anyio", "gitworker.web"} & loaded
