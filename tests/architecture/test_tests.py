"""House rules on the tests: their docstrings, their places, and forbidden calls."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.architecture.house import (
    ROOT,
    Module,
    dotted,
    functions,
    imports,
    matches,
    modules,
    nodes,
    require_clean,
    snippet,
)
from tests.conftest import WHOLE

SECOND_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")
DURATION = re.compile(r"[A-Z_]+_(S|MS)")  # a constant: a time to wait
# The names that a test may replace, with the reason; none of git, and none of SQLite.
MAY_BE_MOCKED = {
    "boot_id": "time and place",
    "host_name": "time and place",
    "monotonic_ms": "time and place",
    "now_ms": "time and place",
    "sleep": "time and place",
    "device_of": "a second file system needs root",
    "spawn_detached": "to wait for a detached process, or to kill it at its start",
}
# Suites across rooms; every other folder is a room of gitworker.
ACROSS_ROOMS = {
    "architecture", "benchmarks", "concurrency", "crash", "faults", "hints", "hostile", "kinds",
    "peers", "unit",
}  # fmt: skip
# The suites that each ring collects (Makefile, .ci/run): the others are read by no ring but `whole`
# and `slow`.
RINGS = {"agents": {"agents"}, "browser": {"web"}, "peers": {"kinds", "peers"}}
NOT_WHOLE = {"architecture", "faults", "peers", "unit"}


def find_unsaid(module: Module) -> Iterator[str]:
    """Complain about a test whose docstring is not one sentence."""
    for function in functions(module):
        if function.name.startswith("test_"):
            text = (ast.get_docstring(function) or "").strip()
            flat = " ".join(text.split())
            if not flat.endswith(".") or "\n\n" in text or SECOND_SENTENCE.search(flat):
                yield f"{module.at(function)}: {function.name}: {flat!r}"


def find_sleeps(module: Module) -> Iterator[str]:
    """Complain about a test that waits for time instead of a condition."""
    for node in nodes(module.tree):
        if isinstance(node, ast.Call) and dotted(node.func) in (
            "time.sleep",
            "clock.sleep",
            "sleep",
        ):
            yield f"{module.at(node)}: {ast.unparse(node)}"


def find_mocks(module: Module) -> Iterator[str]:
    """Complain about replaced names that are not on the short list."""
    for node in nodes(module.tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name.endswith("monkeypatch.setattr") or re.search(r"(^|\.)patch(\.object)?$", name):
                target = _target(node)
                if target not in MAY_BE_MOCKED and not DURATION.fullmatch(target):
                    yield f"{module.at(node)}: replaces {target!r}"
    for name, statement in imports(module.tree):
        if matches(name, ("unittest.mock.MagicMock", "unittest.mock.Mock", "mock")):
            yield f"{module.at(statement)}: imports {name}"


def find_homeless(module: Module) -> Iterator[str]:
    """Complain about a test file whose path mirrors no source."""
    parts = module.path.removesuffix(".py").split("/")
    if not module.name.startswith("test_"):
        return
    folder = parts[1]
    if len(parts) < 3 or folder not in ACROSS_ROOMS | _rooms():
        yield f"{module.path}: tests/{folder} is no room and no suite"
    elif folder == "unit":
        subject = parts[2].removeprefix("test_")
        if not any(subject == room or subject.startswith(f"{room}_") for room in _rooms()):
            yield f"{module.path}: gitworker has no {subject}"


def find_uncollected(module: Module) -> Iterator[str]:
    """Complain about a test that no ring runs."""
    folder = module.path.split("/")[1].removesuffix(".py")
    if module.name.startswith("test_") and folder not in NOT_WHOLE | set(WHOLE):
        yield f"{module.path}: tests/{folder} belongs to no ring"
    for node in nodes(module.tree):
        mark = dotted(node) if isinstance(node, ast.Attribute) else ""
        ring = mark.removeprefix("pytest.mark.")
        if mark != ring and folder not in RINGS.get(ring, {folder}):
            yield f"{module.at(node)}: the ring {ring} does not read tests/{folder}"


def test_tests_say_their_rule() -> None:
    """Every test has a docstring of one sentence."""
    fix = "write the rule under test as one sentence that ends with a full stop"
    require_clean(find_unsaid, modules("tests"), fix)


def test_no_sleep() -> None:
    """No test sleeps."""
    fix = "wait on a condition with a deadline, or pin the clock"
    require_clean(find_sleeps, modules("tests"), fix)


def test_mocks() -> None:
    """Tests replace only what the short list names."""
    fix = "use real git and real SQLite in tmp_path, or a fake that passes the contract tests"
    require_clean(find_mocks, modules("tests"), fix)


def test_tests_mirror_the_source() -> None:
    """A test's path mirrors the path of the tested module."""
    fix = "move it to tests/<room>/ or tests/unit/<room>/, or to a suite that crosses rooms"
    require_clean(find_homeless, modules("tests"), fix)


def test_each_test_belongs_to_a_ring() -> None:
    """Some ring collects each test."""
    fix = (
        "name its folder in WHOLE of tests/conftest.py, or in the ring of the Makefile and .ci/run"
    )
    require_clean(find_uncollected, modules("tests"), fix)


def test_test_rules_find_faults() -> None:
    """Each rule on tests finds its fault."""
    bad = snippet(
        "def test_a():\n    '''One. Two.'''\n    time.sleep(1)\n"
        "    monkeypatch.setattr(git, 'run', None)\n    mock.patch('gitworker.proc.run')\n",
        "tests/elsewhere/test_x.py",
    )
    assert len(list(find_unsaid(bad))) == 1
    assert len(list(find_sleeps(bad))) == 1
    assert len(list(find_mocks(bad))) == 2
    assert len(list(find_homeless(bad))) == 1
    assert len(list(find_uncollected(bad))) == 1
    lost = snippet("pytestmark = pytest.mark.agents\n", "tests/bus/test_x.py")
    assert len(list(find_uncollected(lost))) == 1
    pinned = snippet("monkeypatch.setattr('gitworker.clock.now_ms', f)\n")
    assert list(find_mocks(pinned)) == []


@cache
def _rooms() -> frozenset[str]:
    return frozenset(module.room for module in modules("gitworker"))


def _target(call: ast.Call) -> str:
    """Return the last part of the name that a patching call replaces."""
    texts = [a.value for a in call.args[:2] if isinstance(a, ast.Constant)]
    for text in texts:
        if isinstance(text, str):
            return text.rpartition(".")[2]
    return ast.unparse(call)


def test_root_holds_the_suites() -> None:
    """The folder of tests is where these rules look for it."""
    assert (ROOT / "tests" / "conftest.py").is_file(), "move the rules' ROOT with the tests"


def test_facts_about_agents_have_tests() -> None:
    """Each fact about agents in docs/design.md names tests of tests/agents/real that exist."""
    text = (ROOT / "docs" / "design.md").read_text("utf-8")
    facts = text.partition("\n## Facts about agents\n")[2].partition("\n## ")[0].split("\n- ")[1:]
    assert facts
    known = {
        function.name for module in modules("tests/agents/real") for function in functions(module)
    }
    for fact in facts:
        named = set(re.findall(r"`(test_\w+)`", fact))
        assert named, f"the fact names no test: {fact}"
        assert named <= known, f"these tests do not exist: {named - known}"
