"""The templates: compiled once, and kept beside them."""

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from gitworker.web.render import CompiledTemplates


class Compiling(Environment):
    """An environment that counts the templates that it compiles."""

    compiled = 0

    def compile(self, *args: object, **options: object) -> object:  # type: ignore[override]
        """Count, and compile."""
        self.compiled += 1
        return super().compile(*args, **options)  # type: ignore[call-overload]


def shown(
    place: Path, source: str = "{{ 1 + 1 }}", maker: Path = Path(__file__)
) -> tuple[str, int]:
    """Return the text of a template in a new server's environment, and whether it compiled."""
    kept = CompiledTemplates(str(place), [str(maker)])
    environment = Compiling(loader=DictLoader({"a.html": source}), bytecode_cache=kept)
    return environment.get_template("a.html").render(), environment.compiled


@pytest.fixture(autouse=True)
def writes_byte_code() -> None:
    """Skip where Python keeps no byte code."""
    if sys.dont_write_bytecode:
        pytest.skip("PYTHONDONTWRITEBYTECODE is set")


def test_a_template_is_compiled_once(tmp_path: Path) -> None:
    """A second server takes the compiled template from its file; a changed source is compiled."""
    place = tmp_path / "kept"
    assert [shown(place), shown(place), shown(place, "{{ 3 }}")] == [("2", 1), ("2", 0), ("3", 1)]


def test_another_version_compiles_again(tmp_path: Path) -> None:
    """A compiled template of another version of gitworker or of Jinja is not used."""
    maker = tmp_path / "compiler.py"
    maker.write_text("1")
    found = [shown(tmp_path / "kept", maker=maker)]
    maker.write_text("10")
    found += [shown(tmp_path / "kept", maker=maker), shown(tmp_path / "kept", maker=maker)]
    assert found == [("2", 1), ("2", 1), ("2", 0)]


def test_a_template_is_shown_without_a_place_for_it(tmp_path: Path) -> None:
    """A place that cannot be written, and a file with garbage, only cost the compilation."""
    (tmp_path / "file").write_text("")
    assert [shown(tmp_path / "file"), shown(tmp_path / "file")] == [("2", 1), ("2", 1)]
    assert shown(tmp_path / "kept") == ("2", 1)
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(b"garbage")
    assert [shown(tmp_path / "kept"), shown(tmp_path / "kept")] == [("2", 1), ("2", 0)]
