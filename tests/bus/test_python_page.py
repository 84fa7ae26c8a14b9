"""The page on the bus from Python: its examples run in order."""

import re

import pytest

from tests.bus.scene import Scene
from tests.store.support import ROOT

PAGE = ROOT / "docs" / "python.md"


def test_the_examples_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's examples, copied into one program, print the documented output."""
    scene.spawn("auth", "t1")
    monkeypatch.chdir(scene.root)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["done"] == [0, 1, 2]
    printed = capsys.readouterr().out.splitlines()
    assert any("auth x-note {'text': 'look at this'}" in line for line in printed)
    assert "3" in printed
    assert any(len(line) == 36 for line in printed), "no message id was printed"
    assert any(line.startswith('{"worker": "docs"') for line in printed)
