"""The SDK's own client: our server conforms to both generations of the protocol."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.workers.conftest import world
from tests.workers.world import World

__all__ = ["world"]

pytestmark = pytest.mark.peers
PYTHON = Path(__file__).resolve().parents[2] / ".peers" / "venv" / "bin" / "python"
CLIENT = Path(__file__).with_name("sdk_client.py")
REQUEST_TIMEOUT = -32001


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_conformance(world: World, mode: str, version: str) -> None:
    """Handshake, tools, results, errors, calls at once and a cancellation satisfy the SDK."""
    if subprocess.run([PYTHON, "-c", "import mcp"], check=False, capture_output=True).returncode:
        pytest.skip("the SDK is not installed: make peers-env")
    world.spawn("auth", "login", text="Build the form")
    (world.path("auth") / "new").write_text("1\n")
    done = subprocess.run(
        [PYTHON, CLIENT, mode, world.path("auth")], check=False, timeout=120,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == version
    assert "You are auth" in found["instructions"]
    assert found["tools"][0] == "whoami"
    is_error, identity, text = found["whoami"]
    assert (is_error, identity) == (False, "auth")
    assert "Build the form" in text
    assert found["wrong"] == [True, "invalid_arguments"]
    assert found["foreign"] == -32602
    assert found["cancelled"] == REQUEST_TIMEOUT
    assert found["both"] == [False, False]
    assert world.git("log", "--format=%s", "main..auth/login") == "By the SDK"
    assert "Traceback" not in done.stderr
